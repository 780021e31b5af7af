"""Suite 1, the kernel's own: a proof about predicates of one credential, whose signature covers schema and values (PROTOCOL.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NoReturn

from msgspec import Struct

from identity_codec.structs import UNSET, UnsetType
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.credentials.verifiable_credential import BoundFormat
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.proofs.asked import Asked
from identity_core.domain.proofs.predicate import Predicate, normalise, unsupported
from identity_core.domain.proofs.proof import Context, IssuerKey, Statement, Witness, ZkProof
from identity_core.domain.proofs.stored import KeptQuestion
from identity_core.errors import InvalidCredential, PluginUnavailable
from identity_core.ports.custodian import Custodian
from identity_core.ports.prover import ProofWorkers
from identity_core.ports.suites import Prepared, Signed
from identity_core.wire import HolderConsent, ImportedBinding


class SinglePlan(Struct, frozen=True):
    """The plan of a proof about one credential."""

    provers: ProofWorkers
    statement: Statement

    def expiry(self, issued_at: datetime, expires_at: datetime) -> datetime:
        """Return ``expires_at``."""
        return expires_at

    async def prove(self, witnesses: Sequence[Witness], context: Context) -> ZkProof:
        """See ``ProofPlan``."""
        return await self.provers.prove(self.statement, witnesses[0], context=context)


class SuiteOne(Struct, frozen=True):
    """The port ``ProofSuite`` for credentials without a ``Binding``."""

    provers: ProofWorkers
    custodian: Custodian
    fault: str = ""
    format: BoundFormat | None = None

    async def prepare(
        self,
        credentials: Sequence[Credential],
        predicates: Sequence[tuple[Asked, ...]],
        joint: KeptQuestion | None,
        consent: HolderConsent | UnsetType,
        context: Callable[[], Context],
    ) -> SinglePlan:
        """See ``ProofSuite``. Refuse publicly contradictory input here, because the prover would report it only after the use."""
        (credential,), (asked,) = credentials, predicates
        plain = tuple(one for one in asked if isinstance(one, Predicate))
        if len(plain) > 1:
            normalise(credential.schema, plain)
        check_known(self.provers.predicate_types, asked)
        if consent is not UNSET:
            raise unsupported(NO_CONSENT)
        issuer = IssuerKey(credential.verification_method, credential.issuer_public_key)
        return SinglePlan(self.provers, Statement(issuer, credential.schema, plain))

    async def issue(
        self, prepared: Prepared, key_id: str, key: PublicKey, *, is_named: bool
    ) -> tuple[Prepared, Signed]:
        """See ``ProofSuite``."""
        schema = prepared.definition.schema
        signature = await self.custodian.sign_bbs(key_id, schema.header, schema.messages(prepared.values))
        return prepared, Signed(key_id, key.raw, signature)

    def bind(self, bound: ImportedBinding, prepared: Prepared, signed: Signed) -> tuple[Prepared, Signed]:
        """Raise ``InvalidCredential``: a credential of this suite has no binding."""
        raise InvalidCredential(details={"reason": "a credential of suite 1 is not bound"})

    async def enlist(self, *asked: Any) -> None:
        """Do nothing: its status list is made from the records."""


NO_CONSENT: Final = "no wallet keeps the holder's secret: leave holderConsent out"


def check_known(known: frozenset[str], asked: Sequence[Asked]) -> None:
    """Raise ``PredicateUnsupported`` unless the prover knows all types of predicates, and ``PluginUnavailable`` if it knows none."""
    if not known:
        # Fail before the IBCT is used up, if there is no prover.
        raise PluginUnavailable("No prover is available.")
    if not all(predicate.type in known for predicate in asked):
        raise unsupported("the prover does not know this predicate of this credential")


class NoSuite:
    """The suite of an installation that has no other than suite 1."""

    fault: Final = ""
    format: Final = None

    async def prepare(self, *asked: Any) -> NoReturn:
        """Raise ``PredicateUnsupported``."""
        raise unsupported(MISSING)

    enlist = prepare

    async def issue(self, *asked: Any, is_named: bool) -> None:
        """Return None. Raise ``InvalidCredential``: when the request names the suite."""
        if is_named:
            self.bind()

    def bind(self, *asked: Any) -> NoReturn:
        """Raise ``InvalidCredential``."""
        raise InvalidCredential(details={"reason": MISSING})


MISSING: Final = "no installed extension has suite 2: install the one of bound credentials"


class NoProver:
    """The port ``ProofWorkers`` in an installation that has no prover: every call raises ``PluginUnavailable``."""

    suite: Final = ""
    predicate_types: Final = frozenset[str]()
    extensions: Final = frozenset[str]()

    async def ask(self, *asked: Any, **named: Any) -> NoReturn:
        """Raise ``PluginUnavailable``."""
        raise PluginUnavailable("No prover is installed.")

    prove = read = verify = ask
