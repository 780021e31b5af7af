"""The proofs that this service made, as they are kept: what was proven, for whom and under which delegation.

The row of a proof is written in the transaction that ends its invocation (``Invocations``), so that no proof is
known that an IBCT does not stand behind. No attribute value is in it: the predicate is the question, not the answer.

What an IBCT may be used for once: the store that decides between parallel requests (openapi/DECISIONS.md §4.3, §4.4).

``consume`` is one transaction: nonce and id are taken, revocations read anew, the limits of uses and of disclosure looked at, and only
then the credential opened and the predicate evaluated. So a limit refuses alike whatever the answer would have been, and of
parallel questions each meets what those before it have counted. ``refuse`` keeps every other refusal of a genuine token. Nothing is
held while a proof is made; ``finish`` reads revocations once more and stores the proof with its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.activity import EventRecord
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.proofs.stored import DelegatedProof, ProofRevocation, StoredProof
from identity_core.domain.proofs.verification import Anchor
from identity_core.errors import CODES, AnchoringDisabled, IdentityError, InternalError


@value_class
class CredentialRecord:
    """The data that decides whether a credential is in force; times aware UTC, ``valid_until`` excluded."""

    status: CredentialStatus
    valid_from: datetime
    valid_until: datetime | None


@value_class
class ProofRecords:
    """The current records of a stored proof. ``credentials`` are in the proof's order; None stands for one that is
    unknown, as for the chain. A proof that is not there any more counts as revoked."""

    revoked: bool
    credentials: tuple[CredentialRecord | None, ...]
    chain: DelegationChain | None


class Proofs(Protocol):
    """Reads proofs and takes them back; those that are made here are written by ``Invocations.finish`` alone."""

    async def get(self, proof_id: str) -> StoredProof | None:
        """The proof with this id, or None."""

    async def records(self, proof: StoredProof) -> ProofRecords:
        """Return the current records of the proof and of its dependencies, read together."""

    async def revoke(self, proof_id: str, revocation: ProofRevocation, event: EventRecord) -> StoredProof | None:
        """Return the proof after the revocation, or None for an unknown one. The first revocation counts, and only with it the rows of
        the event are written, in one transaction. Durable on return."""


class Anchoring:
    """The service that puts commitments to proofs on a ledger (openapi/DECISIONS.md §4.10). This one anchors nothing: an extension
    replaces it. Receipts are members of the proofs, so they are shown all the same."""

    @property
    def fault(self) -> str:
        """Return why proofs that wait are not anchored; empty when they are."""
        return ""

    def require_enabled(self) -> None:
        """Raise ``AnchoringDisabled`` unless proofs are anchored."""
        raise AnchoringDisabled

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        """Return the receipt of a stored proof: at once when ``wait_ms`` is 0, else as soon as it is confirmed or failed, or after that
        time. It holds neither a transaction nor a worker. A fault of the ledger is a receipt (``failed``), never an exception."""
        raise AnchoringDisabled

    async def revoke(self, proof: StoredProof, wait_ms: int) -> Anchor | None:
        """Return the receipt of a revoked proof: at once when ``wait_ms`` is 0, else as soon as its anchor is revoked, or after that
        time. The anchored tree does not change: a revocation of the one leaf is put on the ledger."""
        return proof.anchor


@value_class
class Invocation:
    """An IBCT in one request. Digests are SHA-256: of nonce, id, and the JCS of the whole body. Nothing of it may be forgotten
    before ``delete_after``."""

    invoker: str
    nonce_digest: bytes
    id_digest: bytes
    request_digest: bytes
    delete_after: datetime


@value_class
class Disclosure:
    """A predicate that the agent chose itself. ``digest`` is the SHA-256 of the JCS of the canonical predicate. At most ``most``
    different ones may be asked about this attribute of a credential by all agents: after ``since``, or ever where that is None.

    ``threshold`` is the SHA-256 by which delegations count it: the same predicate over two credentials is two questions."""

    credential_id: str
    attribute: str
    digest: bytes
    most: int
    since: datetime | None
    threshold: bytes


@value_class
class Consumption:
    """The counters to increase, and the records to read again. ``delegations`` are the ids of the chain, leaf first;
    ``credential_ids`` those of the credentials, in the order of the request; ``questions`` are those that no pin fixed,
    each once: a value that the holder fixed limits nothing more."""

    delegations: tuple[str, ...]
    credential_ids: tuple[str, ...]
    questions: tuple[Disclosure, ...]


@value_class
class Lease:
    """The right to make the proof of an invocation, for about a minute; ``token`` tells it from the one that took over."""

    invocation: Invocation
    spending: Consumption
    token: bytes


Holds = Callable[[Sequence[bytes]], bool]
"""Opens the sealed values of each credential and says whether all predicates hold. It takes the same time for both answers, does no
I/O, and may be called again when the database runs the transaction again."""


@value_class
class RefusedInvocation:
    """A refusal that spent the IBCT: the code, message and details of the first answer."""

    code: str
    message: str
    details: Mapping[str, JsonValue]

    @classmethod
    def of(cls, error: IdentityError) -> RefusedInvocation:
        """The refusal that ``error`` is."""
        return cls(error.code, str(error), error.details)

    def error(self) -> IdentityError:
        """The refusal, to be raised."""
        return CODES.get(self.code, InternalError)(self.message, details=self.details)


Outcome = DelegatedProof | RefusedInvocation
"""How an invocation ended: what an identical request gets again."""


@value_class
class Earlier:
    """The outcome of an identical request that was faster."""

    outcome: Outcome


@value_class
class Precedent:
    """The known state of an invocation before it is consumed. ``outcome`` is that of the identical request, None when
    this one may go on: none came before, or the one that came died. ``chain`` is its delegation's, as
    ``Delegations.chain`` has it; ``is_revoked`` says whether the IBCT was called back."""

    outcome: Outcome | None
    chain: DelegationChain | None
    is_revoked: bool


class Invocations(Protocol):
    """The uses of IBCTs. All writes are durable on return unless said otherwise."""

    async def look_up(self, invocation: Invocation, delegation_id: str | None, now: datetime) -> Precedent:
        """Return the known state before anything is consumed; ``delegation_id`` is the one that the IBCT names.

        Raises ``IbctReplayed`` when nonce or id belong to another request, ``RequestInProgress`` while the identical one runs.
        """

    async def consume(
        self, invocation: Invocation, spending: Consumption, holds: Holds, now: datetime
    ) -> Lease | RefusedInvocation | Earlier:
        """Spends the IBCT. Where no limit refuses, opens the credential, counts the use and its answer; both answers cost the same
        work and are durable.

        A lease where the predicate holds; else ``RefusedInvocation``: ``PredicateNotSatisfied``, ``DelegationExhausted``,
        ``DelegationSuspended``, ``DelegationNotActive``, ``DisclosureLimit``, ``DelegationRevoked``, ``IbctRevoked``,
        ``CredentialRevoked``. Only the first of these is a use and counts as one. A lease that ended is taken over
        without asking or counting again. Raises what ``look_up`` raises.
        """

    async def refuse(
        self, invocation: Invocation, refused: RefusedInvocation, now: datetime
    ) -> RefusedInvocation | Earlier:
        """Spends the IBCT of a request that is refused before it could be a use; durable. ``Earlier`` is the refusal that the
        identical request got before. Raises what ``look_up`` raises.
        """

    async def finish(self, lease: Lease, proof: StoredProof, event: EventRecord) -> None:
        """Stores proof and answer, and the rows of the event that the proof is, in one transaction.

        Raises ``DelegationRevoked``, ``IbctRevoked`` or ``CredentialRevoked`` when that happened meanwhile; the proof is then not
        stored, the refusal is, and the use stays counted. Raises ``RequestInProgress`` when the lease was taken over.
        """

    async def release(self, lease: Lease) -> None:
        """Ends a lease without a proof, so that the identical request may go on at once. Need not be durable."""

    async def amend(self, lease: Lease, anchor: Anchor) -> None:
        """Remembers the receipt that the answer will carry. Need not be durable."""
