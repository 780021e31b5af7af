"""An open installation: every port, the background jobs, and the application.

An installation is opened inside the server's event loop, in its lifespan, so that every port belongs to the loop that
uses it. A failing start stops the server with one line. ``Application`` is that lifespan.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import AsyncExitStack
from typing import Any, Final

from msgspec import Struct

from identity_core.bootstrap.ports import (
    SystemClock,
    answers_secret,
    challenge_secret,
    convert_storage_faults,
    fingerprints,
    load_plugins,
    log,
    make_own_keys,
    open_store,
)
from identity_core.bootstrap.runtime import Runtime, begin_jobs
from identity_core.database import DatabaseUnavailable, look_at
from identity_core.domain.activity import SERVICE, RequestContext
from identity_core.domain.callers import ApiKey, digest_of, mint_key
from identity_core.extension.choice import in_order
from identity_core.plugin.border import Tracing
from identity_core.plugin.choose import ANONYMOUS_VERIFIER
from identity_core.plugin.isolation import leave_no_core
from identity_core.plugin.manager import PluginManager
from identity_core.ports.key_store import KeyStore
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import Settings, SettingsError, StartError, buckets_of, shown_hosts
from identity_core.throttle.memory import TokenBucketMemoryStorage, TokenBucketStorage
from identity_core.use_cases.auth.authenticate import ApiKeyCache
from identity_core.use_cases.auth.tagged import (
    KeyStoreWatch,
    RecordKeyChange,
    TaggedKeys,
    has_api_keys,
    with_tagged,
    writable_of,
)
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.proofs.suite_1 import NoProver
from identity_core.use_cases.record import Record
from identity_core.use_cases.transparency import RollbackGuard

# The thresholds of the garbage collector during a start, and in a serving process. A request makes hardly a cycle. With
# Python's own 700 the collector runs every few requests, which takes a twentieth of a creation.
OBJECTS_OF_A_START = 300_000
OBJECTS_BETWEEN_COLLECTIONS = 10_000

Asgi = Callable[[MutableMapping[str, Any], Callable[..., Any], Callable[..., Any]], Awaitable[None]]


class Installation(Struct, frozen=True):
    """An open installation: the application, the stores of API keys, and the one in which the first key is made."""

    app: Any
    stores: tuple[KeyStore, ...]
    keys: TaggedKeys
    record: RecordKeyChange

    async def first_key(self) -> str | None:
        """Return the text of a first API key, made when no store has any; None when a store has one."""
        if await has_api_keys(self.stores):
            return None
        key_id, text = mint_key(secrets.token_bytes)
        key = ApiKey(key_id, "first", digest_of(text), None, None, None, None, self.keys.clock.now())
        await self.keys.create(key)
        await self.record(RequestContext("createApiKey", SERVICE), key)
        return text


@contextlib.asynccontextmanager
async def open_installation(settings: Settings) -> AsyncIterator[Installation]:
    """Open every part, bring the index up to the ledger, and close all in reverse order at the end.

    Raises ``StartError``: when a part cannot be opened.
    """
    # Keys and credentials are in the memory of this process.
    leave_no_core()
    async with AsyncExitStack() as stack:
        with _collecting_rarely():
            # Not at the top of the module: importing the HTTP modules takes longer than most commands.
            from identity_core.bootstrap.app import open_app

            require_database(settings)
            with convert_storage_faults(settings):
                opened = await _open(settings, stack)
            guarded = await open_app(opened, stack)
            app = guarded if opened.plugins.tracing is None else opened.plugins.tracing.application(guarded)
        record = RecordKeyChange(Record(opened.store.activity), opened.fingerprint, opened.clock)
        yield Installation(app, opened.key_stores, opened.key_watch.keys, record)


@contextlib.contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Run the garbage collector rarely during a start: the objects of a start stay, and scanning them repeatedly
    takes a tenth of it. It is not switched off, because a lost index may be rebuilt meanwhile."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_OF_A_START, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def collect_seldom() -> None:
    """Exclude all existing objects from garbage collection, and collect rarely: they stay as long as the serving
    process."""
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


async def _open(settings: Settings, stack: AsyncExitStack) -> Runtime:
    clock = SystemClock()
    plugins = load_plugins(settings, clock)
    stack.push_async_callback(plugins.close)
    plugins.tracing = _traces(plugins, stack)
    provers, strangers = _start_provers(plugins, settings, stack)
    methods, key_stores = plugins.did_methods(), plugins.key_stores(settings.key_stores)
    custodian, *apart = map(plugins.custodian, settings.custodian.names)
    watched = _declared(plugins, "guard")
    guard = watched(settings) if watched else RollbackGuard()
    await guard.require_key(custodian)
    signer = await make_own_keys(custodian)
    store = await open_store(plugins, custodian, processes=settings.server.workers)
    stack.push_async_callback(store.close)
    plugins.database = store.database
    ledger = plugins.ledger(settings.ledger.backend)
    check = HeadCheck(methods, ledger, store.documents, store.quarantine)
    reader = DidReader(methods, store.documents, clock, check, settings.did.registered_callers)
    jobs = await begin_jobs(settings, guard, signer, reader, store, stack)
    known_keys, keys = ApiKeyCache(clock), TaggedKeys(writable_of(key_stores), store.api_key_tags, clock)
    fingerprint = await fingerprints(custodian)
    return Runtime(
        settings=settings,
        clock=clock,
        plugins=plugins,
        provers=provers,
        anonymous_verifier=strangers,
        custodian=custodian,
        keeper=apart[0] if apart else custodian,
        store=store,
        reader=reader,
        answers_secret=await answers_secret(custodian),
        challenge_secret=await challenge_secret(custodian),
        fingerprint=fingerprint,
        jobs=jobs,
        buckets=await _open_buckets(plugins, clock, stack),
        key_stores=with_tagged(key_stores, keys),
        known_keys=known_keys,
        key_watch=await _watch_keys(keys, stack),
    )


def _declared(plugins: PluginManager, member: str) -> Any:
    """Return the function ``member`` of the first extension that declares one and that the settings do not turn off;
    None without one. Only the store knows which others are on."""
    off = plugins.settings.extensions.disabled
    known = [one.declared for one in in_order(plugins.collection.extensions) if one.declared.name not in off]
    return next((getattr(one, member) for one in known if getattr(one, member)), None)


def _traces(plugins: PluginManager, stack: AsyncExitStack) -> Tracing | None:
    """Return the tracing if the settings require spans. The last spans are sent after all else is closed.

    Raises ``SettingsError``: when no extension makes spans.
    """
    settings = plugins.settings
    if settings.tracing.endpoint is None:
        return None
    trace = _declared(plugins, "tracing")
    if trace is None:
        what = "tracing.endpoint is set, and no extension that is installed makes traces."
        where = f"{settings.origin('tracing.endpoint')} (tracing.endpoint)"
        raise SettingsError(
            what, where, "Install or enable one (plugins/README.md lists them), or unset tracing.endpoint."
        )
    tracing: Tracing = trace(settings)
    stack.push_async_callback(asyncio.to_thread, tracing.close)
    return tracing


def _start_provers(
    plugins: PluginManager, settings: Settings, stack: AsyncExitStack
) -> tuple[ProofWorkers, ProofWorkers]:
    """Return the workers of authenticated callers, and the worker of unauthenticated ones. They are first, because
    processes start while the rest is built."""
    if isolate := _declared(plugins, "isolation"):
        plugins.isolation = stack.enter_context(isolate())
    prover = settings.prover
    known = plugins.proof_workers(prover.backend, workers=prover.workers, deadline_seconds=prover.deadline_seconds)
    strangers = plugins.proof_workers(prover.backend, use=ANONYMOUS_VERIFIER, deadline_seconds=prover.deadline_seconds)
    if known and not isolate:
        log.warning("proofs are not isolated: no extension that is open runs the prover in processes")
        log.warning(
            "  do: install or enable one (plugins/README.md lists them); until then a crash of the prover ends the server"
        )
    return known or NoProver(), strangers or NoProver()


async def _watch_keys(keys: TaggedKeys, stack: AsyncExitStack) -> KeyStoreWatch:
    """Check the key store now, and start its periodic check."""
    watch = KeyStoreWatch(keys)
    await watch.guarded()
    return await stack.enter_async_context(watch)


async def _open_buckets(plugins: PluginManager, clock: SystemClock, stack: AsyncExitStack) -> TokenBucketStorage:
    """Return the buckets of this process, or those that processes share. Raises ``SettingsError``: when the settings
    require shared ones and no extension has them."""
    settings, share = plugins.settings, _declared(plugins, "buckets")
    kind = buckets_of(settings.throttle, settings.server.workers, settings.database_url)
    if share is None and kind != "memory":
        key = "throttle.redis_url" if kind == "redis" else "throttle.store"
        what = f"{key} or several processes require rate limits in {kind}, and no extension that is open shares them."
        fix = "Install or enable one (plugins/README.md lists them), or set throttle.store to memory."
        if settings.origin(key).kind != "default":
            raise SettingsError(what, f"{settings.origin(key)} ({key})", fix)
        log.warning("each process has rate limits of its own: %s %s", what, fix)
    memory = TokenBucketMemoryStorage(monotonic=clock.monotonic)
    buckets: TokenBucketStorage = memory if share is None else await share(settings, clock.monotonic)
    stack.push_async_callback(buckets.close)
    return buckets


REASON_CHARACTERS: Final = 200


def require_database(settings: Settings) -> None:
    """Raise ``StartError`` when the settings name a database server that cannot be reached. Its tables are not
    checked here."""
    if settings.database_url is None:
        return
    try:
        look = look_at(settings.database_url, settings.data_dir)
    except DatabaseUnavailable as error:
        reason = " ".join(error.reason.split())[:REASON_CHARACTERS]
        what = f"The PostgreSQL server at {shown_hosts(settings.database_url) or 'the local socket'} cannot be used: {reason}"
        fix = "Start it, or put database_url right; what is stored there is untouched."
        raise StartError(what, f"{settings.origin('database_url')} (database_url)", fix) from error
    look.end()


class Application:
    """The ASGI application of a worker: it opens the installation at startup, closes it at shutdown and passes
    requests on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._installation: Installation | None = None

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Handle the lifespan, and pass every request on."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._installation is not None:
            await self._installation.app(scope, receive, send)

    @property
    def shapes(self) -> Mapping[bytes, Any]:
        """Return the ``shapes`` of the open application; none before it is open."""
        return {} if self._installation is None else self._installation.app.shapes

    async def _live(self, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                self._installation = await stack.enter_async_context(open_installation(self._settings))
            except StartError as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            collect_seldom()
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
