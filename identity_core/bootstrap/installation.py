"""An open installation: every port, what runs beside the requests, and the application.

An installation is opened inside the server's event loop, in its lifespan, so that every port lives in the loop that uses it, and
a start that fails stops the server with one line. ``Application`` is that lifespan, ``application`` what a worker of the server calls.
"""

from __future__ import annotations

import contextlib
import gc
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from identity_core.bootstrap.beside import (
    ApiKeyAdministration,
    TransparencyLog,
    anchor_worker,
    followed,
    has_api_keys,
    tagged_keys,
    with_tagged,
)
from identity_core.bootstrap.ports import (
    SystemClock,
    answers_secret,
    challenge_secret,
    fingerprints,
    load_plugins,
    log,
    make_own_keys,
    open_store,
)
from identity_core.bootstrap.runtime import Runtime
from identity_core.bootstrap.servers import require_database, tell_limits
from identity_core.bootstrap.storage import check_of, require_own_key, told_at_start, watch_over
from identity_core.bootstrap.witnesses import feed_witnesses
from identity_core.domain.activity import SERVICE, RequestContext
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.processes.confine import copies_end_at_once, leave_no_core
from identity_core.ports.custodian import Custodian
from identity_core.ports.key_store import KeyStore
from identity_core.ports.prover import ProofWorkers
from identity_core.ports.retention import KINDS
from identity_core.settings import Settings, StartError, load
from identity_core.store import Store
from identity_core.store.requests import StoredIdempotencyKeys
from identity_core.throttle.fallback import open_buckets
from identity_core.throttle.token_bucket import TokenBucketStorage
from identity_core.use_cases.anchoring.request import ProofAnchoring
from identity_core.use_cases.anchoring.worker import AnchorWorker
from identity_core.use_cases.api_keys.authenticate import ApiKeyCache
from identity_core.use_cases.api_keys.tagged import KeyStoreWatch, TaggedKeys
from identity_core.use_cases.auth.challenge import ForgetExpired
from identity_core.use_cases.credentials.status_gaps import PublishStatusGaps
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import CatchUp, DidReader, IndexRepair
from identity_core.use_cases.dids.index_audit import IndexAudit, RecordSuspicions
from identity_core.use_cases.dids.log_keys import FollowServiceLog, KeepGenerations, LogSigner
from identity_core.use_cases.ledger.storage import WatchStorage
from identity_core.use_cases.proofs.check import NoProver
from identity_core.use_cases.record import Record
from identity_core.use_cases.records import SweepRecords
from identity_core.wire import CreateApiKeyRequest

OBJECTS_BETWEEN_COLLECTIONS = 50_000

