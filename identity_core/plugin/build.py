"""Building of guarded objects from offers: settings, ``build``, the Protocol, the bulkhead."""

from __future__ import annotations

import contextlib
import logging
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from importlib.metadata import entry_points
from itertools import chain
from typing import Any, Final, Protocol

from msgspec import Struct

from identity_core.domain.callers import Caller
from identity_core.errors import PluginUnavailable
from identity_core.plugin.border import Bulkhead, guard, guard_function
from identity_core.plugin.conformity import check_for, members, misfit
from identity_core.plugin.limits import Limits
from identity_core.plugin.load import BearerOffer, Offer, described
from identity_core.plugin.sockets import (
    BEARER_CONTRACT,
    BEARER_HOOK,
    BEARER_RESULT,
    PROVER,
    BuildContext,
    NotConfigured,
    Socket,
)
from identity_core.ports.clock import Clock
from identity_core.settings import PluginTables, SettingsError, StartError

SLOW_SECONDS = 5.0
# Entry points of the modules with the calls of extensions (``ports.prover.ProverCall``).
PROVER_CALLS: Final = "identity.prover_calls"


class WorkerTable(Struct, frozen=True):
    """Statistics of worker processes. ``trouble``: the reason why none is available; empty while one may come up soon.
    ``waits``: set if only other settings would help."""

    wanted: int
    up: int
    restarts: int
    trouble: str
    waits: bool


class Workers(Protocol):
    """The worker processes of one plugin."""

    @property
    def worker_table(self) -> WorkerTable:
        """Return the current statistics."""

    async def settled(self, *, named: bool) -> None:
        """Return when it is known whether the plugin is available. Raises ``PluginError``: when it is not, and the settings name it."""


class Built(Struct, frozen=True):
    """A built provider. ``thing``: the plugin's own object. ``port``: the guarded object that the core calls.
    ``workers``: its worker processes, if it has any."""

    offer: Offer
    thing: Any
    port: Any
    bulkhead: Bulkhead
    workers: Workers | None = None


def build(offer: Offer, socket: Socket[Any], tables: PluginTables, context: BuildContext, bulkhead: Bulkhead) -> Built:
    """Build the object of ``offer`` and guard it.

    Raises ``PluginError``: when it cannot be built or does not fit its port; ``SettingsError``: when its table is
    invalid.
    """
    provider = offer.provider
    try:
        with _warn_when_slow(str(offer.source), context.logger):
            settings = tables.read(provider.name, provider.settings)
            thing = provider.build(settings, context)
    except (SettingsError, KeyboardInterrupt):
        raise
    except NotConfigured as error:
        raise NotConfigured(str(offer.source.error(f"the {socket.kind} {provider.name}: {error}"))) from error
    except StartError as error:
        raise offer.source.error(f"the {socket.kind} {provider.name}: {error.what}", error.where, error.fix) from error
    except BaseException as error:
        raise offer.source.error(f"the {socket.kind} {provider.name} could not be built: {described(error)}") from error
    offered = chain(socket.protocols, *(_prover_calls().values() if socket is PROVER else ()))
    protocols = (one for one in offered if all(hasattr(thing, member.name) for member in members(one)))
    protocol = _protocol(tuple(protocols) or (socket.port,))
    try:
        if (fault := misfit(thing, protocol)) is not None:
            raise offer.source.error(f"the {socket.kind} {provider.name} does not fit its port: {fault}")
        port = guard(thing, protocol, bulkhead)
    except (StartError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise offer.source.error(f"the {socket.kind} {provider.name} cannot be read: {described(error)}") from error
    return Built(offer, thing, port, bulkhead)


def _prover_calls() -> dict[str, tuple[type[Any], ...]]:
    """Return the optional Protocols of a prover besides ``Prover``, by the extension whose calls they take. Calls that need a missing
    module are logged and left out, as their extension is."""
    calls = {}
    for one in entry_points(group=PROVER_CALLS):
        try:
            calls[one.name] = one.load().PROTOCOLS
        except ModuleNotFoundError as error:
            # If the module itself is missing, the extension is not installed.
            if not f"{one.module}.".startswith(f"{error.name}."):
                logging.getLogger("identity").warning("%s takes no prover: %s is missing", one.name, error.name)
    return calls


def calls_taken(prover: object) -> list[str]:
    """Return the extensions whose calls the prover takes."""
    return [name for name, protocols in _prover_calls().items() if isinstance(prover, protocols[-1])]


@cache
def _protocol(forms: tuple[type[Any], ...]) -> type[Any]:
    """Return one Protocol that has all of the forms: one of them if it inherits the others, else a new class."""
    bases = [one for one in forms if not any(one in other.__mro__[1:] for other in forms)]
    if len(bases) == 1:
        return bases[0]
    return types.new_class("".join(one.__name__ for one in bases), (*bases, Protocol))


@contextlib.contextmanager
def _warn_when_slow(plugin: str, logger: logging.Logger) -> Iterator[None]:
    """Log a warning if a build is slow. It cannot be stopped, because what it opens belongs to this thread."""
    timer = threading.Timer(SLOW_SECONDS, logger.warning, ("%s has been building for %g s", plugin, SLOW_SECONDS))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


Verifier = Callable[[str, datetime], Caller | None]


class BearerChain(Struct, frozen=True):
    """The plugins that verify bearer tokens. They are called one after the other, in order of their names, until one
    answers."""

    guarded: tuple[tuple[Verifier, Bulkhead], ...]

    @classmethod
    def build(cls, offers: Iterable[BearerOffer], limits: Limits, clock: Clock, logger: logging.Logger) -> BearerChain:
        """Return the chain of all implementations of the hook, each behind the border."""
        check, guarded = check_for(BEARER_RESULT), []
        for offer in offers:
            bulkhead = Bulkhead(f"bearer:{offer.source.name}", limits, BEARER_CONTRACT, clock, logger)
            guarded.append((guard_function(offer.verify, BEARER_HOOK, check, bulkhead), bulkhead))
        return cls(tuple(guarded))

    @property
    def bulkheads(self) -> list[Bulkhead]:
        """Return the bulkheads of all verifiers."""
        return [bulkhead for _, bulkhead in self.guarded]

    def __call__(self, token: str, now: datetime) -> Caller | None:
        """Return the caller of a bearer token, or None when no plugin accepts it.

        Raises ``AuthFailed``: when the plugin that recognizes it refuses it; ``PluginUnavailable``: when a plugin
        failed and no other one answers. A failed plugin is skipped, so that it cannot disable a working one; the
        token may have been valid for it.
        """
        broken: PluginUnavailable | None = None
        for verify, _ in self.guarded:
            try:
                if (caller := verify(token, now)) is not None:
                    return caller
            except PluginUnavailable as error:
                broken = error
        if broken is not None:
            raise broken
        return None
