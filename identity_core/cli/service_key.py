"""``identity keys rotate log`` and ``token``: the keys that the service signs with, beside the running service."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from identity_core.cli.log_key import LOG, rotate_log_key
from identity_core.cli.options import opened_part, refuse_absent
from identity_core.cli.output import fail, fail_start, misused, show
from identity_core.errors import IdentityError
from identity_core.settings import Settings, StartError

TOKEN: Final = "token"  # noqa: S105  (the name of a key)
REPLACED: Final = (TOKEN,)


def rotate_own_key(settings: Settings, key_id: str, *, compromised: bool, **of_log: Any) -> bool:
    """Rotates the key of the service's own that ``key_id`` names; False where it names none. ``of_log`` are the options of the log key."""
    if key_id == LOG:
        rotate_log_key(settings, compromised=compromised, **of_log)
        return True
    if any(of_log.values()) or (compromised and key_id not in REPLACED):
        misused("these options are for the log key", "identity keys rotate log …")
    if key_id in REPLACED:
        _replace(settings, key_id, compromised=compromised)
    return key_id in REPLACED


def _replace(settings: Settings, use: str, *, compromised: bool) -> None:
    """Replaces the key of this use and shows what was done."""
    from identity_core import bootstrap

    refuse_absent(settings, "name the one of the service with --data-dir", status=1)
    try:
        with opened_part(bootstrap.token_key_replacement(settings)) as (runner, replace):
            done = runner.run(replace(compromised=compromised))
    except IdentityError as error:
        fail(f"{error.code}: {error}", str(settings.data_dir), "put it right and try again")
    except StartError as error:
        fail_start(error, str(settings.data_dir), "put it right and try again")
    show({"key": use} | dataclasses.asdict(done), text=_text)


def _text(done: dict[str, Any]) -> str:
    old = "what the old key signed counts no more" if done["compromised"] else "tokens of the old key live to their end"
    return f"access tokens are signed by key {done['number']}, {done['multikey']}\n{old}\nservice log: {done['service_did']}"
