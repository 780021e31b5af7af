"""Construction of the handlers of the tags: each operation's use case with its ports."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from identity_core.api.caching import AnswerCache
from identity_core.api.credentials import CredentialHandlers
from identity_core.api.delegations import DelegationHandlers
from identity_core.api.dids import DidHandlers
from identity_core.api.proofs import ProofHandlers
from identity_core.bootstrap.ports import origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.delegations.delegation import AutonomyTable
from identity_core.ports.proofs import Anchoring
from identity_core.ports.suites import ProofSuite, ProofSuites
from identity_core.use_cases.credentials.issue import CredentialIntake, ImportCredential, IssueCredential
from identity_core.use_cases.credentials.read import CredentialAccess, GetCredential, ListCredentials
from identity_core.use_cases.credentials.schemas import (
    CreateCredentialSchema,
    GetCredentialSchema,
    ListCredentialSchemas,
)
from identity_core.use_cases.credentials.sealed import SealedCredentials
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_core.use_cases.credentials.status import GetStatusList, SetCredentialStatus
from identity_core.use_cases.delegations.change import (
    DeleteDelegation,
    ResumeDelegation,
    RevokeDelegation,
    RevokeIbct,
    SuspendDelegation,
)
from identity_core.use_cases.delegations.create import CreateDelegation
from identity_core.use_cases.delegations.read import DelegationAccess, GetDelegation, ListDelegations
from identity_core.use_cases.dids.change import DeactivateDid, RecoverDid, RotateDidKey, UpdateDid
from identity_core.use_cases.dids.commit import DidWriter
from identity_core.use_cases.dids.create import CreateDid
from identity_core.use_cases.dids.read import GetDidLog, ListDidHistory, ListDids, ResolveDid
from identity_core.use_cases.proofs.generate import CreateDelegatedPresentation, GenerateDelegatedProof
from identity_core.use_cases.proofs.steps import ProofPolicy
from identity_core.use_cases.proofs.suite_1 import SuiteOne
from identity_core.use_cases.record import Record
from identity_core.use_cases.transparency import LogPlaces, WitnessApprovals


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


def did_handlers(opened: Runtime, places: LogPlaces, approvals: WitnessApprovals) -> DidHandlers:
    """Return the handlers of the tag ``dids``."""
    reader, ledger, store, clock = opened.reader, opened.reader.check.ledger, opened.store, opened.clock
    methods, custodian, random = reader.methods, opened.custodian, secrets.token_bytes
    hourly = opened.settings.did.writes_per_hour
    writer = DidWriter(reader, methods, ledger, store.documents, opened.signer, clock, hourly)
    resolve, cache = ResolveDid(reader, places.place), AnswerCache(store.documents, clock, places.size)
    return DidHandlers(
        reader=reader,
        create=CreateDid(methods, writer, custodian, clock, random, approvals),
        resolve=resolve,
        update=UpdateDid(writer, approvals),
        deactivate=DeactivateDid(writer),
        rotate=RotateDidKey(writer, custodian, random),
        recover=RecoverDid(writer, random),
        history=ListDidHistory(reader, opened.settings.history.after_deactivation == "visible"),
        log=GetDidLog(reader, ledger, opened.settings.log.after_deactivation == "visible"),
        owned=ListDids(store.documents),
        cache=cache,
    )


def delegation_handlers(opened: Runtime, autonomy: AutonomyTable) -> DelegationHandlers:
    """Return the handlers of the tag ``delegations``."""
    reader, store, clock, chosen = opened.reader, opened.store, opened.clock, opened.settings.delegation
    access = DelegationAccess(store.delegations)
    record = Record(store.activity)
    longest_life = timedelta(days=chosen.max_lifetime_days)
    leeway = timedelta(seconds=chosen.clock_leeway_seconds)
    revoke = RevokeDelegation(access, record, clock)
    return DelegationHandlers(
        create=CreateDelegation(reader, access, record, clock, secrets.token_bytes, autonomy, longest_life),
        list=ListDelegations(reader, store.delegations, clock),
        get=GetDelegation(access, clock),
        revoke=revoke,
        delete=DeleteDelegation(revoke),
        suspend=SuspendDelegation(access, record, clock),
        resume=ResumeDelegation(access, record, clock),
        ibct=RevokeIbct(reader, store.delegations, record, clock, longest_life, leeway),
    )


def credential_handlers(
    opened: Runtime, suites: ProofSuites, sealed_credentials: SealedCredentials, autonomy: AutonomyTable
) -> CredentialHandlers:
    """Return the handlers of the tag ``credentials``."""
    reader, store, clock, random = opened.reader, opened.store, opened.clock, secrets.token_bytes
    credentials, schemas = sealed_credentials.credentials, sealed_credentials.schemas
    base_url = f"{origin_of(opened.settings)}/api/v1"
    record = Record(store.activity)
    access = CredentialAccess(credentials, store.delegations, autonomy, clock)
    seal, bound_format = sealed_credentials.seal, suites[2].format
    intake = CredentialIntake(reader, schemas, credentials, seal, SignatureChecks(), suites, record, clock, random)
    return CredentialHandlers(
        create_schema=CreateCredentialSchema(schemas, record, clock, random, f"{base_url}/dids/"),
        list_schemas=ListCredentialSchemas(schemas),
        get_schema=GetCredentialSchema(schemas),
        issue=IssueCredential(intake, opened.custodian),
        import_signed=ImportCredential(intake),
        list=ListCredentials(reader, credentials, record, clock),
        get=GetCredential(access, sealed_credentials, record, clock),
        set_status=SetCredentialStatus(access, credentials, record, clock),
        status_list=GetStatusList(credentials, opened.signer, base_url),
        base_url=base_url,
        bound_format=bound_format,
    )


class PageTags(Struct, frozen=True):
    """The handlers of the tags that share credentials, delegations and proofs."""

    dids: DidHandlers
    delegations: DelegationHandlers
    credentials: CredentialHandlers
    proofs: ProofHandlers


def page_tags(
    opened: Runtime, early: Mapping[type[Any], Any], sealed_credentials: SealedCredentials, autonomy: AutonomyTable
) -> PageTags:
    """Return the handlers for this installation. ``early``: the services of the parts that were opened before."""
    suites: ProofSuites = {1: SuiteOne(opened.provers, opened.custodian), 2: early[ProofSuite]}
    making = _generate(opened, suites, sealed_credentials, autonomy, early[Anchoring])
    return PageTags(
        dids=did_handlers(opened, early[LogPlaces], early[WitnessApprovals]),
        delegations=delegation_handlers(opened, autonomy),
        credentials=credential_handlers(opened, suites, sealed_credentials, autonomy),
        proofs=ProofHandlers(making, CreateDelegatedPresentation(making)),
    )
