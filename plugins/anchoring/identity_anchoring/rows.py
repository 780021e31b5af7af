"""The rules of `identity fsck` about the outbox of anchoring."""

from __future__ import annotations

from typing import Final

from identity_core.extension.declaration import RowRule

_REMEDY: Final = "`identity anchor status` says what waits; put a backup back where proofs are missing"


def _rule(rows: str, says: str) -> RowRule:
    return RowRule("outbox", rows, says, _REMEDY)


RULES: Final = (
    _rule(
        "SELECT proof_id FROM anchor_leaves WHERE state NOT IN ('queued', 'batched', 'revoking', 'revoked')",
        "has a state that there is not",
    ),
    _rule(
        # A proof that was erased leaves its leaf behind once what becomes of it is decided.
        "SELECT proof_id FROM anchor_leaves WHERE NOT EXISTS (SELECT 1 FROM proofs WHERE id = proof_id) AND (state IN ('queued', "
        "'revoking') OR batch_id IN (SELECT id FROM anchor_batches WHERE state NOT IN ('confirmed', 'failed')))",
        "waits for an anchor, and there is no such proof",
    ),
    _rule(
        "SELECT proof_id FROM anchor_leaves WHERE state = 'queued' AND batch_id IS NOT NULL",
        "is queued, and of a batch",
    ),
    _rule(
        "SELECT proof_id FROM anchor_leaves WHERE (state IN ('batched', 'revoking') AND batch_id IS NULL) "
        "OR (batch_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM anchor_batches WHERE id = batch_id))",
        "is of a batch that is not there",
    ),
    _rule(
        "SELECT 'batch ' || id FROM anchor_batches WHERE state NOT IN ('sealed', 'submitted', 'mined', 'confirmed', 'failed')",
        "has a state that there is not",
    ),
    _rule(
        "SELECT 'batch ' || id FROM anchor_batches WHERE state <> 'failed' AND size <> "
        "(SELECT count(*) FROM anchor_leaves WHERE batch_id = anchor_batches.id) + CASE WHEN checkpoint IS NULL THEN 0 ELSE 1 END",
        "has another number of leaves than it was sealed with",
    ),
    _rule(
        "SELECT id FROM proofs WHERE anchor_status = 'pending' AND NOT EXISTS (SELECT 1 FROM anchor_leaves WHERE proof_id = id)",
        "is to be anchored, and the outbox does not know it",
    ),
)
