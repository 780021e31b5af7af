"""Proofs: made for agents, checked by verifiers, kept and revoked."""

from __future__ import annotations

import secrets
from datetime import timedelta

from identity_core.api.proofs import ProofHandlers
from identity_core.api.verifications import VerificationHandlers
from identity_core.bootstrap.choices import origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.autonomy import AutonomyTable
from identity_core.use_cases.credentials.sealed_credentials import SealedCredentials
from identity_core.use_cases.proofs.access import ProofAccess
from identity_core.use_cases.proofs.admission import CheckCapability
from identity_core.use_cases.proofs.anonymous import CheckAnonymously
from identity_core.use_cases.proofs.authority import FindDelegation
from identity_core.use_cases.proofs.challenge_use import ChallengeUse
from identity_core.use_cases.proofs.check import CheckProof
from identity_core.use_cases.proofs.generate_delegated import GenerateDelegatedProof
from identity_core.use_cases.proofs.get import GetProof
from identity_core.use_cases.proofs.issuer_keys import IssuerKeys
from identity_core.use_cases.proofs.journal import ProofJournal
from identity_core.use_cases.proofs.make import MakeProof, ProofPolicy
from identity_core.use_cases.proofs.question import PrepareProof
from identity_core.use_cases.proofs.recording import RecordVerification
from identity_core.use_cases.proofs.revoke import RevokeProof
from identity_core.use_cases.proofs.status import ProofStatus
from identity_core.use_cases.proofs.verify_received import VerifyProof
from identity_core.use_cases.proofs.verify_stored import VerifyStoredProof
from identity_core.use_cases.verifications.create_challenge import LIFETIME, CreateVerifierChallenge
from identity_core.use_cases.verifications.list import GetVerificationStats, ListVerificationHistory


def _generate(
    opened: Runtime, sealed_credentials: SealedCredentials, autonomy: AutonomyTable
) -> GenerateDelegatedProof:
    reader, provers, store, clock = opened.reader, opened.provers, opened.store, opened.clock
    origin, chosen = origin_of(opened.settings), opened.settings.proof
    leeway = timedelta(seconds=opened.settings.delegation.clock_leeway_seconds)
    policy = ProofPolicy(
        audience=origin,
        lifetime=timedelta(seconds=chosen.lifetime_seconds),
        shows_agent=chosen.shows_agent,
        disclosures=chosen.disclosures,
        disclosure_window=None if chosen.disclosure_days is None else timedelta(days=chosen.disclosure_days),
        leeway=leeway,
    )
    places, longest = (f"{origin}/api/v1/delegations/",), timedelta(days=chosen.ibct_lifetime_days)
    return GenerateDelegatedProof(
        admit=CheckCapability(reader, places, leeway, longest),
        authority=FindDelegation(store.delegations),
        autonomy=autonomy,
        pose=PrepareProof(sealed_credentials, provers),
        make=MakeProof(provers, sealed_credentials, clock, secrets.token_bytes, policy),
        invocations=store.invocations,
        anchoring=opened.anchors,
        journal=ProofJournal(store.audit, store.timeline),
        clock=clock,
        policy=policy,
    )


def proof_handlers(opened: Runtime, sealed_credentials: SealedCredentials, autonomy: AutonomyTable) -> ProofHandlers:
    """The handlers of the tag ``proofs``."""
    store, clock = opened.store, opened.clock
    proofs, audit, timeline = store.proofs, store.audit, store.timeline
    issuers = IssuerKeys(opened.reader)
    check = CheckProof(opened.provers, issuers, store.credential_schemas)
    most = opened.settings.prover.anonymous_waiting
    check_anonymously = CheckAnonymously(CheckProof(opened.anonymous_verifier, issuers, store.credential_schemas), most)
    freshness = ChallengeUse(store.verifier_challenges)
    record = RecordVerification(store.verifications, timeline, audit)
    access = ProofAccess(proofs, store.verifier_challenges)
    status = ProofStatus(access, proofs, store.credentials, store.delegations)
    return ProofHandlers(
        reader=opened.reader,
        generate=_generate(opened, sealed_credentials, autonomy),
        received=VerifyProof(check, check_anonymously, freshness, proofs, status, record, clock),
        stored=VerifyStoredProof(check, freshness, proofs, status, record, clock),
        get=GetProof(access, audit, clock),
        revoke=RevokeProof(access, proofs, opened.anchors, timeline, audit, clock),
    )


def verification_handlers(opened: Runtime) -> VerificationHandlers:
    """The handlers of the tag ``verifications``."""
    store = opened.store
    return VerificationHandlers(
        challenge=CreateVerifierChallenge(store.verifier_challenges, opened.clock, secrets.token_bytes, LIFETIME),
        history=ListVerificationHistory(
            store.verifications, store.proofs, ProofAccess(store.proofs, store.verifier_challenges), opened.clock
        ),
        counts=GetVerificationStats(store.verifications),
    )