Asgi = Callable[[MutableMapping[str, Any], Callable[..., Any], Callable[..., Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Installation:
    """An open installation: the application, the administration of API keys, and the stores of API keys."""

    app: Asgi
    keys: ApiKeyAdministration
    stores: tuple[KeyStore, ...]

    async def first_key(self) -> str | None:
        """The text of a first API key, made when no store has any; None when one has."""
        if await has_api_keys(self.stores):
            return None
        minted = await self.keys.create(
            CreateApiKeyRequest(name="first", admin=True), RequestContext("createApiKey", SERVICE)
        )
        return minted.text


@contextlib.asynccontextmanager
async def open_installation(settings: Settings) -> AsyncIterator[Installation]:
    """Builds every room, brings the index up to the ledger, and closes all in reverse order. Raises ``StartError``."""
    # Keys and credentials pass through this process.
    leave_no_core()
    async with AsyncExitStack() as stack:
        with _collecting_rarely():
            # Here and not above: importing the edge takes longer than most commands that have no use for it.
            from identity_core.bootstrap.app import open_app

            require_database(settings)
            with told_at_start(settings):
                opened = await _open(settings, stack)
            app = await open_app(opened, stack)
        yield Installation(app, opened.keys, opened.key_stores)


@contextlib.contextmanager
def _collecting_rarely() -> Iterator[None]:
    """With a garbage collector that seldom looks: what a start makes is there to stay, and walking through it again and again is a
    tenth of the start. It is not switched off, because a lost index is folded anew in here."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def _open(settings: Settings, stack: AsyncExitStack) -> Runtime:
    clock = SystemClock()
    plugins = load_plugins(settings, clock)
    stack.push_async_callback(plugins.close)
    provers, strangers = _start_provers(plugins, settings, stack)
    methods, key_stores = plugins.did_methods(), plugins.key_stores(settings.key_stores)
    ledger, custodian = plugins.ledger(settings.ledger.backend), plugins.custodian(settings.custodian.backend)
    await require_own_key(settings, custodian)
    signer = await make_own_keys(custodian)
    store = await _open_store(settings, custodian, stack)
    check = HeadCheck(methods, ledger, store.documents, store.quarantine)
    follow, repair, suspicions = await _keep_index(settings, signer, check, store, stack)
    await _forget_expired(settings, store, clock, stack)
    logged = await TransparencyLog.over(settings, ledger, store, custodian)
    watch = await _keep_watch(settings, logged, store, stack)
    feeder = await feed_witnesses(settings, logged, store, clock, stack)
    anchorer, anchors = await _begin_anchoring(settings, logged, store, stack)
    publisher = await _publish_gaps(store, custodian, clock, stack)
    watch.hold_up(repair, suspicions, anchorer, feeder, publisher)
    known_keys = ApiKeyCache(clock)
    keys, fingerprint = tagged_keys(key_stores, store, clock), await fingerprints(custodian)
    return Runtime(
        settings=settings,
        clock=clock,
        plugins=plugins,
        provers=provers,
        anonymous_verifier=strangers,
        custodian=custodian,
        store=store,
        reader=DidReader(methods, store.documents, clock, check, settings.did.registered_callers),
        suspicions=suspicions,
        follow=follow,
        answers_secret=await answers_secret(custodian),
        challenge_secret=await challenge_secret(custodian),
        fingerprint=fingerprint,
        logged=logged,
        watch=watch,
        feeder=feeder,
        anchorer=anchorer,
        anchors=anchors,
        publisher=publisher,
        buckets=await _open_buckets(settings, clock, stack),
        key_stores=with_tagged(key_stores, keys),
        known_keys=known_keys,
        keys=ApiKeyAdministration.over(keys, known_keys, Record(store.activity), fingerprint),
        key_watch=await _watch_keys(keys, stack),
    )


def _start_provers(
    plugins: PluginManager, settings: Settings, stack: AsyncExitStack
) -> tuple[ProofWorkers, ProofWorkers]:
    """The workers of known callers, and the one of strangers. First of all, because processes start while the rest is built."""
    stack.enter_context(copies_end_at_once())
    prover = settings.prover
    known = plugins.proof_workers(prover.backend, workers=prover.workers, deadline_seconds=prover.deadline_seconds)
    strangers = plugins.anonymous_verifier(prover.backend, deadline_seconds=prover.deadline_seconds)
    return known or NoProver(), strangers or NoProver()


async def _open_store(settings: Settings, custodian: Custodian, stack: AsyncExitStack) -> Store:
    store = await open_store(settings, custodian, processes=settings.server.workers)
    stack.push_async_callback(store.close)
    store.idempotency = StoredIdempotencyKeys(
        store.database, retention=timedelta(hours=settings.retention.idempotency_hours)
    )
    return store


async def _keep_index(
    settings: Settings, signer: LogSigner, check: HeadCheck, store: Store, stack: AsyncExitStack
) -> tuple[FollowServiceLog, IndexRepair, RecordSuspicions]:
    """Brings the index up to the ledger, if that is the one that it was made from, holds some of it against the ledger, and keeps it
    there. What is withheld is in the suspicions."""
    storage = check_of(check.ledger, store)
    await storage.caught_up()
    await storage.projections()
    # Which keys are retired is known before anything of theirs is looked at.
    follow = await followed(signer, check.ledger, store, check)
    catch_up = CatchUp(check.methods, check.ledger, store.documents, check)
    await catch_up()
    audit = IndexAudit(check, check.ledger, store.index_rows, store.quarantine, Record(store.activity), SystemClock())
    await audit.seal()
    await audit.sample(settings.ledger.sample, secrets.randbelow)
    suspicions = RecordSuspicions(audit)
    await suspicions.step()
    repair = IndexRepair(catch_up)
    await stack.enter_async_context(repair)
    await stack.enter_async_context(suspicions)
    await stack.enter_async_context(KeepGenerations(follow))
    return follow, repair, suspicions


async def _keep_watch(settings: Settings, logged: TransparencyLog, store: Store, stack: AsyncExitStack) -> WatchStorage:
    """Holds the databases against what is remembered of them; from then on they are watched, and the log follows the ledger."""
    watch = await watch_over(settings, logged, store, SystemClock())
    await stack.enter_async_context(watch)
    await stack.enter_async_context(logged.follower)
    return watch


async def _watch_keys(keys: TaggedKeys, stack: AsyncExitStack) -> KeyStoreWatch:
    """Looks through the key store, now and from then on."""
    watch = KeyStoreWatch(keys)
    await watch.guarded()
    return await stack.enter_async_context(watch)


async def _forget_expired(settings: Settings, store: Store, clock: SystemClock, stack: AsyncExitStack) -> None:
    """Deletes what has expired, and what is kept for a time, as long as the process lives."""
    proof_lifetime = timedelta(seconds=settings.proof.lifetime_seconds)
    forgetting = ForgetExpired(
        store.spent_challenges, store.verifier_challenges, proof_lifetime, store.idempotency, store.usage, clock
    )
    await stack.enter_async_context(forgetting)
    days = {kind: getattr(settings.retention, f"{kind}_days") for kind in KINDS}
    kept = {kind: timedelta(days=number) for kind, number in days.items() if number is not None}
    await stack.enter_async_context(SweepRecords(store.retention, kept, clock, clock.monotonic))


async def _begin_anchoring(
    settings: Settings, logged: TransparencyLog, store: Store, stack: AsyncExitStack
) -> tuple[AnchorWorker | None, ProofAnchoring | None]:
    """The worker, at work where the settings want it, and what asks it."""
    anchorer = anchor_worker(settings, logged, store)
    if anchorer is None:
        return None, None
    # Also while new anchors are refused: what was asked for before is brought to its end.
    if settings.anchoring.worker:
        await stack.enter_async_context(anchorer)
    enabled = settings.anchoring.enabled is not False
    return anchorer, ProofAnchoring(store.outbox, enabled, anchorer.called, anchorer.news)


async def _publish_gaps(
    store: Store, custodian: Custodian, clock: SystemClock, stack: AsyncExitStack
) -> PublishStatusGaps:
    """Makes the lists of revoked handles of each epoch, as long as the process lives."""
    return await stack.enter_async_context(PublishStatusGaps(store.status_gaps, custodian, clock))


async def _open_buckets(settings: Settings, clock: SystemClock, stack: AsyncExitStack) -> TokenBucketStorage:
    buckets = open_buckets(
        settings.throttle,
        settings.data_dir,
        settings.database_url,
        settings.server.workers,
        monotonic=clock.monotonic,
        logger=log,
    )
    stack.push_async_callback(buckets.close)
    await tell_limits(settings, buckets)
    return buckets


class Application:
    """The ASGI application that a worker runs: opens the installation at start-up, closes it at shutdown, passes requests on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._installation: Installation | None = None

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Lives through the lifespan; passes every request on."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._installation is not None:
            await self._installation.app(scope, receive, send)

    async def _live(self, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                self._installation = await stack.enter_async_context(open_installation(self._settings))
            except StartError as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def application() -> Asgi:
    """The factory that the server calls in each worker; the environment says everything."""
    return Application(load())
