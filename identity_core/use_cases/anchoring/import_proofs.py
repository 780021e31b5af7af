"""Bringing in proofs from before anchoring existed, with the status ``pre-phase7``. They are kept, shown and verified like others;
nothing anchors them unless an operator has them backfilled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from identity_core.domain.anchor import Anchor, AnchorStatus
from identity_core.domain.proof_record import ProofRecord
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import ProofRevocation, Proofs, StoredProof
from identity_core.ports.repositories import AuditLog, AuditRow
from identity_core.use_cases.proofs.make import SALT_OCTETS

CALLER: Final = "import"


@dataclass(frozen=True, slots=True)
class ImportProofs:
    """``random`` gives octets for the salts of the commitments that a backfill would make."""

    proofs: Proofs
    audit: AuditLog
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(self, records: Sequence[ProofRecord]) -> int:
        """How many were not there before. All of them or none are brought in."""
        rows = [self._row(record) for record in records]
        count = await self.proofs.bring_in(rows)
        line = AuditRow(
            at=self.clock.now(),
            request_id="-",
            operation="importProofs",
            caller=CALLER,
            fingerprint=None,
            target=None,
            outcome="done",
            details={"given": len(rows), "imported": count},
        )
        await self.audit.write(line, durable=True)
        return count

    def _row(self, record: ProofRecord) -> StoredProof:
        revoked_at = record.revoked_at
        return StoredProof(
            proof=record.proof,
            delegation_id=record.delegation_id,
            holder=record.holder,
            agent=record.agent,
            credential_id=record.credential_id,
            issuer=record.issuer,
            schema_id=record.schema_id,
            predicate=record.predicate,
            salt=self.random(SALT_OCTETS),
            # Nothing of its token came with it.
            ibct_id="",
            nonce="",
            created_at=record.created_at,
            expires_at=record.expires_at,
            caller=CALLER,
            challenge=record.challenge,
            domain=record.domain,
            revocation=None if revoked_at is None else ProofRevocation(revoked_at, CALLER, record.revocation_reason),
            anchor=Anchor(AnchorStatus.PRE_PHASE7, None, None, None),
        )
