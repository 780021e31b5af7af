"""The port of proof suites: what differs between kinds of credentials and of the proofs that are made with them.

Suite 1 is the kernel's, whose credentials have no ``Binding``. An extension provides suite 2 as the service ``ProofSuite``; without it,
``NoSuite`` (``use_cases/proofs/suite_1.py``) refuses what needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from identity_codec.strict_json import JsonValue
from identity_codec.structs import UnsetType
from identity_codec.values import Hidden, value_class
from identity_core.domain.credentials.credential import Binding, Credential
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.credentials.verifiable_credential import BoundFormat
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.dids.state import DidState
from identity_core.domain.proofs.asked import Asked
from identity_core.domain.proofs.checks import Check
from identity_core.domain.proofs.expected import AnyPresented, KeptQuestion
from identity_core.domain.proofs.proof import Context, ReceivedProof, Witness, ZkProof
from identity_core.domain.proofs.verification import Expectation
from identity_core.ports.custodian import Custodian
from identity_core.ports.prover import ProofWorkers
from identity_core.wire import HolderConsent, ImportedBinding


@dataclass(frozen=True, slots=True, repr=False)
class Prepared(Hidden):
    """A request that may be signed, under the ``id`` that the credential will have. ``state`` is the issuer's, ``values`` are canonical.
    ``has_begin`` is False where the request leaves ``valid_from`` to the service."""

    id: str
    issuer: Did
    holder: Did
    state: DidState
    definition: CredentialSchema
    values: dict[str, JsonValue]
    valid_from: datetime
    valid_until: datetime | None
    now: datetime
    accepts_new_secret: bool
    has_begin: bool


@value_class
class Signed:
    """A signature: the verification method, its public key of 96 bytes, and 80 bytes; for suite 2 its binding, and the holder's ``tag`` if
    it is known."""

    verification_method: str
    public_key: bytes
    signature: bytes
    binding: Binding | None = None
    tag: bytes | None = None


class ProofPlan(Protocol):
    """A proof that a suite can make: all that is public of it was checked, and no credential was opened."""

    def expiry(self, issued_at: datetime, expires_at: datetime) -> datetime:
        """Return when the proof expires if it is made at ``issued_at``: at ``expires_at`` or before."""

    async def prove(self, witnesses: Sequence[Witness], context: Context) -> ZkProof:
        """Make the proof. Raises what ``ProofWorkers.prove`` does."""


class ProofSuite(Protocol):
    """One suite. ``format`` is None for credentials without a ``Binding``."""

    @property
    def name(self) -> str:
        """The first public signal of its proofs; empty if the prover names it."""

    @property
    def fault(self) -> str:
        """Return why its lists are not published; empty if they are."""

    @property
    def format(self) -> BoundFormat | None:
        """Return the format of bound credentials; None for a suite without one."""

    async def prepare(
        self,
        credentials: Sequence[Credential],
        predicates: Sequence[tuple[Asked, ...]],
        joint: KeptQuestion | None,
        consent: HolderConsent | UnsetType,
        context: Callable[[], Context],
    ) -> ProofPlan:
        """Check what is asked of usable credentials, one tuple of predicates for each.

        ``joint``: what is asked of them together; None for one credential. ``consent``: of the holder, as the request has it.
        ``context``: returns what the proof would be bound to. Raises ``PredicateUnsupported``, ``PluginUnavailable``,
        ``CredentialRevoked``, ``Overloaded``."""

    async def read(self, provers: ProofWorkers, text: str) -> AnyPresented:
        """Read what a proof says of itself. Raises ``ProofInvalid``: when it is none of this suite."""

    async def check(
        self,
        provers: ProofWorkers,
        received: ReceivedProof,
        presented: Any,
        keys: Mapping[str, bytes],
        expectation: Expectation,
        now: datetime,
    ) -> tuple[Check, Check]:
        """Check the members around the text of a proof, and the proof.

        ``presented``: what ``read`` returned. ``keys``: raw keys of 96 bytes, by its methods."""

    async def issue(
        self, prepared: Prepared, key_id: str, key: PublicKey, *, is_named: bool
    ) -> tuple[Prepared, Signed] | None:
        """Sign a credential. Return None where this suite cannot; unless the request names it, then ``InvalidCredential`` is raised."""

    def bind(self, bound: ImportedBinding, prepared: Prepared, signed: Signed) -> tuple[Prepared, Signed]:
        """Return an imported credential with its binding. Raises ``InvalidCredential``."""

    async def enlist(self, credential: Credential, prepared: Prepared, key: PublicKey) -> None:
        """Enter an imported credential, whose signature is right, into the list that may revoke it. Raises ``Conflict``."""


@value_class
class HolderKeeper:
    """The custodian that keeps the secrets of holders."""

    custodian: Custodian


ProofSuites = Mapping[int, ProofSuite]
"""The suites of an installation by the number that requests and records have."""
