"""The ports of stored proofs and of the challenges that verifiers obtain from the service."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from identity_core.domain.activity import EventRecord
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.proofs.stored import ProofRevocation, StoredProof


class CredentialRecord(Struct, frozen=True):
    """The data that decides whether a credential is in force; times aware UTC, ``valid_until`` excluded."""

    status: CredentialStatus
    valid_from: datetime
    valid_until: datetime | None


class ProofRecords(Struct, frozen=True):
    """The current records of a stored proof. ``credentials`` are in the proof's order; None stands for an unknown one, as for the
    chain. A deleted proof counts as revoked."""

    revoked: bool
    credentials: tuple[CredentialRecord | None, ...]
    chain: DelegationChain | None


class Proofs(Protocol):
    """Reads and revocations of proofs. Only ``Invocations.finish`` of the kernel writes the proofs that are made here."""

    async def get(self, proof_id: str) -> StoredProof | None:
        """Return the proof with this id, or None."""

    async def records(self, proof: StoredProof) -> ProofRecords:
        """Return the current records of the proof and of its dependencies, read together."""

    async def revoke(self, proof_id: str, revocation: ProofRevocation, event: EventRecord) -> StoredProof | None:
        """Revoke the proof and return its new state, or None for an unknown proof. Only the first revocation counts; it writes the rows of
        the event in the same transaction. Durable on return."""


class VerifierChallenge(Struct, frozen=True):
    """A stored challenge. ``owner`` is the caller that obtained it, ``domain`` its purpose; times are aware UTC."""

    owner: str
    domain: str
    expires_at: datetime
    spent: bool


class VerifierChallenges(Protocol):
    """The challenges of verifiers, by their text; the text itself is not stored."""

    async def add(self, text: str, challenge: VerifierChallenge, now: datetime) -> None:
        """Store the challenge until it expires. It need not be durable. Raises ``Overloaded``: when this owner has far too many live
        challenges."""

    async def find(self, text: str) -> VerifierChallenge | None:
        """Return the stored record, or None."""

    async def spend(self, text: str, now: datetime) -> bool:
        """Mark the challenge as used by one guarded statement, durable on return. Exactly one of many callers gets True."""

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` used challenges that expired by ``until``. Return their number."""
