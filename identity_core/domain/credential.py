"""A credential as the service keeps it: everything but its secrets (contract.md §4, research/delegation.md §3.9).

Attribute values and signature are sealed beside it and come out as a ``Witness`` (``domain/proof.py``) where a proof, a
view of the holder or a verification needs them. Left out on purpose: credentials without a schema, several subjects.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from identity_core.domain.did import Did
from identity_core.domain.schema import Schema
from identity_core.domain.times import printed
from identity_core.errors import Conflict, CredentialExpired, CredentialRevoked


class CredentialStatus(StrEnum):
    """Suspension can be lifted, revocation is final."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


class StatusPurpose(StrEnum):
    """What a status list says of a credential (Bitstring Status List 1.0 §2.1)."""

    REVOCATION = "revocation"
    SUSPENSION = "suspension"


@dataclass(frozen=True, slots=True)
class Credential:
    """One credential. ``issuer_public_key`` are the 96 octets of the key that ``verification_method`` named when the
    credential came in; ``status_index`` counts through all status lists of the issuer (``domain/status_list.py``);
    ``created_by`` is ``Caller.author``. It is valid from ``valid_from`` until just before ``valid_until``."""

    id: str
    issuer: Did
    holder: Did
    schema: Schema
    verification_method: str
    issuer_public_key: bytes
    valid_from: datetime
    valid_until: datetime | None
    status: CredentialStatus
    status_reason: str | None
    status_index: int
    version: int
    created_at: datetime
    created_by: str

    def check_usable(self, now: datetime) -> None:
        """Raises ``CredentialRevoked`` (also for a suspended one; ``details.status`` says which) or ``CredentialExpired``."""
        if self.status is not CredentialStatus.ACTIVE:
            message = "The credential is suspended." if self.status is CredentialStatus.SUSPENDED else None
            raise CredentialRevoked(message, details={"status": self.status.value})
        if now < self.valid_from:
            raise CredentialExpired("The credential is not valid yet.", details={"validFrom": printed(self.valid_from)})
        if self.valid_until is not None and now >= self.valid_until:
            raise CredentialExpired(details={"validUntil": printed(self.valid_until)})

    def status_after(self, purpose: StatusPurpose, value: bool) -> CredentialStatus:
        """The status that setting ``purpose`` to ``value`` leads to. Raises ``Conflict`` for what revocation forbids."""
        revoked = self.status is CredentialStatus.REVOKED
        if purpose is StatusPurpose.REVOCATION:
            if revoked and not value:
                raise Conflict("Revocation is final.", details={"status": self.status.value})
            return CredentialStatus.REVOKED if value else self.status
        if revoked and value:
            raise Conflict("The credential is revoked, for good.", details={"status": self.status.value})
        if revoked:
            return self.status
        return CredentialStatus.SUSPENDED if value else CredentialStatus.ACTIVE
