"""``identity keys rotate log``: the key that signs the logs of DIDs, beside a running service."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from identity_codec import multikey
from identity_core.cli.options import FILE_THERE, Number, opened_part, refuse_absent
from identity_core.cli.output import fail, fail_start, misused, show
from identity_core.domain.dids.log.entry import HASH
from identity_core.errors import IdentityError
from identity_core.settings import Settings, StartError

LOG: Final = "log"
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def log_key_options(function: F) -> F:
    """The options that only the log key has."""
    for option in (
        click.option(
            "--hand-on-per-second",
            type=Number(0.1, 10_000),
            help="So many DIDs that slept through a generation are moved in a second at most.  [default: 100]",
        ),
        click.option("--finish", is_flag=True, help="Bring a rotation of the log key to its end; begin none."),
        click.option("--next-hash", metavar="HASH", help="The hash of the log key after the next one, kept elsewhere."),
        click.option("--key-file", type=FILE_THERE, help="The next log key (multikey), where only its hash is here."),
        click.option(
            "--compromised",
            is_flag=True,
            help="Somebody else may have the old key: it counts no more, whoever still needs it.",
        ),
    ):
        function = option(function)
    return function


def rotate_log_key(
    settings: Settings,
    *,
    compromised: bool,
    key_file: Path | None,
    next_hash: str | None,
    finish: bool,
    hand_on_per_second: float | None,
) -> None:
    """Rotates it and shows what was done."""
    from identity_core import bootstrap

    if finish and (key_file is not None or next_hash is not None):
        misused("--finish begins no rotation", "leave --key-file and --next-hash out")
    if next_hash is not None and re.fullmatch(HASH, next_hash) is None:
        misused("--next-hash is no hash of a multikey", "46 characters that begin with Qm")
    secret = None if key_file is None else _secret(key_file)
    with beside(settings, bootstrap.log_key_rotation, ", or --finish what was begun") as (runner, rotate):
        how = {} if hand_on_per_second is None else {"per_second": hand_on_per_second}
        done = runner.run(rotate(compromised=compromised, secret=secret, next_hash=next_hash, finish=finish, **how))
    show(dataclasses.asdict(done), text=_text)


@contextlib.contextmanager
def beside(
    settings: Settings, opening: Callable[[Settings], contextlib.AbstractAsyncContextManager[T]], more: str = ""
) -> Iterator[tuple[asyncio.Runner, T]]:
    """Open a part of the installation beside the service. A refusal ends the command; ``more`` is added to its remedy."""
    refuse_absent(settings, "name the one of the service with --data-dir", status=1)
    try:
        with opened_part(opening(settings)) as opened:
            yield opened
    except IdentityError as error:
        fail(f"{error.code}: {error}", str(settings.data_dir), f"put it right and try again{more}")
    except StartError as error:
        fail_start(error, str(settings.data_dir), "put it right and try again")


def _secret(path: Path) -> bytes:
    try:
        name, secret = multikey.decode_secret(path.read_text().strip())
    except ValueError:
        name, secret = "", b""
    if name != multikey.ED25519:
        misused("the file holds no Ed25519 private key in multikey form", str(path))
    return secret


def _text(done: dict[str, Any]) -> str:
    lines = [
        f"the log goes on under key {done['generation']}, {done['multikey']}",
        f"service log: {done['service_did']}",
    ]
    if done["handed_on"]:
        lines.append(f"{done['handed_on']} DIDs were handed on to it")
    if done["retired"]:
        lines.append(f"retired from {done['tree_size']} entries on: {', '.join(done['retired'])}")
    if done["late"]:
        lines.append(f"signed by it after that, and refused: {', '.join(done['late'])}")
    if done["waiting"]:
        lines.append(f"{done['waiting']} DIDs of before pre-rotation move with a change of their controllers")
    if done["waiting"] and not done["retired"]:
        lines.append("the old key stays for them: `identity keys rotate log --finish` retires it when none is left")
    return "\n".join(lines)
