"""The rows of proofs.

The transaction that ends an invocation (``invocations.py``) adds the rows; nothing else does. The final state of an anchor is in the
proof's own row. While it is pending, transaction and block are those of its batch, so that progress of a batch updates one row and
not ten thousand. A revoked proof reads its batch too, which continues without it.

``RULES`` are the retention rules of the tables of the kernel. README.md gives the reasons.
"""

from __future__ import annotations

from typing import Final

from identity_core.database import Transaction
from identity_core.domain.proofs.stored import StoredProof
from identity_core.ports.retention import ERASED_HOLDER, RetentionRule
from identity_core.store.records import Table

_OF_BATCH = """
CASE WHEN anchor_status IN ('pending', 'revoked') THEN
(SELECT {} FROM anchor_batches WHERE anchor_batches.id = (SELECT batch_id FROM anchor_leaves WHERE proof_id = proofs.id))
ELSE {} END
"""
TX_HASH: Final = _OF_BATCH.format("tx_hash", "anchor_tx_hash")
BLOCK: Final = _OF_BATCH.format("block", "anchor_block")
"""The column of ``proofs`` with the block of a receipt, for selections."""

PROOFS: Final = Table(
    "proofs",
    StoredProof,
    extra=("id",),
    spread={
        "revocation": ("revoked_at", "revoked_by", "revocation_reason"),
        "anchor": ("anchor_status", "anchor_tx_hash", "anchor_block", "anchor_revoked_block"),
    },
    shown={"anchor_tx_hash": TX_HASH, "anchor_block": BLOCK},
)
_SELECT = PROOFS.select
_GET = f"{_SELECT} WHERE id = :id"


def find_proof(transaction: Transaction, proof_id: str) -> StoredProof | None:
    """Return the proof with this id, or None."""
    row = transaction.execute(_GET, {"id": proof_id}).fetchone()
    return None if row is None else PROOFS.read(row)


def add_proof(transaction: Transaction, proof: StoredProof) -> None:
    """Insert the row of a new proof."""
    transaction.execute(PROOFS.insert_by_place, PROOFS.row(proof, proof.id))


_CREDENTIALS: Final = RetentionRule(
    kind="credentials",
    # As the partial index has it, or it is not used.
    expired=f"valid_until <= :until AND holder <> '{ERASED_HOLDER}' ORDER BY valid_until",
    forget=f"UPDATE credentials SET holder = '{ERASED_HOLDER}', sealed = :nothing, status_reason = NULL",  # noqa: S608
    dependent="DELETE FROM disclosures WHERE credential_id = :id",
    columns="id issuer holder schema_id verification_method valid_from valid_until status status_reason created_at created_by",
    roles=("holder", "issuer"),
)
_PROOFS: Final = RetentionRule(
    kind="proofs",
    expired="expires_at <= :until ORDER BY expires_at",
    # A proof whose anchor is pending is still needed for the final state. The expression is a value and not NOT EXISTS, because a server
    # may execute the latter as a join that reads all leaves for a step of a few proofs.
    undecided="""
(SELECT count(*) FROM anchor_leaves WHERE proof_id = proofs.id AND (state IN ('queued', 'revoking')
OR (state = 'batched' AND (SELECT state FROM anchor_batches WHERE id = batch_id) NOT IN ('confirmed', 'failed'))))
""",
    columns="id delegation_id holder agent credential_id issuer schema_id predicate proof created_at expires_at caller challenge domain "
    "revoked_at revoked_by revocation_reason anchor_status question",
    roles=("holder", "agent"),
)
RULES: Final = (_CREDENTIALS, _PROOFS)
