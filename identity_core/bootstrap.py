"""The one file that knows every room: settings → plugins → store → use cases → app.

The house is opened inside the server's event loop, in its lifespan, so that every port lives in the loop that uses it, and
a start that fails stops the server with one line.
"""

from __future__ import annotations

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
from identity_core.plugin.manager import PluginManager
from identity_core.ports.key_store import KeyStore, PreparedKeyStore, WritableKeyStore
from identity_core.settings import Settings, StartError, load
from identity_core.store import Store
from identity_core.throttle.open import open_buckets
from identity_core.throttle.policy import Limit, Policy, parse_proxies
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


@contextlib.asynccontextmanager
async def open_key_stores(settings: Settings) -> AsyncIterator[tuple[KeyStore, ...]]:
    """The stores of API keys, and nothing else."""
    plugins = _plugins(settings, SystemClock())
    try:
        yield plugins.key_stores(settings.key_stores)
    finally:
        await plugins.close()


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
    from identity_core.api.api_keys import ApiKeyHandlers
    from identity_core.api.app import build_app
    from identity_core.api.auth import AuthHandlers
    from identity_core.api.contract import ContractError, load_document
    from identity_core.api.dids import DidHandlers
    from identity_core.api.dids_cache import AnswerCache
    from identity_core.api.events import EventHandlers
    from identity_core.api.guard import request_ids
    from identity_core.api.idempotency import Idempotency
    from identity_core.api.metadata import metadata_pages
    from identity_core.api.metrics import Metrics
    from identity_core.api.security import DOCUMENT_SCHEMES, Gate
    from identity_core.api.service import ServiceHandlers
    from identity_core.use_cases.auth.authenticate_bearer import AuthenticateBearer
    from identity_core.use_cases.auth.issue_token import IssueToken
    from identity_core.use_cases.auth.token_keys import TokenKeys

    clock = SystemClock()
    origin = settings.server.public_url or f"http://{settings.server.host}:{settings.server.port}"
    async with AsyncExitStack() as stack:
        plugins = _plugins(settings, clock)
        stack.push_async_callback(plugins.close)
        methods = plugins.did_methods()
        ledger = plugins.ledger(settings.ledger.backend)
        stores = plugins.key_stores(settings.key_stores)
        custodian = plugins.custodian(settings.custodian.backend)
        store = Store.open(settings.data_dir, settings.database_url, processes=settings.server.workers)
        stack.push_async_callback(store.close)
        catch_up = CatchUp(methods, ledger, store.documents)
        await catch_up()
        repair = IndexRepair(catch_up)
        stack.push_async_callback(repair.close)
        public = await custodian.generate(LOG_KEY, multikey.ED25519, did="-", purpose=LOG_KEY)
        await custodian.generate(ANSWERS_KEY, multikey.ED25519, did="-", purpose=ANSWERS_KEY)
        # Ed25519 is deterministic: all processes derive the same secret, and the key itself never leaves the custodian.
        answers_secret = hashlib.sha256(await custodian.sign(ANSWERS_KEY, b"identity: stored answers, v1")).digest()

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
        writer = DidWriter(reader, methods, ledger, store.documents, store.audit, signer, clock, repair, hourly)
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
        measured = Metrics(shared=os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
        service = ServiceHandlers(version=_version(), probes=_probes(ledger, store, plugins), measured=measured)
        try:
            app = build_app(
                load_document(),
                (
                    dids,
                    AuthHandlers(reader, challenge, issue, token_keys),
                    EventHandlers(ListEvents(store.documents)),
                    service,
                    ApiKeyHandlers(
                        desk.create, desk.list, desk.get, desk.update, desk.rotate, desk.revoke, store.audit, clock
                    ),
                ),
                gate=gate,
                around=Idempotency(store.idempotency, clock, answers_secret, random),
                schemes=DOCUMENT_SCHEMES,
                observe=measured.observe,
                identify=request_ids(secrets.token_hex(4)),
                monotonic=clock.monotonic,
                lifespan=None,
                pages=metadata_pages(origin),
                limit=settings.server.max_requests_in_flight,
                max_body=settings.server.max_body_bytes,
                body_seconds=settings.server.body_timeout_seconds,
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


def _version() -> Mapping[str, str]:
    return {"version": __version__, "interface": "1.0.0", "python": sys.version.split()[0]}


def _probes(ledger: Any, store: Store, plugins: PluginManager) -> Mapping[str, Callable[[], Awaitable[str]]]:
    async def ledger_answers() -> str:
        await ledger.head()
        return "ok"

    async def store_answers() -> str:
        await store.documents.cursor()
        return "ok"

    async def plugins_work() -> str:
        return "ok" if all(one.state == "closed" for one in plugins.bulkheads().values()) else "degraded"

    return {"ledger": ledger_answers, "store": store_answers, "plugins": plugins_work}


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
