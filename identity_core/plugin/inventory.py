"""What is installed and how it is: the rows of ``identity plugins list`` and of ``/ready``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from identity_core.plugin import sockets
from identity_core.plugin.build import Built
from identity_core.plugin.bulkhead import Bulkhead
from identity_core.plugin.collect import Collection, Offer
from identity_core.plugin.sockets import BEARER_HOOK, PROVER_HOOK
from identity_core.settings import Settings

if TYPE_CHECKING:
    from identity_core.plugin.processes.pool import WorkerTable

PROOF_WORKERS = f"{PROVER_HOOK} in processes"
"""In place of the hook: the prover in processes of its own, beside the one in this process."""

ANONYMOUS_VERIFIER = f"{PROVER_HOOK} for strangers"
"""In place of the hook: the process in which the proofs of strangers are verified."""

State = Literal["active", "starting", "chosen", "available", "shut off", "failed", "disabled"]


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """One thing that a plugin provides, or a plugin that provides nothing because it is disabled or failed.

    ``name`` is the one that settings choose by (for disabled and failed plugins the entry point's), ``hook`` the hook
    or ``-``. States: active (built and in use), starting (its worker processes are), chosen (named by the settings, not
    built in this process), available (nobody asked for it, or it waits to be configured and ``reason`` says what for),
    shut off (its circuit is open), failed, disabled. ``reason`` says why in the last three.
    """

    name: str
    hook: str
    distribution: str
    version: str
    state: State
    reason: str = ""
    summary: str = ""


def inventory(
    collection: Collection,
    settings: Settings,
    built: Mapping[tuple[str, str], Built],
    failures: Mapping[tuple[str, str], str],
    waiting: Mapping[tuple[str, str], str],
) -> list[InstalledPlugin]:
    """All rows, by hook and name."""
    provers = sum(offer.hook == PROVER_HOOK for offer in collection.offers)
    rows = [_row(offer, settings, built, failures, waiting, provers) for offer in collection.offers]
    for bearer in collection.bearers:
        source = bearer.source
        rows.append(InstalledPlugin(source.name, BEARER_HOOK, source.distribution, source.version, "active"))
    for source, hook, reason in collection.failed:
        rows.append(InstalledPlugin(source.name, hook, source.distribution, source.version, "failed", reason))
    for source in collection.disabled:
        reason = "named in plugins.disabled"
        rows.append(InstalledPlugin(source.name, "-", source.distribution, source.version, "disabled", reason))
    return sorted(rows, key=lambda row: (row.hook == "-", row.hook, row.name))


def _row(
    offer: Offer,
    settings: Settings,
    built: Mapping[tuple[str, str], Built],
    failures: Mapping[tuple[str, str], str],
    waiting: Mapping[tuple[str, str], str],
    provers: int,
) -> InstalledPlugin:
    key = (offer.hook, offer.provider.name)
    state: State = "available"
    reason = ""
    if key in failures:
        state, reason = "failed", failures[key]
    elif key in waiting:
        reason = waiting[key]
    elif key in built:
        state, reason = _in_use(built[key])
    elif (PROOF_WORKERS, offer.provider.name) in built and offer.hook == PROVER_HOOK:
        state, reason = _in_use(built[PROOF_WORKERS, offer.provider.name])
    elif offer.hook == PROVER_HOOK and settings.prover.backend is None and provers > 1:
        reason = "one of several: a start wants prover.backend to name one"
    elif is_chosen(offer, settings):
        state = "chosen"
    source, provider = offer.source, offer.provider
    return InstalledPlugin(
        provider.name, offer.hook, source.distribution, source.version, state, reason, provider.summary
    )


@dataclass(frozen=True, slots=True)
class InUse:
    """How something that the core calls does. ``worker_table`` is there for what has worker processes."""

    state: State
    bulkhead: Bulkhead
    worker_table: WorkerTable | None = None


def in_use(built: Iterable[Built], bearers: Iterable[Bulkhead]) -> dict[str, InUse]:
    """What was built and the verifiers of bearer tokens, by ``kind:name``."""
    found = {
        one.bulkhead.name: InUse(
            _in_use(one)[0], one.bulkhead, None if one.processes is None else one.processes.worker_table
        )
        for one in built
    }
    return found | {one.name: InUse("active" if one.state == "closed" else "shut off", one) for one in bearers}


def _in_use(built: Built) -> tuple[State, str]:
    worker_table = None if built.processes is None else built.processes.worker_table
    if worker_table is not None and worker_table.trouble:
        return ("available" if worker_table.waits else "failed"), worker_table.trouble
    if built.bulkhead.state != "closed":
        return "shut off", built.bulkhead.last_failure
    return ("starting" if worker_table is not None and worker_table.wanted and not worker_table.up else "active"), ""


def is_chosen(offer: Offer, settings: Settings) -> bool:
    """Whether the settings use what is offered. Every DID method is in use; a lone prover too."""
    name = offer.provider.name
    return {
        sockets.DID_METHOD.hook: True,
        sockets.LEDGER.hook: name == settings.ledger.backend,
        sockets.KEY_STORE.hook: name in settings.key_stores,
        sockets.CUSTODIAN.hook: name == settings.custodian.backend,
    }.get(offer.hook, settings.prover.backend in (None, name))
