"""One offer becomes one object behind its border: settings, ``build``, the Protocol, the bulkhead."""

from __future__ import annotations

import contextlib
import inspect
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from identity_core.plugin.border import bordered
from identity_core.plugin.bulkhead import Bulkhead, guarded, protocol_members
from identity_core.plugin.collect import Offer
from identity_core.plugin.conformity import misfit
from identity_core.plugin.errors import NotConfigured
from identity_core.plugin.provider import BuildContext
from identity_core.plugin.sockets import Socket
from identity_core.plugin.sources import described
from identity_core.settings import PluginTables, SettingsError, StartError

if TYPE_CHECKING:
    from identity_core.plugin.processes.prover import ProverProcesses

SLOW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Built:
    """``thing`` is the plugin's own object, ``port`` what the core calls; ``processes`` are those of what runs in any."""

    offer: Offer
    thing: Any
    port: Any
    bulkhead: Bulkhead
    processes: ProverProcesses | None = None


def build(offer: Offer, socket: Socket, tables: PluginTables, context: BuildContext, bulkhead: Bulkhead) -> Built:
    """Builds what ``offer`` provides. Raises ``PluginError``, and ``SettingsError`` for its table."""
    provider = offer.provider
    try:
        with _said_when_slow(str(offer.source), context.logger):
            settings = tables.read(provider.name, provider.settings)
            thing = provider.build(settings, context)
    except (SettingsError, KeyboardInterrupt):
        raise
    except NotConfigured as error:
        raise NotConfigured(str(offer.source.error(f"the {socket.kind} {provider.name}: {error}"))) from error
    except StartError as error:
        raise offer.source.error(f"the {socket.kind} {provider.name}: {error}") from error
    except BaseException as error:
        raise offer.source.error(f"the {socket.kind} {provider.name} could not be built: {described(error)}") from error
    protocol = next((one for one in socket.protocols if _has_all(thing, one)), socket.port)
    try:
        fault = misfit(thing, protocol)
        if fault is not None:
            raise offer.source.error(f"the {socket.kind} {provider.name} does not fit its port: {fault}")
        members = [member for _, member in protocol_members(protocol)]
        is_plain = any(inspect.isfunction(one) and not inspect.iscoroutinefunction(one) for one in members)
        port = (bordered if is_plain else guarded)(thing, protocol, bulkhead)
    except (StartError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise offer.source.error(f"the {socket.kind} {provider.name} cannot be read: {described(error)}") from error
    return Built(offer, thing, port, bulkhead)


def _has_all(thing: object, protocol: type[Any]) -> bool:
    return all(hasattr(thing, name) for name, _ in protocol_members(protocol))


@contextlib.contextmanager
def _said_when_slow(plugin: str, logger: logging.Logger) -> Iterator[None]:
    """A build cannot be stopped, because what it opens belongs to this thread; but the operator learns whose it is."""
    timer = threading.Timer(SLOW_SECONDS, logger.warning, ("%s has been building for %g s", plugin, SLOW_SECONDS))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
