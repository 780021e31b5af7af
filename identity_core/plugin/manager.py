"""Choice, building and closing of plugins' providers.

Disable → load → find misspelt hooks → collect → refuse duplicates → validate settings → build → check the object against
its Protocol → add its bulkhead. Settings choose by name. A choice that is not available ends the start with an error.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from identity_codec.values import replace
from identity_core.database import Database
from identity_core.plugin.border import Bulkhead, Tracing
from identity_core.plugin.build import BearerChain, Built, build
from identity_core.plugin.choose import (
    ANONYMOUS_FORMATS,
    ANONYMOUS_VERIFIER,
    KNOWN_FORMATS,
    PROOF_WORKERS,
    InstalledPlugin,
    InUse,
    Key,
    chosen,
    chosen_or_lone,
    in_use,
    inventory,
    missing,
    offers_of,
)
from identity_core.plugin.isolation import Isolation, on_threads
from identity_core.plugin.limits import Deadline, DeadlineExceeded, Limits, finish
from identity_core.plugin.load import Collection, Offer, PluginSource, collect, installed_sources, module_source
from identity_core.plugin.sockets import (
    CUSTODIAN,
    DID_METHOD,
    KEY_STORE,
    LEDGER,
    PANEL,
    PROVER,
    SECURING,
    BuildContext,
    NotConfigured,
    PluginError,
    Socket,
)
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.ports.did_method import DidMethod
from identity_core.ports.key_store import KeyStore
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.panel import OperatorPanel
from identity_core.ports.prover import ProofWorkers, Prover
from identity_core.ports.securing import SecuringFormat
from identity_core.settings import Settings

T = TypeVar("T")
N = TypeVar("N", DidMethod, SecuringFormat)
CLOSE_SECONDS = 5.0
# The maximum of unfinished calls per worker. A proof takes milliseconds, so the last of them waits for about a second.
WAITING_PER_WORKER = 256


@dataclass(slots=True)
class PluginManager:
    """The plugins of one process. ``load`` makes it; each accessor builds its object once. ``database`` is the store's: a ledger on the
    same server that is built after it is set writes through it."""

    settings: Settings
    collection: Collection
    clock: Clock
    logger: logging.Logger
    make: Callable[..., Built] = build
    tracing: Tracing | None = None
    database: Database | None = None
    isolation: Isolation | None = None
    _built: dict[Key, Built] = field(default_factory=dict)
    _failures: dict[Key, PluginError] = field(default_factory=dict)
    verify_bearer: BearerChain = field(init=False)

    def __post_init__(self) -> None:
        limits = self.limits(self.settings.plugins.deadline_seconds)
        self.verify_bearer = BearerChain.build(self.collection.bearers, limits, self.clock, self.logger)

    @classmethod
    def load(
        cls,
        settings: Settings,
        *,
        clock: Clock,
        logger: logging.Logger,
        sources: Iterable[PluginSource] | None = None,
        make: Callable[..., Built] = build,
    ) -> PluginManager:
        """Import every plugin that is not disabled, and check everything that can be checked without building.
        ``sources`` defaults to the installed entry points; the modules of the setting ``plugins.modules`` are added. ``make`` builds a
        provider, with the arguments of ``build``. A plugin whose import fails is logged and listed as failed.

        Raises ``PluginError``: for a wrong hook and two providers of one name. ``SettingsError``: for an unknown key in ``[plugins.…]``.
        """
        found = [*(installed_sources() if sources is None else sources)]
        found += [module_source(name) for name in settings.plugins.modules]
        collection = collect(found, settings)
        for source, _, reason in collection.failed:
            logger.error("%s failed: %s", source, reason)
        manager = cls(settings, collection, clock, logger, make)
        all_loaded = not collection.failed and not collection.disabled
        settings.plugins.tables.refuse_unknown(manager.settings_tables(), all_loaded=all_loaded)
        return manager

    def did_methods(self) -> Mapping[str, DidMethod]:
        """Return every installed DID method by its method name. A failed one is listed as failed; the failure of ``did.method`` is
        raised."""
        own = self.settings.did.method
        methods = self._by_own_name(DID_METHOD, own)
        if own not in methods:
            raise missing(self.collection, DID_METHOD, own, self.settings, methods)
        return methods

    def ledger(self, name: str) -> LedgerBackend:
        """Return the ledger of this name. Raises ``PluginError``: when it fails; ``SettingsError``: for a name that no plugin has. The
        other accessors raise the same."""
        return self._chosen(LEDGER, name)

    def custodian(self, name: str) -> Custodian:
        """Return the custodian of this name."""
        return self._chosen(CUSTODIAN, name)

    def key_stores(self, names: Sequence[str]) -> tuple[KeyStore, ...]:
        """Return the stores of API keys in the order of ``names``; a ``WritableKeyStore`` stays one. Unless
        ``key_stores`` is set, default stores that are not installed are left out."""
        installed = offers_of(self.collection, KEY_STORE)
        if self.settings.origin(KEY_STORE.setting).kind == "default":
            names = [name for name in names if name in installed] or names
        return tuple(self._chosen(KEY_STORE, name) for name in names)

    def panels(self) -> Mapping[str, OperatorPanel]:
        """Return every installed panel by the name of its provider. A panel that cannot be built is listed as failed."""
        return {offer.provider.name: panel for offer, panel in self._every(PANEL)}

    def securing_formats(self) -> Mapping[str, SecuringFormat]:
        """Return every installed format of secured credentials by its own name. A format that cannot be built is listed as failed."""
        return self._by_own_name(SECURING)

    def prover(self, name: str | None) -> Prover | None:
        """Return the prover of this name, in this process. For None return the only installed prover, or None without any."""
        offer = chosen_or_lone(self.collection, PROVER, name, self.settings)
        return None if offer is None else self._build(PROVER, offer)

    def proof_workers(
        self, name: str | None, *, deadline_seconds: float, workers: int = 1, use: str = PROOF_WORKERS
    ) -> ProofWorkers | None:
        """Return the prover of this name with ``workers`` processes or threads, for the running event loop; None as for ``prover``, or
        when the only one cannot be built. Processes start in the background: ``proof_workers_settled`` waits. That of the use
        ``ANONYMOUS_VERIFIER``, which verifies for unauthenticated callers, starts with the first request."""
        offer = chosen_or_lone(self.collection, PROVER, name, self.settings)
        try:
            return None if offer is None else self._in_processes(PROVER, offer, use, workers, deadline_seconds)
        except PluginError as error:
            if name is not None:
                raise
            if not isinstance(error, NotConfigured):
                self.logger.error("%s", error)
            return None

    def securing_workers(self, *, anonymous: bool) -> Mapping[str, SecuringFormat]:
        """Return every installed format by its own name, each with a process that reads and verifies; ``anonymous`` callers have others.
        A process starts with its first call and has the limits of a prover. Without isolation, formats stay in this process."""
        found = dict(self.securing_formats())
        if self.isolation is None:
            return found
        use = ANONYMOUS_FORMATS if anonymous else KNOWN_FORMATS
        seconds = self.settings.prover.deadline_seconds
        for offer in offers_of(self.collection, SECURING).values():
            built = self._built.get((offer.hook, offer.provider.name))
            if built is not None and offer.source.reference:
                found[built.port.name] = self._in_processes(SECURING, offer, use, 1, seconds)
        return found

    async def proof_workers_settled(self) -> None:
        """Return when it is known whether the prover is available. Unless ``prover.backend`` names it, the wait is short.
        Raises ``PluginError``: when a named prover is not available."""
        for built in self._built.values():
            if built.workers is not None:
                await built.workers.settled(named=self.settings.prover.backend is not None)

    def installed(self) -> list[InstalledPlugin]:
        """Return the installed plugins and their state."""
        return inventory(self.collection, self.settings, self._built, self._failures)

    def in_use(self) -> Mapping[str, InUse]:
        """Return the state of all objects that the core calls, by ``kind:name``, for readiness and metrics."""
        return in_use(self._built.values(), self.verify_bearer.bulkheads)

    def settings_tables(self) -> dict[str, list[type[Any]]]:
        """Return the settings dataclasses of the plugins by name, for ``identity config show``."""
        tables: dict[str, list[type[Any]]] = {}
        for offer in self.collection.offers:
            tables.setdefault(offer.provider.name, []).append(offer.provider.settings)
        return tables

    async def close(self) -> None:
        """Close all built objects, last first. One that fails or takes longer than five seconds is logged and left."""
        while self._built:
            key = next(reversed(self._built))
            built = self._built.pop(key)
            close = getattr(built.thing, "close", None)
            if close is None:
                continue
            try:
                result = close()
                if inspect.iscoroutine(result):
                    await finish(result, Deadline(CLOSE_SECONDS))
            except DeadlineExceeded:
                self.logger.error("%s did not close within %g s", built.offer.source, CLOSE_SECONDS)
            except (asyncio.CancelledError, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001  (the plugin border)
                self.logger.error("%s could not be closed: %s", built.offer.source, type(error).__name__)

    def _in_processes(self, socket: Socket[Any], offer: Offer, use: str, workers: int, seconds: float) -> Any:
        key = (use, offer.provider.name)
        if key not in self._built:
            anonymous, limits = use in (ANONYMOUS_VERIFIER, ANONYMOUS_FORMATS), self.limits(seconds)
            most = min(limits.calls_in_flight, workers * WAITING_PER_WORKER)
            limits = replace(limits, calls_in_flight=self.settings.prover.anonymous_waiting if anonymous else most)
            name = f"{'prover' if socket is PROVER else 'verifier'}:{key[1]}" + (":anonymous" if anonymous else "")
            bulkhead = self._bulkhead(name, limits, socket)
            if self.isolation is None:
                self._build(socket, offer)
                self._built[key] = on_threads(self._built[offer.hook, key[1]], bulkhead, workers)
            else:
                self._built[key] = self.isolation(socket, offer, bulkhead, self.settings, anonymous, workers)
        return self._built[key].port

    def _by_own_name(self, socket: Socket[N], required: str = "") -> dict[str, N]:
        """Return all offers that can be built, by their own name. Raises ``PluginError``: when two have one name."""
        found: dict[str, N] = {}
        owners: dict[str, Offer] = {}
        for offer, one in self._every(socket, required):
            name = one.name
            first = owners.setdefault(name, offer)
            if first is not offer:
                raise offer.source.error(f"is a second {socket.kind} {name}, beside that of {first.source}")
            found[name] = one
        return found

    def _every(self, socket: Socket[T], required: str = "") -> Iterator[tuple[Offer, T]]:
        """Yield all offers that can be built, and in any case the provider ``required``. Missing settings are not a fault."""
        for name, offer in offers_of(self.collection, socket).items():
            try:
                made = self._build(socket, offer)
            except PluginError as error:
                if name == required:
                    raise
                if not isinstance(error, NotConfigured):
                    self.logger.error("%s", error)
            else:
                yield offer, made

    def _chosen(self, socket: Socket[T], name: str) -> T:
        return self._build(socket, chosen(self.collection, socket, name, self.settings))

    def _build(self, socket: Socket[T], offer: Offer) -> T:
        key = (offer.hook, offer.provider.name)
        if key not in self._built:
            settings = self.settings
            context = BuildContext(
                clock=self.clock,
                logger=self.logger.getChild(offer.provider.name),
                data_dir=settings.data_dir,
                database_url=settings.database_url,
                workers=settings.server.workers,
                public_url=settings.server.public_url,
                mapped_mebibytes=settings.mapped_mebibytes,
                database=self.database if socket is LEDGER and settings.database_url else None,
                database_readers=settings.database_readers,
            )
            limits = self.limits(getattr(settings, socket.table).deadline_seconds)
            name = f"{socket.kind}:{offer.provider.name}"
            bulkhead = self._bulkhead(name, limits, socket)
            try:
                self._built[key] = self.make(offer, socket, settings.plugins.tables, context, bulkhead)
            except PluginError as error:
                self._failures[key] = error
                raise
        port: T = self._built[key].port
        return port

    def _bulkhead(self, name: str, limits: Limits, socket: Socket[Any]) -> Bulkhead:
        return Bulkhead(name, limits, socket.contract, self.clock, self.logger, tracing=self.tracing)

    def limits(self, deadline_seconds: float) -> Limits:
        """Return the limits of a plugin whose calls have this deadline."""
        plugins = self.settings.plugins
        return Limits(deadline_seconds, plugins.calls_in_flight, plugins.failures_to_open, plugins.retry_seconds)
