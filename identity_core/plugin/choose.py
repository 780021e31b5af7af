"""Choice of the offer that a setting names, the error if it is missing, and the state of all installed plugins: the
rows of ``identity plugins list`` and of ``/ready``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from identity_core.plugin.border import Bulkhead
from identity_core.plugin.build import Built, WorkerTable
from identity_core.plugin.load import Collection, Offer, PluginSource
from identity_core.plugin.sockets import (
    BEARER_HOOK,
    CUSTODIAN,
    EXTEND_HOOK,
    KEY_STORE,
    LEDGER,
    PROVER,
    SECURING,
    NotConfigured,
    PluginError,
    Socket,
)
from identity_core.settings import Settings, SettingsError, places_of

# A key for the prover in separate processes, used instead of the hook, beside the prover in this process.
PROOF_WORKERS = f"{PROVER.hook} in processes"

# A key for the process that verifies proofs of unauthenticated clients, used instead of the hook.
ANONYMOUS_VERIFIER = f"{PROVER.hook} for strangers"

KNOWN_FORMATS = f"{SECURING.hook} in processes"
# A key for the process that verifies secured credentials of unauthenticated clients, used instead of the hook.
ANONYMOUS_FORMATS = f"{SECURING.hook} for strangers"

Key = tuple[str, str]
"""Hook and name of an object that was built, or could not be built."""

State = Literal["active", "starting", "chosen", "available", "shut off", "failed", "disabled"]


def offers_of(collection: Collection, socket: Socket[Any]) -> dict[str, Offer]:
    """Return all offers for ``socket``, by name."""
    return {offer.provider.name: offer for offer in collection.offers if offer.hook == socket.hook}


def chosen(collection: Collection, socket: Socket[Any], name: str, settings: Settings) -> Offer:
    """Return the offer of this name. Raises ``SettingsError``: when no plugin has it."""
    offers = offers_of(collection, socket)
    if name not in offers:
        raise missing(collection, socket, name, settings, offers)
    return offers[name]


def chosen_or_lone(collection: Collection, socket: Socket[Any], name: str | None, settings: Settings) -> Offer | None:
    """Return the offer of this name. For None return the only offer, or None without any.

    Raises ``SettingsError``: when no plugin has the name, or when ``name`` is None and there are several offers.
    """
    if name is not None:
        return chosen(collection, socket, name, settings)
    offers = offers_of(collection, socket)
    if len(offers) > 1:
        what = f"{socket.setting} must be set: more than one {socket.kind} is installed."
        raise SettingsError(what, places_of(socket.setting), _choose(offers))
    return next(iter(offers.values()), None)


def missing(
    collection: Collection, socket: Socket[Any], name: str, settings: Settings, installed: Iterable[str]
) -> SettingsError:
    """Return the error of a name that no plugin offers: the setting that names it, plugins that failed, and the
    installed alternatives."""
    key = socket.setting
    failed = "; ".join(f"{source}: {reason}" for source, _, reason in collection.failed)
    disabled = ", ".join(source.name for source in collection.disabled)
    return SettingsError(
        f"{key} names {name}, but no plugin provides the {socket.kind} {name}"
        + (f"; disabled: {disabled}" if disabled else "")
        + (f"; failed: {failed}" if failed else "")
        + ".",
        f"{settings.origin(key)} ({key})",
        _choose(installed),
    )


def _choose(installed: Iterable[str]) -> str:
    names = ", ".join(sorted(installed))
    return f"Choose one that is installed: {names}." if names else "Install a plugin that provides one."


class InstalledPlugin(Struct, frozen=True):
    """A provider of a plugin, or a plugin without one because it is disabled or failed.

    ``name``: the name in the settings; for disabled and failed plugins the entry point's. ``hook``: the hook or
    ``-``.

    States: active (built and in use), starting (its worker processes start), chosen (named by the settings, not built
    in this process), available (the settings do not choose it, or it lacks settings that ``reason`` lists), shut off
    (its circuit is open), failed, disabled. ``reason`` explains the last three.
    """

    name: str
    hook: str
    distribution: str
    version: str
    state: State
    reason: str = ""
    summary: str = ""


def inventory(
    collection: Collection, settings: Settings, built: Mapping[Key, Built], failures: Mapping[Key, PluginError]
) -> list[InstalledPlugin]:
    """Return all rows, by hook and name."""
    several = len(offers_of(collection, PROVER)) > 1
    rows = []
    for offer in collection.offers:
        state, reason = _state(offer, settings, built, failures, several)
        rows.append(_row(offer.source, offer.provider.name, offer.hook, state, reason, offer.provider.summary))
    for bearer in collection.bearers:
        rows.append(_row(bearer.source, bearer.source.name, BEARER_HOOK, "active"))
    rows += [_row(source, source.name, EXTEND_HOOK, "active") for source, _ in collection.extensions]
    for source, hook, reason in collection.failed:
        rows.append(_row(source, source.name, hook, "failed", reason))
    for source in collection.disabled:
        rows.append(_row(source, source.name, "-", "disabled", "named in plugins.disabled"))
    return sorted(rows, key=lambda row: (row.hook == "-", row.hook, row.name))


def _row(
    source: PluginSource, name: str, hook: str, state: State, reason: str = "", summary: str = ""
) -> InstalledPlugin:
    return InstalledPlugin(name, hook, source.distribution, source.version, state, reason, summary)


def _state(
    offer: Offer, settings: Settings, built: Mapping[Key, Built], failures: Mapping[Key, PluginError], several: bool
) -> tuple[State, str]:
    name, key = offer.provider.name, (offer.hook, offer.provider.name)
    is_prover = offer.hook == PROVER.hook
    if key in failures:
        return ("available" if isinstance(failures[key], NotConfigured) else "failed"), str(failures[key])
    in_use = built.get(key) or (built.get((PROOF_WORKERS, name)) if is_prover else None)
    if in_use is not None:
        return _in_use(in_use)
    if is_prover and several and settings.prover.backend is None:
        return "available", "one of several: a start wants prover.backend to name one"
    return ("chosen" if is_chosen(offer, settings) else "available"), ""


class InUse(Struct, frozen=True):
    """State of a plugin that the core calls. ``worker_table`` is set if it has worker processes."""

    state: State
    bulkhead: Bulkhead
    worker_table: WorkerTable | None = None


def in_use(built: Iterable[Built], bearers: Iterable[Bulkhead]) -> dict[str, InUse]:
    """Return the built plugins and the verifiers of bearer tokens, by ``kind:name``."""
    found = {one.bulkhead.name: InUse(_in_use(one)[0], one.bulkhead, _workers(one)) for one in built}
    return found | {one.name: InUse("active" if one.state == "closed" else "shut off", one) for one in bearers}


def _in_use(built: Built) -> tuple[State, str]:
    workers = _workers(built)
    if workers and workers.trouble:
        return ("available" if workers.waits else "failed"), workers.trouble
    if built.bulkhead.state != "closed":
        return "shut off", built.bulkhead.last_failure
    return ("starting" if workers and workers.wanted and not workers.up else "active"), ""


def _workers(built: Built) -> WorkerTable | None:
    return None if built.workers is None else built.workers.worker_table


def is_chosen(offer: Offer, settings: Settings) -> bool:
    """Return whether the settings use the offer. Every DID method is in use, and so is the only prover."""
    name = offer.provider.name
    return {
        LEDGER.hook: name == settings.ledger.backend,
        KEY_STORE.hook: name in settings.key_stores,
        CUSTODIAN.hook: name in settings.custodian.names,
        PROVER.hook: settings.prover.backend in (None, name),
    }.get(offer.hook, True)
