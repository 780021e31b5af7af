"""The handlers of the tag ``proofs`` over the ports."""

from __future__ import annotations

import secrets
from datetime import timedelta

from identity_core.api.proofs import ProofHandlers
from identity_core.bootstrap.ports import origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.delegations.delegation import AutonomyTable
from identity_core.ports.proofs import Anchoring
from identity_core.ports.suites import ProofSuites
from identity_core.use_cases.credentials.sealed import SealedCredentials
from identity_core.use_cases.proofs.check import CheckProof, IssuerKeys
from identity_core.use_cases.proofs.dry_run import CheckDelegatedProof
from identity_core.use_cases.proofs.generate import CreateDelegatedPresentation, GenerateDelegatedProof
from identity_core.use_cases.proofs.steps import ProofPolicy
from identity_core.use_cases.proofs.stored import ChallengeUse, GetProof, ProofAccess, RevokeProof
from identity_core.use_cases.proofs.verify import ProofStatus, VerifyProof, VerifyStoredProof
from identity_core.use_cases.record import Record


def _generate(
    opened: Runtime,
    suites: ProofSuites,
    sealed_credentials: SealedCredentials,
    autonomy: AutonomyTable,
    anchoring: Anchoring,
) -> GenerateDelegatedProof:
    store, origin, chosen = opened.store, origin_of(opened.settings), opened.settings.proof
    policy = ProofPolicy(
        audience=origin,
        lifetime=timedelta(seconds=chosen.lifetime_seconds),
        shows_agent=chosen.shows_agent,
        disclosures=chosen.disclosures,
        disclosure_window=None if chosen.disclosure_days is None else timedelta(days=chosen.disclosure_days),
        leeway=timedelta(seconds=opened.settings.delegation.clock_leeway_seconds),
        longest=timedelta(days=chosen.ibct_lifetime_days),
        places=(f"{origin}/api/v1/delegations/",),
    )
    return GenerateDelegatedProof(
        reader=opened.reader,
        sealed_credentials=sealed_credentials,
        suites=suites,
        invocations=store.invocations,
        anchoring=anchoring,
        autonomy=autonomy,
        record=Record(store.activity),
        clock=opened.clock,
        random=secrets.token_bytes,
        policy=policy,
    )


def proof_handlers(
    opened: Runtime,
    suites: ProofSuites,
    sealed_credentials: SealedCredentials,
    autonomy: AutonomyTable,
    anchoring: Anchoring,
) -> ProofHandlers:
    """The handlers of the tag ``proofs``."""
    store, clock = opened.store, opened.clock
    proofs, record = store.proofs, Record(store.activity)
    issuers = IssuerKeys(opened.reader)
    check = CheckProof(opened.provers, suites, issuers, store.credential_schemas)
    check_anonymously = CheckProof(opened.anonymous_verifier, suites, issuers, store.credential_schemas)
    freshness = ChallengeUse(store.verifier_challenges)
    access = ProofAccess(proofs, store.verifier_challenges)
    status = ProofStatus(access, proofs)
    verify = VerifyProof(check, check_anonymously, freshness, proofs, status, record, clock)
    making = _generate(opened, suites, sealed_credentials, autonomy, anchoring)
    return ProofHandlers(
        generate=making,
        present=CreateDelegatedPresentation(making),
        check=CheckDelegatedProof(making),
        received=verify,
        stored=VerifyStoredProof(verify),
        get=GetProof(access, record, clock),
        revoke=RevokeProof(access, proofs, anchoring, clock),
    )
