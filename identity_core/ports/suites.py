"""The port of proof suites: the differences between kinds of credentials and of their proofs.

The kernel has suite 1, whose credentials have no ``Binding``. An extension provides suite 2 as the service ``ProofSuite``. Without it,
``NoSuite`` (``use_cases/proofs/suite_1.py``) refuses requests that need suite 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.structs import UnsetType
from identity_codec.values import Hidden
from identity_core.domain.credentials.credential import Binding, Credential
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.credentials.verifiable_credential import BoundFormat
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.dids.state import DidState
from identity_core.domain.proofs.asked import Asked
from identity_core.domain.proofs.proof import Context, Witness, ZkProof
from identity_core.domain.proofs.stored import KeptQuestion
from identity_core.ports.custodian import Custodian
from identity_core.wire import HolderConsent, ImportedBinding


class Prepared(Hidden, Struct, frozen=True):
    """A request that may be signed, with the ``id`` of the future credential. ``state`` is the issuer's, ``values`` are canonical.
    ``has_begin`` is False if the request leaves ``valid_from`` to the service."""

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


class Signed(Hidden, Struct, frozen=True):
    """A signature of 80 bytes, its verification method and the public key of 96 bytes; for suite 2 also the binding, and the holder's
    ``tag`` if it is known."""

    verification_method: str
    public_key: bytes
    signature: bytes
    binding: Binding | None = None
    tag: bytes | None = None


class ProofPlan(Protocol):
    """A proof that a suite can make: its public parts were checked, and no credential was opened yet."""

    def expiry(self, issued_at: datetime, expires_at: datetime) -> datetime:
        """Return the expiry of a proof that is made at ``issued_at``: ``expires_at`` or earlier."""

    async def prove(self, witnesses: Sequence[Witness], context: Context) -> ZkProof:
        """Make the proof. Raises what ``ProofWorkers.prove`` does."""


class ProofSuite(Protocol):
    """A proof suite. ``format`` is None for credentials without a ``Binding``."""

    @property
    def fault(self) -> str:
        """Return the reason why its lists are not published; empty if they are."""

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
        """Check the predicates on usable credentials, one tuple of predicates for each.

        ``joint``: the question about all of them together; None for one credential. ``consent``: the holder's consent from the request.
        ``context``: returns the context to which the proof would be bound. Raises ``PredicateUnsupported``, ``PluginUnavailable``,
        ``CredentialRevoked``, ``Overloaded``."""

    async def issue(
        self, prepared: Prepared, key_id: str, key: PublicKey, *, is_named: bool
    ) -> tuple[Prepared, Signed] | None:
        """Sign a credential. Return None if this suite cannot. Raises ``InvalidCredential``: when it cannot and the request names it."""

    def bind(self, bound: ImportedBinding, prepared: Prepared, signed: Signed) -> tuple[Prepared, Signed]:
        """Return an imported credential with its binding. Raises ``InvalidCredential``."""

    async def enlist(self, credential: Credential, prepared: Prepared, key: PublicKey) -> None:
        """Enter an imported credential, whose signature is right, into the list that may revoke it. Raises ``Conflict``."""


class HolderKeeper(Struct, frozen=True):
    """The custodian that keeps the secrets of holders."""

    custodian: Custodian


ProofSuites = Mapping[int, ProofSuite]
"""The suites of an installation by the number that requests and records have."""
