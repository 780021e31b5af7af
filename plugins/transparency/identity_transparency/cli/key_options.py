"""Options of ``identity keys rotate`` that rotate the service's own keys."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from identity_commands.options import FILE_THERE, all_of

from identity_core.cli.options import Number
from identity_core.cli.output import misused
from identity_core.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

OWN_KEYS: Final = ("checkpoint", "log", "seal", "token")
_OPTIONS: Final = all_of(
    click.option(
        "--compromised",
        is_flag=True,
        help="Another person may have the old key: it is invalid at once, for every reader.",
    ),
    click.option("--key-file", type=FILE_THERE, help="The next log key (multikey), where only its hash is here."),
    click.option("--next-hash", metavar="HASH", help="The hash of the log key after the next one, kept elsewhere."),
    click.option("--finish", is_flag=True, help="Bring a rotation of the log key to its end; begin none."),
    click.option(
        "--hand-on-per-second",
        type=Number(0.1, 10_000),
        help="So many DIDs that slept through a generation are moved in a second at most.  [default: 100]",
    ),
)


def own_key_options(decorated: F) -> F:
    """Add the options. For one of ``OWN_KEYS`` the command rotates that key instead of an API key."""

    @functools.wraps(decorated)
    def wrapped(settings: Settings, key_id: str, grace_hours: float, **own: Any) -> None:
        if key_id in OWN_KEYS:
            from identity_transparency.cli.own_keys import rotate_own_key

            rotate_own_key(settings, key_id, **own)
        elif any(own.values()):
            misused("these options are for the log key", "identity keys rotate log …")
        else:
            decorated(settings, key_id, grace_hours)

    return _OPTIONS(wrapped)  # type: ignore[return-value]
