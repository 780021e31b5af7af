"""The extension ``verification``: its operations over the records of the kernel, and the job that deletes used challenges."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from identity_core.api.credentials import CredentialHandlers
from identity_core.api.proofs import ProofHandlers
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.proofs import Anchoring
from identity_core.ports.prover import AnonymousProvers, ProofWorkers
from identity_core.store import Store
from identity_core.use_cases.background import CLOCK_SET_BACK, ForgetRows
from identity_core.use_cases.record import Record
from identity_verification.handlers import VerificationHandlers
from identity_verification.store import StoredProofs, StoredVerifierChallenges
from identity_verification.suites import SuiteChecks, SuiteOneChecks
from identity_verification.use_cases.challenges import LIFETIME, CreateVerifierChallenge
from identity_verification.use_cases.check import CheckProof, IssuerKeys
from identity_verification.use_cases.credentials import VerifyCredential, anonymous_checks
from identity_verification.use_cases.dry_run import CheckDelegatedProof
from identity_verification.use_cases.stored import ChallengeUse, GetProof, ProofAccess, RevokeProof
from identity_verification.use_cases.verify import ProofStatus, VerifyProof, VerifyStoredProof
from identity_verification.wire import DOCUMENT

TABLE: Final = "verifier_challenges"


def verify_credential(kernel: Kernel, issuers: IssuerKeys) -> VerifyCredential:
    """Return the use case. Checks of authenticated callers run beside those of credentials that are issued or imported."""
    store, handlers = kernel.need(Store), kernel.need(CredentialHandlers)
    return VerifyCredential(
        store.credential_schemas,
        store.credentials,
        issuers,
        anonymous_checks(),
        handlers.issue.intake.check,
        kernel.clock,
        handlers.base_url,
        handlers.bound_format,
    )


@contextlib.asynccontextmanager
async def open_verification(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension, whose job deletes used challenges."""
    store, clock, record = kernel.need(Store), kernel.clock, kernel.need(Record)
    proofs, challenges = StoredProofs.from_store(store), StoredVerifierChallenges(store.database)
    issuers, bound = IssuerKeys(kernel.dids), kernel.find(SuiteChecks)
    suites = (SuiteOneChecks(), *(() if bound is None else (bound,)))
    known, anonymous = (
        CheckProof(provers, suites, issuers, store.credential_schemas)
        for provers in (kernel.need(ProofWorkers), kernel.need(AnonymousProvers).provers)
    )
    access = ProofAccess(proofs, challenges)
    status, freshness = ProofStatus(access, proofs), ChallengeUse(challenges)
    verify = VerifyProof(known, anonymous, freshness, proofs, status, record, clock)
    credential = verify_credential(kernel, issuers)
    handlers = VerificationHandlers(
        CheckDelegatedProof(kernel.need(ProofHandlers).generate),
        verify,
        VerifyStoredProof(verify),
        GetProof(access, record, clock),
        RevokeProof(access, proofs, kernel.need(Anchoring), clock),
        credential,
        CreateVerifierChallenge(challenges, clock, kernel.random, LIFETIME),
    )
    kept = max(timedelta(seconds=kernel.settings.proof.lifetime_seconds), CLOCK_SET_BACK)
    async with ForgetRows(challenges.forget, clock, kept):
        services: dict[type, object] = {VerificationHandlers: handlers, VerifyCredential: credential}
        yield Contribution(handlers=(handlers,), services=services)


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="verification", kernel=">=1,<2", document=DOCUMENT, open=open_verification, vital=True, adopts=(TABLE,)
    )
