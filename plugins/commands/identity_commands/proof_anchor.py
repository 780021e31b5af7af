"""The check of a proof's anchor from its record: offline, and against the ledger if one is configured."""

from __future__ import annotations

import asyncio
from typing import Any

from identity_verification.domain.received import proof_commitment

from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_commands.proof_import import NotARecord, read_zk_proof
from identity_core.errors import IdentityError, ProofInvalid
from identity_core.settings import Settings, SettingsError, StartError
from identity_tlog.anchored import AnchorPath
from identity_tlog.tree import Malformed, Refuted


class LedgerUnreachable(Exception):
    """An unreachable ledger. The text states the reason."""


def check_anchor(record: JsonValue, settings: Settings | None) -> dict[str, JsonValue] | None:
    """Return the content of the anchor in a ``ProofRecord`` after verifying its path; None if it has none. With settings, also
    query the ledger.

    Raises ``ProofInvalid``: when the path does not lead from this proof to the root, or the ledger contradicts it. Raises
    ``LedgerUnreachable``.
    """
    details = record.get("anchorDetails") if isinstance(record, dict) else None
    if not isinstance(record, dict) or details is None:
        if settings is not None:
            raise ProofInvalid(details={"reason": "the record has no anchor that a ledger could confirm"})
        return None
    try:
        path = AnchorPath.parse(details)
        commitment = _commitment(record, details)
        path.verify(commitment)
    except (Malformed, Refuted, NotARecord) as error:
        raise ProofInvalid(details={"reason": f"anchor: {error}"}) from error
    outcome: dict[str, JsonValue] = {"ledger": path.ledger, "root": base64url_encode(path.root), "onLedger": None}
    if settings is not None:
        outcome |= asyncio.run(_ask_ledger(settings, path, commitment))
    return outcome


def _commitment(record: dict[str, Any], details: Any) -> bytes:
    salt = details.get("salt")
    try:
        data = base64url_decode(salt if isinstance(salt, str) else "")
    except ValueError as error:
        raise Malformed("the salt is not base64url") from error
    return proof_commitment(read_zk_proof(record), data)


async def _ask_ledger(settings: Settings, path: AnchorPath, commitment: bytes) -> dict[str, JsonValue]:
    from identity_core.bootstrap import open_ledger
    from identity_core.ports.ledger import AnchoringLedger

    try:
        async with open_ledger(settings) as ledger:
            if not isinstance(ledger, AnchoringLedger):
                raise LedgerUnreachable(f"the ledger {settings.ledger.backend} cannot anchor")
            if ledger.anchor_ledger_name != path.ledger:
                raise LedgerUnreachable(f"the settings name the ledger {ledger.anchor_ledger_name}, not {path.ledger}")
            anchored = await ledger.anchor_status(path.root)
            revoked = await ledger.revocation_status(commitment)
            if anchored is None and not (await ledger.head()).sequence:
                raise LedgerUnreachable(
                    "the ledger is empty, so it is not the one of the service: name that with --data-dir"
                )
    except SettingsError:
        raise
    except (IdentityError, StartError) as error:
        raise LedgerUnreachable(str(error)) from error
    if anchored is None or anchored.state != "confirmed":
        raise ProofInvalid(details={"reason": "anchor: the ledger has not confirmed this root"})
    if revoked is not None and revoked.state == "confirmed":
        raise ProofInvalid(details={"reason": f"anchor: revoked in block {revoked.block_number}"})
    return {"onLedger": True, "txHash": anchored.transaction_hash, "blockNumber": anchored.block_number}
