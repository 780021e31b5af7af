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
        "--compromised", is_flag=True, help="Invalidate the old key at once, because it may be known to others."
    ),
    click.option("--key-file", type=FILE_THERE, help="File with the next log key, if only its hash is stored here."),
    click.option("--next-hash", metavar="HASH", help="Hash of the log key after the next one."),
    click.option("--finish", is_flag=True, help="Finish a started rotation of the log key, and start none."),
    click.option(
        "--hand-on-per-second",
        type=Number(0.1, 10_000),
        help="Maximum number of DIDs per second that are moved over a skipped generation.  [default: 100]",
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
