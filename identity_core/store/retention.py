"""The retention rules of the kernel's tables. README.md says what stays and why."""

from __future__ import annotations

from typing import Final

from identity_core.ports.retention import ERASED_HOLDER, RetentionRule

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
    # What is on its way to a ledger is still needed to say what became of it. A value and not NOT EXISTS: where a server joins, it may
    # read all leaves for a step of a few proofs.
    undecided="""
(SELECT count(*) FROM anchor_leaves WHERE proof_id = proofs.id AND (state IN ('queued', 'revoking')
OR (state = 'batched' AND (SELECT state FROM anchor_batches WHERE id = batch_id) NOT IN ('confirmed', 'failed'))))
""",
    columns="id delegation_id holder agent credential_id issuer schema_id predicate proof created_at expires_at caller challenge domain "
    "revoked_at revoked_by revocation_reason anchor_status question",
    roles=("holder", "agent"),
)
RULES: Final = (_CREDENTIALS, _PROOFS)
