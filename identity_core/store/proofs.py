"""Proofs in the store, their receipts, and the leaves that their transactions queue and revoke in the outbox of anchoring.

Rows are added by the transaction that ends an invocation (``invocations.py``), never alone. What is decided of an anchor stands in the
proof's own row; while it is pending, transaction and block are those of its batch, so that a step of a batch on its way is one row and
not ten thousand. A revoked one reads its batch too, which goes on without it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from identity_codec.times import micros, moment
from identity_core.database import Transaction
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.chain import MAX_CHAIN
from identity_core.domain.ledger.anchor_proof import proof_commitment
from identity_core.domain.ledger.anchoring import Anchor, AnchorStatus
from identity_core.domain.proofs.stored import ProofRevocation, StoredProof
from identity_core.ports.proofs import CredentialRecord, ProofRecords
from identity_core.store.delegations import CHAIN_JOINED, chain_of
from identity_core.store.records import Repository, Table

_OF_BATCH = """
CASE WHEN anchor_status IN ('pending', 'revoked') THEN
(SELECT {} FROM anchor_batches WHERE anchor_batches.id = (SELECT batch_id FROM anchor_leaves WHERE proof_id = proofs.id))
ELSE {} END
"""
TX_HASH: Final = _OF_BATCH.format("tx_hash", "anchor_tx_hash")
BLOCK: Final = _OF_BATCH.format("block", "anchor_block")
"""What to select of ``proofs`` for a receipt."""

_RECEIPTS = f"SELECT id, anchor_status, {TX_HASH}, {BLOCK}, anchor_revoked_block FROM proofs"  # noqa: S608  (its own text)


def anchors_of(transaction: Transaction, proof_ids: Collection[str | None]) -> Mapping[str, Anchor]:
    """The receipts of those proofs that are stored and have one, in one statement."""
    names = {f"id{number}": each for number, each in enumerate(sorted({one for one in proof_ids if one}))}
    if not names:
        return {}
    # Nothing but the names of parameters goes into the text.
    wanted = ", ".join(f":{name}" for name in names)
    rows = transaction.execute(f"{_RECEIPTS} WHERE anchor_status IS NOT NULL AND id IN ({wanted})", names).fetchall()
    return {row[0]: _anchor(*row[1:]) for row in rows}


def _anchor(status: str, tx_hash: Any, block: int | None, revoked_block: int | None) -> Anchor:
    return Anchor(AnchorStatus(status), tx_hash, block, revoked_block)


_ADD_LEAF = """
INSERT INTO anchor_leaves (proof_id, commitment, queued_at, state) VALUES (:proof_id, :commitment, :queued_at, 'queued')
ON CONFLICT (proof_id) DO NOTHING
"""
# Not sealed yet: it never goes to a ledger, and nothing needs to be said there.
_WITHDRAW = "UPDATE anchor_leaves SET state = 'revoked' WHERE proof_id = :proof_id AND state = 'queued'"
_SHOW_WITHDRAWN = "UPDATE proofs SET anchor_status = 'revoked' WHERE id = :proof_id"
# What failed is on no ledger, and is not tried again once its proof is revoked.
_REVOKE_LEAF = """
UPDATE anchor_leaves SET state = 'revoking' WHERE proof_id = :proof_id AND state = 'batched'
AND batch_id IN (SELECT id FROM anchor_batches WHERE state <> 'failed')
"""


def add_leaf(transaction: Transaction, proof: StoredProof, now: datetime) -> None:
    """Queues the commitment to a proof."""
    row = {"commitment": proof_commitment(proof.proof, proof.salt), "queued_at": micros(now)}
    transaction.execute(_ADD_LEAF, {"proof_id": proof.id, **row})


def revoke_leaf(transaction: Transaction, proof_id: str) -> None:
    """Begins to take the anchor of a proof back, if it has one. A second time changes nothing."""
    if transaction.execute(_WITHDRAW, {"proof_id": proof_id}).rowcount:
        transaction.execute(_SHOW_WITHDRAWN, {"proof_id": proof_id})
    else:
        transaction.execute(_REVOKE_LEAF, {"proof_id": proof_id})


_TABLE: Final = Table(
    "proofs",
    StoredProof,
    extra=("id",),
    spread={
        "revocation": ("revoked_at", "revoked_by", "revocation_reason"),
        "anchor": ("anchor_status", "anchor_tx_hash", "anchor_block", "anchor_revoked_block"),
    },
    shown={"anchor_tx_hash": TX_HASH, "anchor_block": BLOCK},
)
_SELECT = _TABLE.select
_GET = f"{_SELECT} WHERE id = :id"
_UNANCHORED = (
    f"{_SELECT} WHERE anchor_status = 'pre-phase7' AND revoked_at IS NULL ORDER BY created_at, id LIMIT :limit"
)
# A row even where neither the proof nor a credential is there, and one for each delegation of the chain.
_STANDS_ON = f"""
SELECT (SELECT count(*) FROM proofs WHERE id = :proof_id AND revoked_at IS NULL),
c.id, c.status, c.valid_from, c.valid_until, chain.*
FROM (SELECT 1 AS one) AS always LEFT JOIN credentials AS c ON c.id IN ({{}}) {CHAIN_JOINED}
"""  # noqa: S608
_REVOKE = """
UPDATE proofs SET revoked_at = :at, revoked_by = :by, revocation_reason = :reason WHERE id = :id AND revoked_at IS NULL
"""


class StoredProofs(Repository):
    """The port ``Proofs`` on the tables of the store."""

    async def get(self, proof_id: str) -> StoredProof | None:
        return await self._database.read(lambda transaction: find_proof(transaction, proof_id))

    async def records(self, proof: StoredProof) -> ProofRecords:
        return await self._database.read(lambda transaction: read_records(transaction, proof))

    async def revoke(self, proof_id: str, revocation: ProofRevocation) -> StoredProof | None:
        revoked = {"at": micros(revocation.at), "by": revocation.by, "reason": revocation.reason}

        def revoke(transaction: Transaction) -> StoredProof | None:
            transaction.execute(_REVOKE, {"id": proof_id, **revoked})
            revoke_leaf(transaction, proof_id)
            return find_proof(transaction, proof_id)

        return await self._database.write(revoke)

    async def bring_in(self, proofs: Sequence[StoredProof]) -> int:
        def bring_in(transaction: Transaction) -> int:
            new = [proof for proof in proofs if find_proof(transaction, proof.id) is None]
            # One id twice in a file is one proof.
            for proof in {proof.id: proof for proof in new}.values():
                add_proof(transaction, proof)
            return len({proof.id for proof in new})

        return await self._database.write(bring_in)


def find_proof(transaction: Transaction, proof_id: str) -> StoredProof | None:
    """The proof with this id, or None."""
    row = transaction.execute(_GET, {"id": proof_id}).fetchone()
    return None if row is None else _TABLE.read(row)


def read_records(transaction: Transaction, proof: StoredProof) -> ProofRecords:
    """What the records say of the proof, inside somebody's transaction."""
    # PostgreSQL has no NUL in texts; no credential has such an id either.
    ids = {f"id{number}": each.replace("\0", "\1") for number, each in enumerate(proof.credential_ids)}
    # Nothing but the names of parameters goes into the text.
    statement = _STANDS_ON.format(", ".join(f":{name}" for name in ids))
    chain = {"id": proof.delegation_id, "hops": MAX_CHAIN}
    rows = transaction.execute(statement, {"proof_id": proof.id, **chain, **ids}).fetchall()
    found = {row[1]: _credential_record(*row[2:5]) for row in rows if row[1] is not None}
    credentials = tuple(found.get(each) for each in ids.values())
    # It stands beside each credential.
    first = [row[5:] for row in rows if row[1] == rows[0][1]]
    return ProofRecords(not rows[0][0], credentials, chain_of(first))


def _credential_record(status: str, valid_from: int, valid_until: int | None) -> CredentialRecord:
    return CredentialRecord(
        CredentialStatus(status), moment(valid_from), None if valid_until is None else moment(valid_until)
    )


def oldest_unanchored(transaction: Transaction, limit: int) -> Sequence[StoredProof]:
    """Proofs from before anchoring existed that are not revoked."""
    return [_TABLE.read(row) for row in transaction.execute(_UNANCHORED, {"limit": limit}).fetchall()]


def add_proof(transaction: Transaction, proof: StoredProof) -> None:
    """Inserts the row of a new proof; where ``anchor`` is pending, also that of the outbox which the anchoring worker reads."""
    if proof.anchor is not None and proof.anchor.status is AnchorStatus.PENDING:
        add_leaf(transaction, proof, proof.created_at)
    transaction.execute(_TABLE.insert_by_place, _TABLE.row(proof, proof.id))
