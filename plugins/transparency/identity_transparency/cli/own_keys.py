"""``identity keys rotate log``, ``token``, ``checkpoint`` and ``seal``: rotate the service's own keys beside the running service."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from identity_commands.options import opened_part
from identity_did_ids.entry import HASH
from msgspec import structs

from identity_codec import multikey
from identity_core.cli.output import fail, misused, show
from identity_core.errors import IdentityError
from identity_core.settings import Settings
from identity_transparency.rotation import (
    checkpoint_key_replacement,
    log_key_rotation,
    seal_rotation,
    token_key_replacement,
)

LOG: Final = "log"
T = TypeVar("T")


def rotate_own_key(settings: Settings, key_id: str, *, compromised: bool, **of_log: Any) -> None:
    """Rotate the service's own key that ``key_id`` names. ``of_log`` are the options of the log key."""
    if key_id == LOG:
        _rotate_log_key(settings, compromised=compromised, **of_log)
        return
    if any(of_log.values()):
        misused("these options are for the log key", "identity keys rotate log …")
    opening, text = _REPLACEMENTS[key_id]
    with _open_beside(settings, opening) as (runner, replace):
        done = runner.run(replace(compromised=compromised))
    show({"key": key_id} | structs.asdict(done), text=text)


def _resealed(done: dict[str, Any]) -> str:
    master = "a new master key" if done["has_new_master_key"] else "the same master key"
    lines = [f"{done['keys']} keys are sealed under data key {done['generation']}, which is sealed under {master}"]
    if done["left_to_do"]:
        lines.append(f"the database may still contain values under the old key: {done['left_to_do']}")
    if done["has_new_master_key"]:
        lines += [
            "a process that did not run during the rotation needs the new master key too; without it, it does not start",
            "the old master key may have revealed secrets of holders: new credentials are bound to new secrets",
            "`identity doctor` lists the issuers that must replace and revoke credentials on old secrets",
            "earlier backups open with the old master key: make a new backup, then destroy them and the old key",
        ]
    return "\n".join(lines)


def _token_text(done: dict[str, Any]) -> str:
    old = "old signatures are refused" if done["compromised"] else "tokens of the old key are valid until they expire"
    return f"access tokens are signed by key {done['number']}, {done['multikey']}\n{old}\nservice log: {done['service_did']}"


def _checkpoint_text(done: dict[str, Any]) -> str:
    old = (
        f"the old key is accepted only for checkpoints up to {done['tree_size']} entries: inform witnesses and auditors now"
        if done["compromised"]
        else "the old key also signs for thirty days: give witnesses and auditors the new key before that"
    )
    return (
        f"checkpoints are signed by key {done['number']}, {done['multikey']}\n{old}\n`identity ledger key` shows it; "
        f"service log: {done['service_did']}"
    )


_REPLACEMENTS: Final[dict[str, tuple[Callable[[Settings], Any], Callable[[dict[str, Any]], str]]]] = {
    "token": (token_key_replacement, _token_text),
    "checkpoint": (checkpoint_key_replacement, _checkpoint_text),
    "seal": (seal_rotation, _resealed),
}


def _rotate_log_key(
    settings: Settings,
    *,
    compromised: bool,
    key_file: Path | None,
    next_hash: str | None,
    finish: bool,
    hand_on_per_second: float | None,
) -> None:
    """Rotate the log key and show what was done."""
    if finish and (key_file is not None or next_hash is not None):
        misused("--finish begins no rotation", "leave --key-file and --next-hash out")
    if next_hash is not None and re.fullmatch(HASH, next_hash) is None:
        misused("--next-hash is not a hash of a multikey", "46 characters that begin with Qm")
    secret = None if key_file is None else _secret(key_file)
    with _open_beside(settings, log_key_rotation, ", or --finish what was begun") as (runner, rotate):
        how = {} if hand_on_per_second is None else {"per_second": hand_on_per_second}
        done = runner.run(rotate(compromised=compromised, secret=secret, next_hash=next_hash, finish=finish, **how))
    show(structs.asdict(done), text=_text)


@contextlib.contextmanager
def _open_beside(
    settings: Settings, opening: Callable[[Settings], contextlib.AbstractAsyncContextManager[T]], more: str = ""
) -> Iterator[tuple[asyncio.Runner, T]]:
    """Open a part of the installation beside the service. A refusal ends the command; ``more`` is added to its remedy."""
    try:
        with opened_part(settings, opening) as opened:
            yield opened
    except IdentityError as error:
        # A refusal without a code of its own is not a fault of the service, and its text states the remedy.
        what = str(error) if error.code == IdentityError.code else f"{error.code}: {error}"
        fail(what, str(settings.data_dir), f"put it right and try again{more}")


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
        f"the log continues under key {done['generation']}, {done['multikey']}",
        f"service log: {done['service_did']}",
    ]
    if done["handed_on"]:
        lines.append(f"{done['handed_on']} DIDs were handed on to it")
    if done["retired"]:
        lines.append(f"retired at a log size of {done['tree_size']} entries: {', '.join(done['retired'])}")
    if done["late"]:
        lines.append(f"signed by it after that, and refused: {', '.join(done['late'])}")
    if done["waiting"]:
        lines.append(f"{done['waiting']} DIDs of before pre-rotation move with a change of their controllers")
    if done["waiting"] and not done["retired"]:
        lines.append("the old key stays for them: `identity keys rotate log --finish` retires it when none is left")
    return "\n".join(lines)
