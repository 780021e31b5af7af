"""Suite 2: credentials that are bound to a secret of their holder, and proofs with one or several of them (PROTOCOL-2.md).

All credentials of a question are bound to one secret, and the proof is about their status if every one of them can be revoked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct, field

from identity_bound_credentials.checks import BoundChecks
from identity_bound_credentials.domain.bound_credential import BoundHeader
from identity_bound_credentials.domain.bound_format import BOUND_CREDENTIALS
from identity_bound_credentials.domain.normal_form import check_size
from identity_bound_credentials.domain.presentation import Agreement, last_expiry, proof_day
from identity_bound_credentials.domain.question import AskedCredential, Question
from identity_bound_credentials.use_cases.agreement import agreement
from identity_bound_credentials.use_cases.issue import IssueBound
from identity_bound_credentials.use_cases.presenting import PresentBound
from identity_bound_credentials.worker_calls import NAME
from identity_client.action import NOT_EQUAL
from identity_codec.structs import UnsetType
from identity_core.domain.credentials.credential import Binding, Credential
from identity_core.domain.credentials.verifiable_credential import BoundFormat
from identity_core.domain.proofs.asked import Asked
from identity_core.domain.proofs.predicate import unsupported
from identity_core.domain.proofs.proof import Context, Witness, ZkProof
from identity_core.domain.proofs.stored import KeptQuestion
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_core.use_cases.proofs.suite_1 import check_known
from identity_core.wire import HolderConsent


class BoundPlan(Struct, frozen=True):
    """The plan of a proof about a ``Question``; ``agreed`` is the verified consent of a wallet, None if the custodian gives it."""

    present: PresentBound
    credentials: Sequence[Credential]
    question: Question
    agreed: Agreement | None

    def expiry(self, issued_at: datetime, expires_at: datetime) -> datetime:
        """Return the end of the day that the proof is about, or of the holder's consent."""
        ends = min(expires_at, last_expiry(proof_day(issued_at)))
        return ends if self.agreed is None else min(ends, datetime.fromtimestamp(self.agreed.terms.not_after, UTC))

    async def prove(self, witnesses: Sequence[Witness], context: Context) -> ZkProof:
        """See ``ProofPlan``. Raises what ``PresentBound`` does."""
        return await self.present(self.credentials, self.question, witnesses, context, self.agreed)


class BoundSuite(BoundChecks, IssueBound, frozen=True):
    """The ports ``ProofSuite`` and ``SuiteChecks`` for credentials with a ``Binding``."""

    present: PresentBound
    format: BoundFormat | None = BOUND_CREDENTIALS
    consents: SignatureChecks = field(default_factory=SignatureChecks)

    @property
    def fault(self) -> str:
        """See ``ProofSuite``."""
        return self.publisher.fault

    async def prepare(
        self,
        credentials: Sequence[Credential],
        predicates: Sequence[tuple[Asked, ...]],
        joint: KeptQuestion | None,
        consent: HolderConsent | UnsetType,
        context: Callable[[], Context],
    ) -> BoundPlan:
        """See ``ProofSuite``. A contradictory or too large question is refused here, because the prover would report it only after
        the use."""
        bindings = [credential.binding for credential in credentials if credential.binding is not None]
        question, provers = _question(bindings, predicates, joint), self.provers
        # What a prover of suite 2 knows besides it knows with all of suite 2.
        known = provers.predicate_types
        check_known(known and known | {NOT_EQUAL}, [one for each in predicates for one in each])
        if NAME not in provers.extensions:
            raise unsupported(UNKNOWN)
        await self.present.check_issuers(credentials)
        agreed = await agreement(consent, bindings, question, context, self.consents)
        return BoundPlan(self.present, credentials, question, agreed)


UNKNOWN: Final = "the prover does not know this predicate of this credential"


def _question(
    bindings: Sequence[Binding], predicates: Sequence[tuple[Asked, ...]], joint: KeptQuestion | None
) -> Question:
    """Return the question. Raises ``PredicateUnsupported``."""
    if len(bindings) < len(predicates):
        raise unsupported("only credentials that are bound to their holder are shown together, or with a pseudonym")
    if len({binding.secret for binding in bindings}) > 1:
        raise unsupported("the credentials are bound to different secrets of the holder")
    headers = [BoundHeader.from_octets(binding.header) for binding in bindings]
    question = Question(
        tuple(map(AskedCredential, headers, predicates)),
        () if joint is None else joint.same,
        () if joint is None else joint.either,
        status=all(header.status is not None for header in headers),
        pseudonym=None if joint is None else joint.pseudonym,
    )
    check_size(question)
    return question
