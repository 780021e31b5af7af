"""``identity proof import``: proofs that were made before proofs were anchored, with the status ``pre-phase7``.

They are stored, shown and verified like others. None is anchored unless an operator calls for it (`identity anchor backfill`).
"""

from __future__ import annotations

import contextlib
import secrets
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click
from identity_verification.domain.received import ReceivedProof

from identity_codec import strict_json, times
from identity_commands.json_input import MAX_FILE_OCTETS, input_argument, name_of
from identity_commands.options import opened_part
from identity_core.cli.options import of_installation
from identity_core.cli.output import Command, failing, show
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.proof import ZkProof
from identity_core.domain.proofs.stored import IMPORTED, SALT_OCTETS, Anchor, AnchorStatus, ProofRevocation, StoredProof
from identity_core.errors import ProofInvalid
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_core.store import Store

MOST_CHARACTERS: Final = 2048


class NotARecord(ValueError):
    """A JSON value that is not a ``ProofRecord``. The text names the place."""


@click.command(name="import", cls=Command)
@input_argument
@of_installation
def import_(settings: Settings, file: Any) -> None:
    """Import proofs from before anchoring existed: all of them, or none. Existing proofs stay unchanged.

    FILE contains one JSON object per line, as `identity proof get --json` prints it, without an anchor; - is
    standard input. The imported proofs have the anchor status `pre-phase7`; `identity anchor backfill` anchors
    them.
    """
    with opened_part(settings, _store) as (runner, store):
        records = _records(file)
        imported = runner.run(import_proofs(store, records))
    show({"given": len(records), "imported": imported}, text="{imported} of {given} imported")


@contextlib.asynccontextmanager
async def _store(settings: Settings) -> AsyncIterator[Store]:
    from identity_commands.beside import store_beside

    async with store_beside(settings) as (_, _, store):
        yield store


async def import_proofs(store: Store, proofs: Sequence[StoredProof]) -> int:
    """Add proofs that were made elsewhere, all or none, and return how many were new. Durable on return."""
    from identity_core.bootstrap.ports import SystemClock
    from identity_core.store.proofs import add_proof, find_proof
    from identity_core.use_cases.record import Record

    def add(transaction: Any) -> int:
        # One id twice in a file is one proof.
        new = {proof.id: proof for proof in proofs if find_proof(transaction, proof.id) is None}
        for proof in new.values():
            add_proof(transaction, proof)
        return len(new)

    count = await store.database.write(add)
    event = Event(details={"given": len(proofs), "imported": count})
    context = RequestContext("importProofs", Caller(name=IMPORTED))
    await Record(store.activity)(context, event, SystemClock().now(), durable=True)
    return count


def _records(file: Any) -> list[StoredProof]:
    records, remedy = [], "nothing was imported; correct the line and do it again"
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        with failing(
            (strict_json.JsonRefused, NotARecord), name_of(file), remedy, what=f"line {number} is not a proof record"
        ):
            if len(line) > MAX_FILE_OCTETS:
                raise NotARecord("it is too long")
            records.append(proof_of_record(strict_json.loads(line.strip()), secrets.token_bytes(SALT_OCTETS)))
    return records


def proof_of_record(value: Any, salt: bytes) -> StoredProof:
    """Read the JSON of a ``ProofRecord`` from before anchoring. Raises ``NotARecord``: also for one with an anchor.

    It contains nothing of its token. The other members of a record belong to the service that stored it.
    """
    if not isinstance(value, dict):
        raise NotARecord("it is not an object")
    anchor = value.get("anchor")
    if anchor is not None and (not isinstance(anchor, dict) or anchor.get("status") != "pre-phase7"):
        raise NotARecord("it has an anchor: that belongs to the ledger of the service that made it")
    predicate = value.get("predicate")
    if not isinstance(predicate, dict) or "value" not in predicate:
        raise NotARecord("predicate is not an object with a value")
    return StoredProof(
        proof=read_zk_proof(value),
        delegation_id=_text(value, "delegationId"),
        holder=_text(value, "holderDid"),
        agent=_text(value, "agentDid"),
        credential_id=_text(value, "credentialId"),
        issuer=_text(value, "issuerDid"),
        schema_id=_text(value, "schemaId"),
        predicate={
            "attributeName": _text(predicate, "attributeName"),
            "type": _text(predicate, "type"),
            "value": predicate["value"],
        },
        salt=salt,
        ibct_id="",
        nonce="",
        created_at=_time(value.get("createdAt"), "createdAt"),
        expires_at=_time(value.get("expiresAt"), "expiresAt"),
        caller=IMPORTED,
        challenge=_text_or_none(value, "challenge"),
        domain=_text_or_none(value, "domain"),
        revocation=_revocation(value),
        anchor=Anchor(AnchorStatus.PRE_PHASE7),
    )


def _revocation(value: dict[str, Any]) -> ProofRevocation | None:
    reason, at = _text_or_none(value, "revocationReason"), value.get("revokedAt")
    return None if at is None else ProofRevocation(_time(at, "revokedAt"), IMPORTED, reason)


def read_zk_proof(record: Mapping[str, Any]) -> ZkProof:
    """Return the proof in a record, with all of its members. Raises ``NotARecord``."""
    value = record.get("proof")
    if not isinstance(value, dict):
        raise NotARecord("proof is not a ZKProof")
    try:
        received = ReceivedProof.parse(value)
    except ProofInvalid as error:
        raise NotARecord(f"proof is not a ZKProof: {error.details['reason']}") from error
    if not received.proof or received.public_signals is None:
        raise NotARecord("proof is not a ZKProof: it needs proof and publicSignals")
    own = _text(value, "proofId")
    try:
        is_uuid = str(uuid.UUID(own)) == own
    except ValueError:
        is_uuid = False
    if not is_uuid or record.get("proofId") not in (None, own):
        raise NotARecord("proofId is not an uuid in lower case, or not that of its proof")
    return ZkProof(received.proof, received.public_signals, _text(value, "predicateType"), own)


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not 0 < len(text) <= MOST_CHARACTERS:
        raise NotARecord(f"{name} is not text of at most {MOST_CHARACTERS} characters")
    return text


def _text_or_none(value: dict[str, Any], name: str) -> str | None:
    return None if value.get(name) is None else _text(value, name)


def _time(value: Any, name: str) -> datetime:
    try:
        return times.parse(value)
    except ValueError as error:
        raise NotARecord(f"{name}: {error}") from error
