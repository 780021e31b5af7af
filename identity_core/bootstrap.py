"""The one file that knows every room: settings → plugins → store → use cases → app.

The house is opened inside the server's event loop, in its lifespan, so that every port lives in the loop that uses it, and
a start that fails stops the server with one line.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from identity_core import __version__
from identity_core.codec import multikey
from identity_core.domain.autonomy import AutonomyTable
from identity_core.plugin.forks import copies_end_at_once
from identity_core.plugin.manager import PluginManager
from identity_core.ports.anchoring import Anchoring
from identity_core.ports.custodian import Custodian
from identity_core.ports.key_store import KeyStore, PreparedKeyStore, WritableKeyStore
from identity_core.ports.ledger import AnchoringLedger, LedgerBackend
from identity_core.ports.prover import ProofWorkers
from identity_core.ports.repositories import AuditLog
from identity_core.settings import Settings, StartError, load
from identity_core.store import Store
from identity_core.store.transparency import TransparencyTree
from identity_core.throttle.fallback import FallbackStorage
from identity_core.throttle.open import open_buckets
from identity_core.throttle.policy import Limit, Policy, parse_proxies
from identity_core.use_cases.anchoring.checkpoint import NewestCheckpoint
from identity_core.use_cases.anchoring.desk import AnchorDesk
from identity_core.use_cases.anchoring.follow import FollowBatches
from identity_core.use_cases.anchoring.journal import AnchorJournal
from identity_core.use_cases.anchoring.policy import AnchoringPolicy
from identity_core.use_cases.anchoring.revoke_leaves import RevokeLeaves
from identity_core.use_cases.anchoring.seal import SealBatch
from identity_core.use_cases.anchoring.worker import AnchorWorker
from identity_core.use_cases.api_keys.authenticate import AuthenticateApiKey, KnownKeys
from identity_core.use_cases.api_keys.change_stored import ChangeStored
from identity_core.use_cases.api_keys.create import CreateApiKey, NewApiKey
from identity_core.use_cases.api_keys.get import GetApiKey
from identity_core.use_cases.api_keys.list import ListApiKeys
from identity_core.use_cases.api_keys.revoke import RevokeApiKey
from identity_core.use_cases.api_keys.rotate import RotateApiKey
from identity_core.use_cases.api_keys.update import UpdateApiKey
from identity_core.use_cases.auth.authenticate_did import AuthenticateDid
from identity_core.use_cases.auth.get_challenge import GetDidAuthChallenge
from identity_core.use_cases.credentials.seal import CredentialSeal
from identity_core.use_cases.credentials.vault import CredentialVault
from identity_core.use_cases.delegations.access import DelegationAccess
from identity_core.use_cases.delegations.create import CreateDelegation
from identity_core.use_cases.delegations.get import GetDelegation
from identity_core.use_cases.delegations.journal import Journal
from identity_core.use_cases.delegations.list import ListDelegations
from identity_core.use_cases.delegations.resume import ResumeDelegation
from identity_core.use_cases.delegations.revoke import RevokeDelegation
from identity_core.use_cases.delegations.suspend import SuspendDelegation
from identity_core.use_cases.dids.catch_up import CatchUp, IndexRepair
from identity_core.use_cases.dids.create import CreateDid
from identity_core.use_cases.dids.deactivate import DeactivateDid
from identity_core.use_cases.dids.get_log import GetDidLog
from identity_core.use_cases.dids.list_history import ListDidHistory
from identity_core.use_cases.dids.list_owned import ListDids
from identity_core.use_cases.dids.reader import DidReader
from identity_core.use_cases.dids.recover import RecoverDid
from identity_core.use_cases.dids.resolve import ResolveDid
from identity_core.use_cases.dids.rotate_key import RotateDidKey
from identity_core.use_cases.dids.update import UpdateDid
from identity_core.use_cases.dids.writer import DidWriter, LogSigner
from identity_core.use_cases.events.list import ListEvents
from identity_core.use_cases.ibcts.revoke import RevokeIbct
from identity_core.use_cases.ledger.checkpoints import CheckpointSigner, GetLedgerCheckpoint
from identity_core.use_cases.ledger.project import LedgerFollower, ProjectLedger
from identity_core.use_cases.proofs.no_prover import NoProver

Asgi = Callable[[MutableMapping[str, Any], Callable[..., Any], Callable[..., Any]], Awaitable[None]]

LOG_KEY = "log"
ANSWERS_KEY = "answers"

log = logging.getLogger("identity")


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """See ``Clock``."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """See ``Clock``."""
        return monotonic()


@dataclass(frozen=True, slots=True)
class KeyDesk:
    """The use cases on API keys, for the admin operations and for the command line."""

    create: CreateApiKey
    list: ListApiKeys
    get: GetApiKey
    update: UpdateApiKey
    rotate: RotateApiKey
    revoke: RevokeApiKey


def _plugins(settings: Settings, clock: SystemClock) -> PluginManager:
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return PluginManager.load(settings, clock=clock, logger=log)


def _desk(stores: tuple[KeyStore, ...], known: KnownKeys, clock: SystemClock) -> KeyDesk:
    writable = next((store for store in stores if isinstance(store, WritableKeyStore)), None)
    if writable is None:
        raise StartError("no key store can be written: add sql to key_stores")
    change = ChangeStored(writable, known)
    return KeyDesk(
        create=CreateApiKey(writable, clock, secrets.token_bytes),
        list=ListApiKeys(writable),
        get=GetApiKey(writable),
        update=UpdateApiKey(change, clock),
        rotate=RotateApiKey(change, clock, secrets.token_bytes),
        revoke=RevokeApiKey(change, clock),
    )


@contextlib.asynccontextmanager
async def key_desk(settings: Settings) -> AsyncIterator[KeyDesk]:
    """The use cases on API keys, without a server around them."""
    clock = SystemClock()
    async with open_key_stores(settings) as stores:
        yield _desk(stores, KnownKeys(clock), clock)


@dataclass(frozen=True, slots=True)
class LogDesk:
    """The ledger and the transparency log over it, without a server around them."""

    ledger: LedgerBackend
    tree: TransparencyTree
    follower: LedgerFollower
    signer: CheckpointSigner


@contextlib.asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncIterator[LedgerBackend]:
    """The ledger, and nothing else. Raises ``StartError``."""
    plugins = _plugins(settings, SystemClock())
    try:
        yield plugins.ledger(settings.ledger.backend)
    finally:
        await plugins.close()


@contextlib.asynccontextmanager
async def log_desk(settings: Settings) -> AsyncIterator[LogDesk]:
    """Opens both, for the command line. Raises ``StartError``."""
    async with AsyncExitStack() as stack:
        plugins = _plugins(settings, SystemClock())
        stack.push_async_callback(plugins.close)
        ledger = plugins.ledger(settings.ledger.backend)
        custodian = plugins.custodian(settings.custodian.backend)
        store = Store.open(settings.data_dir, settings.database_url, processes=max(settings.server.workers, 2))
        stack.push_async_callback(store.close)
        yield await _open_log(settings, ledger, store, custodian)


async def _open_log(settings: Settings, ledger: LedgerBackend, store: Store, custodian: Custodian) -> LogDesk:
    follower = LedgerFollower(ProjectLedger(ledger, store.transparency))
    origin = settings.ledger.origin or f"{_origin(settings).partition('://')[2]}/api/v1/ledger"
    signer = await CheckpointSigner.open(custodian, origin)
    return LogDesk(ledger, store.transparency, follower, signer)


def _anchor_worker(settings: Settings, logged: LogDesk, store: Store) -> AnchorWorker | None:
    """What puts proofs on the ledger; None where that records no digests. Raises ``StartError``."""
    ledger, chosen, clock = logged.ledger, settings.anchoring, SystemClock()
    if not isinstance(ledger, AnchoringLedger):
        if chosen.enabled:
            raise StartError(f"anchoring.enabled is true, and the ledger {settings.ledger.backend} cannot anchor")
        return None
    policy = AnchoringPolicy(
        chosen.batch_size, timedelta(seconds=chosen.seal_seconds), chosen.attempts, chosen.retry_seconds
    )
    journal, checkpoint = AnchorJournal(store.audit), NewestCheckpoint(logged.follower, logged.signer.key.name)
    return AnchorWorker(
        store.outbox,
        SealBatch(store.outbox, ledger.anchor_ledger_name, checkpoint, clock, policy.batch_size),
        FollowBatches(store.outbox, ledger, journal, clock, policy),
        RevokeLeaves(store.outbox, ledger, journal, clock, policy.retry_seconds),
        clock,
        policy,
    )


@dataclass(frozen=True, slots=True)
class AnchorOffice:
    """The outbox and its worker, None where the ledger records no digests, without a server around them."""

    store: Store
    ledger: LedgerBackend
    worker: AnchorWorker | None


@contextlib.asynccontextmanager
async def anchor_office(settings: Settings) -> AsyncIterator[AnchorOffice]:
    """Opens both beside a running service, for the command line. Raises ``StartError``."""
    async with AsyncExitStack() as stack:
        plugins = _plugins(settings, SystemClock())
        stack.push_async_callback(plugins.close)
        ledger = plugins.ledger(settings.ledger.backend)
        custodian = plugins.custodian(settings.custodian.backend)
        store = Store.open(settings.data_dir, settings.database_url, processes=max(settings.server.workers, 2))
        stack.push_async_callback(store.close)
        logged = await _open_log(settings, ledger, store, custodian)
        yield AnchorOffice(store, ledger, _anchor_worker(settings, logged, store))


async def _vault(custodian: Custodian, store: Store) -> CredentialVault:
    """The credentials. Their values are sealed under a key that follows from one of the custodian's, so that the database alone
    opens nothing."""
    secret = hashlib.sha256(await custodian.sign(ANSWERS_KEY, b"identity: credentials at rest, v1")).digest()
    return CredentialVault(store.credentials, store.credential_schemas, CredentialSeal(secret, secrets.token_bytes))


def _credential_handlers(
    vault: CredentialVault,
    reader: DidReader,
    signer: LogSigner,
    store: Store,
    autonomy: AutonomyTable,
    base_url: str,
) -> Any:
    from identity_core.api.credentials import CredentialHandlers
    from identity_core.use_cases.credentials.access import CredentialAccess
    from identity_core.use_cases.credentials.create_schema import CreateCredentialSchema
    from identity_core.use_cases.credentials.get import GetCredential
    from identity_core.use_cases.credentials.get_schema import GetCredentialSchema
    from identity_core.use_cases.credentials.get_status_list import GetStatusList
    from identity_core.use_cases.credentials.import_signed import ImportCredential
    from identity_core.use_cases.credentials.intake import CredentialIntake
    from identity_core.use_cases.credentials.issue import IssueCredential
    from identity_core.use_cases.credentials.journal import CredentialJournal
    from identity_core.use_cases.credentials.list import ListCredentials
    from identity_core.use_cases.credentials.list_schemas import ListCredentialSchemas
    from identity_core.use_cases.credentials.set_status import SetCredentialStatus
    from identity_core.use_cases.credentials.signatures import SignatureChecks
    from identity_core.use_cases.credentials.verify import VerifyCredential
    from identity_core.use_cases.proofs.issuer_keys import IssuerKeys

    credentials, schemas, random, clock = vault.credentials, vault.schemas, secrets.token_bytes, reader.clock
    journal = CredentialJournal(store.audit, store.timeline)
    access = CredentialAccess(credentials, store.delegations, autonomy, clock)
    check = SignatureChecks()
    intake = CredentialIntake(reader, schemas, credentials, vault.seal, check, journal, clock, random)
    return CredentialHandlers(
        reader=reader,
        create_schema=CreateCredentialSchema(schemas, journal, clock, random),
        list_schemas=ListCredentialSchemas(schemas),
        get_schema=GetCredentialSchema(schemas),
        issue=IssueCredential(intake, signer.custodian),
        import_signed=ImportCredential(intake),
        list=ListCredentials(credentials, journal, clock),
        get=GetCredential(access, vault, journal, clock),
        set_status=SetCredentialStatus(access, credentials, journal, clock),
        verify=VerifyCredential(schemas, credentials, IssuerKeys(reader), check, clock, base_url),
        status_list=GetStatusList(credentials, signer, base_url),
        base_url=base_url,
    )


def _verification_handlers(
    reader: DidReader, provers: ProofWorkers, store: Store, anchors: AnchorDesk | None
) -> tuple[Any, ...]:
    """Verification, stored proofs, history, timeline and audit log."""
    from identity_core.api.audit import AuditHandlers
    from identity_core.api.dashboard import DashboardHandlers
    from identity_core.api.proof_checks import ProofCheckHandlers
    from identity_core.api.verifications import VerificationHandlers
    from identity_core.use_cases.audit.list import ListAuditLines
    from identity_core.use_cases.dashboard.timeline import GetDashboardTimeline
    from identity_core.use_cases.proofs.access import ProofAccess
    from identity_core.use_cases.proofs.check import CheckProof
    from identity_core.use_cases.proofs.freshness import LIFETIME, CreateVerifierChallenge, Freshness
    from identity_core.use_cases.proofs.get import GetProof
    from identity_core.use_cases.proofs.issuer_keys import IssuerKeys
    from identity_core.use_cases.proofs.recording import RecordVerification
    from identity_core.use_cases.proofs.revoke import RevokeProof
    from identity_core.use_cases.proofs.verify_received import VerifyReceivedProof
    from identity_core.use_cases.proofs.verify_stored import VerifyStoredProof
    from identity_core.use_cases.verifications.list import CountVerifications, ListVerifications

    clock, proofs, audit, timeline = reader.clock, store.proofs, store.audit, store.timeline
    check = CheckProof(provers, IssuerKeys(reader))
    freshness = Freshness(store.verifier_challenges)
    record = RecordVerification(store.verifications, timeline, audit)
    access = ProofAccess(proofs)
    credentials, delegations = store.credentials, store.delegations
    return (
        ProofCheckHandlers(
            received=VerifyReceivedProof(check, freshness, proofs, record, clock),
            stored=VerifyStoredProof(check, freshness, proofs, credentials, delegations, record, clock),
            get=GetProof(access, audit, clock),
            revoke=RevokeProof(access, proofs, anchors, timeline, audit, clock),
        ),
        VerificationHandlers(
            challenge=CreateVerifierChallenge(store.verifier_challenges, clock, secrets.token_bytes, LIFETIME),
            history=ListVerifications(store.verifications),
            counts=CountVerifications(store.verifications),
        ),
        DashboardHandlers(GetDashboardTimeline(timeline)),
        AuditHandlers(ListAuditLines(audit)),
    )


def _delegated_proof_handlers(
    settings: Settings,
    vault: CredentialVault,
    reader: DidReader,
    provers: ProofWorkers,
    store: Store,
    autonomy: AutonomyTable,
    anchoring: Anchoring | None,
) -> Any:
    from identity_core.api.delegated_proofs import DelegatedProofHandlers
    from identity_core.use_cases.proofs.admission import AdmitCapability
    from identity_core.use_cases.proofs.authority import FindAuthority
    from identity_core.use_cases.proofs.generate_delegated import GenerateDelegatedProof
    from identity_core.use_cases.proofs.journal import ProofJournal
    from identity_core.use_cases.proofs.make import MakeProof, ProofPolicy
    from identity_core.use_cases.proofs.question import PoseQuestion

    origin, chosen, clock = _origin(settings), settings.proof, reader.clock
    leeway = timedelta(seconds=settings.delegation.clock_leeway_seconds)
    policy = ProofPolicy(
        audience=origin,
        lifetime=timedelta(seconds=chosen.lifetime_seconds),
        shows_agent=chosen.shows_agent,
        disclosures=chosen.disclosures,
        disclosure_window=timedelta(days=chosen.disclosure_days),
        leeway=leeway,
    )
    places, longest = (f"{origin}/api/v1/delegations/",), timedelta(days=chosen.ibct_lifetime_days)
    generate = GenerateDelegatedProof(
        admit=AdmitCapability(reader, store.delegations, places, leeway, longest),
        authority=FindAuthority(store.delegations),
        autonomy=autonomy,
        pose=PoseQuestion(vault, provers),
        make=MakeProof(provers, clock, secrets.token_bytes, policy),
        invocations=store.invocations,
        anchoring=anchoring,
        journal=ProofJournal(store.audit, store.timeline),
        clock=clock,
        policy=policy,
    )
    return DelegatedProofHandlers(reader, generate)


def _ledger_handlers(desk: LogDesk, *, bundles: bool) -> Any:
    from identity_core.api.ledger import LedgerHandlers
    from identity_core.use_cases.ledger.entries import GetLedgerBlock, GetLedgerTransaction
    from identity_core.use_cases.ledger.get_tile import GetLedgerTile
    from identity_core.use_cases.ledger.prove import ProveConsistency, ProveInclusion

    ledger, tree, follower, signer = desk.ledger, desk.tree, desk.follower, desk.signer
    transaction = GetLedgerTransaction(ledger, tree, follower)
    return LedgerHandlers(
        key=signer.key,
        transaction=transaction,
        block=GetLedgerBlock(ledger),
        checkpoint=GetLedgerCheckpoint(follower, signer),
        tile=GetLedgerTile(ledger, tree, follower, bundles),
        inclusion=ProveInclusion(tree, follower, signer, transaction),
        consistency=ProveConsistency(tree, follower),
    )


@contextlib.asynccontextmanager
async def open_key_stores(settings: Settings) -> AsyncIterator[tuple[KeyStore, ...]]:
    """The stores of API keys, and nothing else."""
    plugins = _plugins(settings, SystemClock())
    try:
        yield plugins.key_stores(settings.key_stores)
    finally:
        await plugins.close()


@contextlib.asynccontextmanager
async def audit_log(settings: Settings) -> AsyncIterator[AuditLog]:
    """The audit log beside a running service, and nothing else."""
    store = Store.open(settings.data_dir, settings.database_url, processes=max(settings.server.workers, 2))
    try:
        yield store.audit
    finally:
        await store.close()


@dataclass(frozen=True, slots=True)
class House:
    """An open installation: the application, the key desk, and the stores of API keys."""

    app: Asgi
    keys: KeyDesk
    stores: tuple[KeyStore, ...]

    async def first_key(self) -> str | None:
        """The text of a first API key, made when no store has any; None when one has."""
        if await has_api_keys(self.stores):
            return None
        minted = await self.keys.create(NewApiKey("first", None))
        return minted.text


async def has_api_keys(stores: tuple[KeyStore, ...]) -> bool:
    """Whether any store has a key, as far as stores can tell."""
    for store in stores:
        if isinstance(store, WritableKeyStore):
            if await store.list(after=None, limit=1):
                return True
        elif isinstance(store, PreparedKeyStore) and store.configured:
            return True
    return False


@contextlib.asynccontextmanager
async def open_house(settings: Settings) -> AsyncIterator[House]:
    """Builds every room, brings the index up to the ledger, and closes all in reverse order. Raises ``StartError``."""
    # Here and not above: importing the edge takes longer than most commands that have no use for it.
    from identity_core.api.anchoring_metrics import AnchoringMetrics
    from identity_core.api.api_keys import ApiKeyHandlers
    from identity_core.api.app import build_app
    from identity_core.api.auth import AuthHandlers
    from identity_core.api.contract import ContractError, load_document
    from identity_core.api.delegations import DelegationHandlers
    from identity_core.api.dids import DidHandlers
    from identity_core.api.dids_cache import AnswerCache
    from identity_core.api.events import EventHandlers
    from identity_core.api.guard import request_ids
    from identity_core.api.idempotency import Idempotency
    from identity_core.api.metadata import metadata_pages
    from identity_core.api.metrics import Metrics
    from identity_core.api.plugin_metrics import PluginMetrics
    from identity_core.api.refusals import AuditRefusals
    from identity_core.api.security import DOCUMENT_SCHEMES, Gate
    from identity_core.api.service import ServiceHandlers
    from identity_core.use_cases.auth.authenticate_bearer import AuthenticateBearer
    from identity_core.use_cases.auth.issue_token import IssueToken
    from identity_core.use_cases.auth.token_keys import TokenKeys

    clock = SystemClock()
    origin = _origin(settings)
    async with AsyncExitStack() as stack:
        plugins = _plugins(settings, clock)
        stack.push_async_callback(plugins.close)
        stack.enter_context(copies_end_at_once())
        prover = settings.prover
        # First, because its processes start while the rest is built.
        provers = plugins.proof_workers(
            prover.backend, workers=prover.workers, deadline_seconds=prover.deadline_seconds
        )
        methods = plugins.did_methods()
        ledger = plugins.ledger(settings.ledger.backend)
        stores = plugins.key_stores(settings.key_stores)
        custodian = plugins.custodian(settings.custodian.backend)
        store = Store.open(settings.data_dir, settings.database_url, processes=settings.server.workers)
        stack.push_async_callback(store.close)
        catch_up = CatchUp(methods, ledger, store.documents)
        await catch_up()
        repair = IndexRepair(catch_up)
        repair.begin()
        stack.push_async_callback(repair.close)
        public = await custodian.generate(LOG_KEY, multikey.ED25519, did="-", purpose=LOG_KEY)
        await custodian.generate(ANSWERS_KEY, multikey.ED25519, did="-", purpose=ANSWERS_KEY)
        # Ed25519 is deterministic: all processes derive the same secret, and the key itself never leaves the custodian.
        answers_secret = hashlib.sha256(await custodian.sign(ANSWERS_KEY, b"identity: stored answers, v1")).digest()

        logged = await _open_log(settings, ledger, store, custodian)
        logged.follower.begin()
        stack.push_async_callback(logged.follower.close)
        anchorer, anchors = _anchor_worker(settings, logged, store), None
        if anchorer is not None:
            enabled = settings.anchoring.enabled is not False
            anchors = AnchorDesk(store.outbox, enabled, anchorer.called, anchorer.news)
            # Also while new anchors are refused: what was asked for before is brought to its end.
            if settings.anchoring.worker:
                anchorer.begin()
                stack.push_async_callback(anchorer.close)
        buckets = open_buckets(
            settings.throttle,
            settings.data_dir,
            settings.database_url,
            settings.server.workers,
            monotonic=clock.monotonic,
            logger=log,
        )
        stack.push_async_callback(buckets.close)
        known = KnownKeys(clock)
        desk = _desk(stores, known, clock)
        reader = DidReader(methods, store.documents, clock)
        signer = LogSigner(custodian, LOG_KEY, public)
        hourly = settings.did.writes_per_hour
        writer = DidWriter(reader, methods, ledger, store.documents, store.audit, signer, clock, hourly)
        visible = settings.history.after_deactivation == "visible"
        random = secrets.token_bytes
        resolve = ResolveDid(reader)
        dids = DidHandlers(
            reader=reader,
            create=CreateDid(methods, writer, custodian, clock, random),
            resolve=resolve,
            update=UpdateDid(writer),
            deactivate=DeactivateDid(writer),
            rotate=RotateDidKey(writer, custodian, random),
            recover=RecoverDid(writer, random),
            history=ListDidHistory(reader, visible),
            log=GetDidLog(reader, ledger, visible),
            owned=ListDids(store.documents),
            cache=AnswerCache(store.documents, clock),
        )
        vault = await _vault(custodian, store)
        access = DelegationAccess(store.delegations)
        journal = Journal(store.audit, store.timeline)
        autonomy = _autonomy(settings)
        longest_life = timedelta(days=settings.delegation.max_lifetime_days)
        leeway = timedelta(seconds=settings.delegation.clock_leeway_seconds)
        delegations = DelegationHandlers(
            reader=reader,
            create=CreateDelegation(reader, access, journal, clock, random, autonomy, longest_life),
            list=ListDelegations(store.delegations, clock),
            get=GetDelegation(access, clock),
            revoke=RevokeDelegation(access, journal, clock),
            suspend=SuspendDelegation(access, journal, clock),
            resume=ResumeDelegation(access, journal, clock),
            ibct=RevokeIbct(store.delegations, journal, clock, longest_life, leeway),
        )
        challenge = GetDidAuthChallenge(
            reader,
            store.challenges,
            clock,
            random,
            origin,
            timedelta(seconds=settings.challenge.lifetime_seconds),
            settings.challenge.cap,
        )
        token_keys = await TokenKeys.open(custodian, settings.token.key_number)
        lifetime = settings.token.lifetime_seconds
        issue = IssueToken(reader, custodian, token_keys, store.audit, clock, random, origin, lifetime)
        api_keys = AuthenticateApiKey(stores, known, clock)
        gate = Gate(
            reader=reader,
            api_keys=api_keys,
            signatures=AuthenticateDid(reader, store.challenges, clock, origin),
            bearers=AuthenticateBearer(reader, api_keys, token_keys, clock, plugins.verify_bearer, origin),
            policy=_policy(settings, buckets),
            trusted_proxies=parse_proxies(settings.server.trusted_proxies),
        )
        await plugins.proof_workers_settled()
        shared_metrics = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        measured = Metrics(shared=shared_metrics)
        limiter = buckets if isinstance(buckets, FallbackStorage) else None
        figures = PluginMetrics(measured.registry, plugins.in_use, limiter)
        measured.before_render(figures.copy)
        anchoring = None
        if anchorer is not None:
            anchoring = AnchoringMetrics(measured.registry, anchorer.follow.journal.figures)
            measured.before_render(anchoring.copy)
        if shared_metrics is not None:
            for copied in (figures, anchoring):
                if copied is not None:
                    stack.callback(asyncio.create_task(copied.keep_copying()).cancel)
        service = ServiceHandlers(
            _version(), _probes(ledger, store, plugins, limiter, anchorer), plugins.in_use, measured
        )
        try:
            app = build_app(
                load_document(),
                (
                    dids,
                    AuthHandlers(reader, challenge, issue, token_keys),
                    EventHandlers(ListEvents(store.documents)),
                    _ledger_handlers(logged, bundles=visible),
                    service,
                    delegations,
                    _credential_handlers(vault, reader, signer, store, autonomy, f"{origin}/api/v1"),
                    _delegated_proof_handlers(settings, vault, reader, provers or NoProver(), store, autonomy, anchors),
                    *_verification_handlers(reader, provers or NoProver(), store, anchors),
                    ApiKeyHandlers(
                        desk.create, desk.list, desk.get, desk.update, desk.rotate, desk.revoke, store.audit, clock
                    ),
                ),
                gate=gate,
                around=Idempotency(store.idempotency, clock, answers_secret, random),
                refusals=AuditRefusals(store.audit, clock),
                schemes=DOCUMENT_SCHEMES,
                observe=measured.observe,
                identify=request_ids(secrets.token_hex(4)),
                monotonic=clock.monotonic,
                lifespan=None,
                pages=metadata_pages(origin),
                limit=settings.server.max_requests_in_flight,
                max_body=settings.server.max_body_bytes,
                body_seconds=settings.server.body_timeout_seconds,
                validate=False,
            )
        except ContractError as error:
            raise StartError(str(error)) from error
        yield House(app, desk, stores)


def _policy(settings: Settings, buckets: Any) -> Policy:
    throttle = settings.throttle
    return Policy(
        buckets,
        key=Limit("key", throttle.key_per_second, throttle.key_burst),
        address=Limit("address", throttle.address_per_second, throttle.address_burst),
        challenge=Limit("challenge", throttle.challenge_per_second, throttle.challenge_burst),
    )


def _autonomy(settings: Settings) -> AutonomyTable:
    chosen = settings.delegation
    return AutonomyTable(
        metadata=chosen.autonomy_metadata,
        pinned=chosen.autonomy_pinned,
        chosen=chosen.autonomy_chosen,
        anchor=chosen.autonomy_anchor,
        delegate=chosen.autonomy_delegate,
        ceiling=chosen.autonomy_ceiling,
    )


def _origin(settings: Settings) -> str:
    return settings.server.public_url or f"http://{settings.server.host}:{settings.server.port}"


def _version() -> Mapping[str, str]:
    return {"version": __version__, "interface": "1.0.0", "python": sys.version.split()[0]}


def _probes(
    ledger: Any,
    store: Store,
    plugins: PluginManager,
    limiter: FallbackStorage | None,
    anchorer: AnchorWorker | None,
) -> Mapping[str, Callable[[], Awaitable[str]]]:
    async def ledger_answers() -> str:
        await ledger.head()
        return "ok"

    async def store_answers() -> str:
        await store.documents.cursor()
        return "ok"

    async def plugins_work() -> str:
        # What waits for settings was not asked for.
        return "ok" if all(one.state in ("active", "available") for one in plugins.in_use().values()) else "degraded"

    async def limits_are_shared() -> str:
        return "ok" if limiter is None or not limiter.degraded else "degraded"

    async def anchors_get_on() -> str:
        return "degraded" if anchorer is not None and anchorer.fault else "ok"

    return {
        "ledger": ledger_answers,
        "store": store_answers,
        "plugins": plugins_work,
        "limits": limits_are_shared,
        "anchoring": anchors_get_on,
    }


class Application:
    """The ASGI application that a worker runs: opens the house at start-up, closes it at shutdown, passes requests on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._house: House | None = None

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Lives through the lifespan; passes every request to the house."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._house is not None:
            await self._house.app(scope, receive, send)

    async def _live(self, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                self._house = await stack.enter_async_context(open_house(self._settings))
            except StartError as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def application() -> Asgi:
    """The factory that the server calls in each worker; the environment says everything."""
    return Application(load())
