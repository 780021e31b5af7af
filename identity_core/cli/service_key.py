"""``identity keys rotate log``, ``token``, ``checkpoint`` and ``seal``: the keys of the service's own, beside the running service."""

from __future__ import annotations

import dataclasses
from typing import Any, Final, TypeVar

from identity_core.cli.log_key import LOG, beside, rotate_log_key
from identity_core.cli.output import misused, show
from identity_core.settings import Settings

T = TypeVar("T")

TOKEN: Final = "token"  # noqa: S105  (the name of a key)
CHECKPOINT: Final = "checkpoint"
REPLACED: Final = (TOKEN, CHECKPOINT)
SEAL: Final = "seal"


def rotate_own_key(settings: Settings, key_id: str, *, compromised: bool, **of_log: Any) -> bool:
    """Rotates the key of the service's own that ``key_id`` names; False where it names none. ``of_log`` are the options of the log key."""
    if key_id == LOG:
        rotate_log_key(settings, compromised=compromised, **of_log)
        return True
    if any(of_log.values()) or (compromised and key_id not in (*REPLACED, SEAL)):
        misused("these options are for the log key", "identity keys rotate log …")
    if key_id == SEAL:
        _reseal(settings, compromised=compromised)
        return True
    if key_id in REPLACED:
        _replace(settings, key_id, compromised=compromised)
    return key_id in REPLACED


def _replace(settings: Settings, use: str, *, compromised: bool) -> None:
    """Replaces the key of this use and shows what was done."""
    from identity_core import bootstrap

    opening = bootstrap.token_key_replacement if use == TOKEN else bootstrap.checkpoint_key_replacement
    with beside(settings, opening) as (runner, replace):
        done = runner.run(replace(compromised=compromised))
    show({"key": use} | dataclasses.asdict(done), text=_text if use == TOKEN else _checkpoint_text)


def _reseal(settings: Settings, *, compromised: bool) -> None:
    """Has everything sealed anew and shows what was done."""
    from identity_core import bootstrap

    with beside(settings, bootstrap.seal_rotation) as (runner, rotate):
        done = runner.run(rotate(compromised=compromised))
    show({"key": SEAL} | dataclasses.asdict(done), text=_resealed)


def _resealed(done: dict[str, Any]) -> str:
    master = "a new master key" if done["has_new_master_key"] else "the master key of before"
    lines = [f"{done['keys']} keys are sealed under data key {done['generation']}, and that under {master}"]
    if done["left_to_do"]:
        lines.append(f"the database may still have what was sealed before: {done['left_to_do']}")
    if done["has_new_master_key"]:
        lines.append("a process that did not run in that moment needs the new one too; without it, it does not start")
        lines.append(
            "whoever had it may have the secrets of holders: credentials that are issued from now on are bound to others"
        )
        lines.append(
            "`identity doctor` says which issuers have to issue anew, and to revoke, what is bound to those of before"
        )
        lines.append("backups of before open with the old master key: make a new one, and destroy them and it")
    return "\n".join(lines)


def _text(done: dict[str, Any]) -> str:
    old = "what the old key signed counts no more" if done["compromised"] else "tokens of the old key live to their end"
    return f"access tokens are signed by key {done['number']}, {done['multikey']}\n{old}\nservice log: {done['service_did']}"


def _checkpoint_text(done: dict[str, Any]) -> str:
    old = (
        f"the old key counts for checkpoints of before alone, {done['tree_size']} entries: tell witnesses and auditors at once"
        if done["compromised"]
        else "the old key signs beside it for thirty days: until then give witnesses and auditors the new one"
    )
    return (
        f"checkpoints are signed by key {done['number']}, {done['multikey']}\n{old}\n`identity ledger key` shows it; "
        f"service log: {done['service_did']}"
    )
