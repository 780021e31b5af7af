"""Stores of the proofs that this service made: what was proven, for which verifier and under which delegation.

The row of a proof is written in the transaction that ends its invocation (``Invocations``), so that every stored proof has
an IBCT. The row has no attribute value: the predicate is the question, not the answer.

The one-time use of IBCTs is decided by the store between parallel requests (openapi/DECISIONS.md §4.3, §4.4).

``consume`` is one transaction. It stores nonce and id, reads revocations again, and checks the limits of uses and of disclosure. Only
then it opens the credential and evaluates the predicate. So a limit refuses in the same way for every answer, and each of several
parallel questions sees the counts of those before it. ``refuse`` stores every other refusal of a genuine token. No lock is held
while a proof is made; ``finish`` reads revocations once more and stores the proof with its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.values import Hidden
from identity_core.domain.activity import EventRecord
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.proofs.stored import Anchor, DelegatedProof, StoredProof
from identity_core.errors import CODES, AnchoringDisabled, IdentityError, InternalError


class Anchoring:
    """The service that records commitments to proofs on a ledger (openapi/DECISIONS.md §4.10). This one anchors nothing: an extension
    replaces it. Existing receipts are members of the proofs, so the service shows them anyway."""

    @property
    def fault(self) -> str:
        """Return the reason why pending proofs are not anchored; empty if they are."""
        return ""

    def require_enabled(self) -> None:
        """Raise ``AnchoringDisabled`` unless proofs are anchored."""
        raise AnchoringDisabled

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        """Return the receipt of a stored proof: at once if ``wait_ms`` is 0, else when it is confirmed or failed, or after that time.
        It holds neither a transaction nor a worker. A fault of the ledger is a receipt (``failed``), never an exception."""
        raise AnchoringDisabled

    async def revoke(self, proof: StoredProof, wait_ms: int) -> Anchor | None:
        """Return the receipt of a revoked proof: at once if ``wait_ms`` is 0, else when its anchor is revoked, or after that time.
        The anchored tree does not change: the revocation of the one leaf is recorded on the ledger."""
        return proof.anchor


class Invocation(Struct, frozen=True):
    """An IBCT in one request. Digests are SHA-256: of nonce, id, and the JCS of the whole body. The store must keep all of it until
    ``delete_after``."""

    invoker: str
    nonce_digest: bytes
    id_digest: bytes
    request_digest: bytes
    delete_after: datetime


class Disclosure(Struct, frozen=True):
    """A predicate that the agent chose itself. ``digest`` is the SHA-256 of the JCS of the canonical predicate. All agents together may
    use at most ``most`` different predicates on this attribute of a credential: after ``since``, or ever if that is None.

    ``threshold`` is the SHA-256 by which delegations count it: the same predicate over two credentials is two questions."""

    credential_id: str
    attribute: str
    digest: bytes
    most: int
    since: datetime | None
    threshold: bytes


class Consumption(Struct, frozen=True):
    """The counters to increase, and the records to read again. ``delegations`` are the ids of the chain, leaf first.
    ``credential_ids`` are those of the credentials, in the order of the request. ``questions`` are the predicates without a pin,
    each once: a value that the holder fixed does not count against a limit."""

    delegations: tuple[str, ...]
    credential_ids: tuple[str, ...]
    questions: tuple[Disclosure, ...]


class Lease(Hidden, Struct, frozen=True):
    """The right to make the proof of an invocation, for about a minute. ``token`` distinguishes it from a later lease of the same
    invocation."""

    invocation: Invocation
    spending: Consumption
    token: bytes


Holds = Callable[[Sequence[bytes]], bool]
"""A function that opens the sealed values of each credential and returns whether all predicates hold. It takes the same time for both
answers, does no I/O, and may be called again if the database repeats the transaction."""


class RefusedInvocation(Struct, frozen=True):
    """A refusal that used up the IBCT: the code, message and details of the first answer."""

    code: str
    message: str
    details: Mapping[str, JsonValue]

    @classmethod
    def from_error(cls, error: IdentityError) -> RefusedInvocation:
        """Return the refusal with the code, message and details of ``error``."""
        return cls(error.code, str(error), error.details)

    def error(self) -> IdentityError:
        """Return the exception of this refusal."""
        return CODES.get(self.code, InternalError)(self.message, details=self.details)


Outcome = DelegatedProof | RefusedInvocation
"""The outcome of an invocation; an identical request gets it again."""


class Earlier(Struct, frozen=True):
    """The outcome of an identical request that was faster."""

    outcome: Outcome


class Precedent(Struct, frozen=True):
    """The known state of an invocation before it is consumed. ``outcome`` is that of the identical request. It is None if this one may
    continue, because there was no other or the other one died. ``chain`` is that of its delegation, as ``Delegations.chain`` returns
    it; ``is_revoked`` states whether the IBCT was revoked."""

    outcome: Outcome | None
    chain: DelegationChain | None
    is_revoked: bool


class Invocations(Protocol):
    """The uses of IBCTs. All writes are durable on return unless a docstring states otherwise."""

    async def look_up(self, invocation: Invocation, delegation_id: str | None, now: datetime) -> Precedent:
        """Return the known state before anything is consumed; ``delegation_id`` is the one that the IBCT names.

        Raises ``IbctReplayed``: when nonce or id belong to another request. Raises ``RequestInProgress``: while the identical one
        runs.
        """

    async def consume(
        self, invocation: Invocation, spending: Consumption, holds: Holds, now: datetime
    ) -> Lease | RefusedInvocation | Earlier:
        """Use up the IBCT. If no limit refuses, open the credential and count the use and its answer. Both answers take the same
        work and are durable.

        Return a lease if the predicate holds, else a ``RefusedInvocation``: ``PredicateNotSatisfied``, ``DelegationExhausted``,
        ``DelegationSuspended``, ``DelegationNotActive``, ``DisclosureLimit``, ``DelegationRevoked``, ``IbctRevoked``,
        ``CredentialRevoked``. Only the first of these is a use and counts as one. A lease that ended is taken over
        without another evaluation or count. Raises what ``look_up`` raises.
        """

    async def refuse(
        self, invocation: Invocation, refused: RefusedInvocation, now: datetime
    ) -> RefusedInvocation | Earlier:
        """Use up the IBCT of a request that is refused before it could be a use; durable. Return ``Earlier`` if the identical request
        was refused before. Raises what ``look_up`` raises.
        """

    async def finish(self, lease: Lease, proof: StoredProof, event: EventRecord) -> None:
        """Store the proof, its answer and the rows of its event in one transaction.

        Raises ``DelegationRevoked``, ``IbctRevoked`` or ``CredentialRevoked``: when that happened meanwhile. The refusal is then stored
        instead of the proof, and the use stays counted. Raises ``RequestInProgress``: when the lease was taken over.
        """

    async def release(self, lease: Lease) -> None:
        """End a lease without a proof, so that the identical request may continue at once. Need not be durable."""

    async def amend(self, lease: Lease, anchor: Anchor) -> None:
        """Store the receipt that the answer will contain. Need not be durable."""
