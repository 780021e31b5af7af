"""The kernel's own tags, opened in the loop of the extensions, and their readiness probes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from identity_core import __version__, build
from identity_core.api.auth import AuthHandlers
from identity_core.api.errors import guide_folder
from identity_core.api.pages import guide_pages, log_pages
from identity_core.api.service import ServiceHandlers
from identity_core.bootstrap.handlers import PageTags
from identity_core.bootstrap.runtime import Runtime
from identity_core.extension.choice import InstalledExtension
from identity_core.extension.declaration import Contribution, Extension
from identity_core.extension.opening import InstallationState
from identity_core.plugin.choose import InUse
from identity_core.plugin.load import PluginSource
from identity_core.ports.proofs import Anchoring
from identity_core.ports.suites import ProofSuite
from identity_core.settings import show
from identity_core.store.requests import touch
from identity_core.use_cases.dids.log_keys import public_key
from identity_core.use_cases.service import Dependencies, GetHealth, GetReadiness, GetVersion, Probe
from identity_core.use_cases.transparency import LogPlaces, WitnessApprovals
from identity_core.wire import PluginCondition, PluginProcesses

REFUSED_SECONDS: Final = 10.0
"""The time for which a replica is not ready after a failed append. After that the next append decides."""
SIGNED_SECONDS: Final = 2.0
"""The time for which a successful signature counts, so that many probes do not call the custodian again."""

# An available plugin lacks settings, which is not a fault.
USABLE: Final = {"active", "available"}


def service_handlers(opened: Runtime, dependencies: Dependencies) -> ServiceHandlers:
    """Return the handlers of the tag ``service``."""
    is_public = opened.settings.server.public_metrics
    return ServiceHandlers(
        health=GetHealth(),
        readiness=GetReadiness(dependencies, lambda: conditions(opened.plugins.in_use()), is_public),
        version=GetVersion(
            {"version": __version__, "interface": "1.0.0", "python": sys.version.split()[0]}
            | {"extensions": ", ".join(one.declared.name for one in opened.extensions.on)},
            build,
        ),
    )


def conditions(in_use: Mapping[str, InUse]) -> dict[str, PluginCondition]:
    """Return the state of each plugin without a reason. Reasons are in the log, whose readers are authorized."""
    return {name: _condition(one) for name, one in in_use.items()}


def _condition(one: InUse) -> PluginCondition:
    table = one.worker_table
    if table is None:
        return PluginCondition(state=one.state)
    processes = PluginProcesses(wanted=table.wanted, ready=table.up, restarts=table.restarts)
    return PluginCondition(state=one.state, processes=processes)


def kernel_probes(opened: Runtime) -> Mapping[str, Probe]:
    """Return the probes of the kernel's dependencies."""

    async def ledger_answers() -> str:
        await opened.reader.check.ledger.head()
        return "unavailable" if opened.clock.monotonic() - opened.reader.check.refused_at < REFUSED_SECONDS else "ok"

    probed = 0

    async def store_answers() -> str:
        nonlocal probed
        await opened.store.documents.cursor()
        failed = opened.store.database.load().failed
        if failed != probed:
            # As many bytes as a request writes: the write-ahead log on a full disk may have room for fewer.
            await opened.store.database.write(lambda transaction: touch(transaction, 65_536))
            probed = failed
        return "ok"

    async def index_agrees() -> str:
        return "degraded" if await opened.store.quarantine.count() else "ok"

    async def storage_is_ours() -> str:
        if watch.mismatch is not None:
            return "mismatch"
        return "degraded" if opened.mismatch() or watch.weakness() else "ok"

    watch = opened.jobs.watch
    # The extension that writes the audit log provides its probe.
    unrecorded = {} if opened.store.activity.has_vital else {"audit": probe_fault(lambda: True)}
    return unrecorded | {
        "ledger": ledger_answers,
        "store": store_answers,
        "custodian": custodian_signs(opened),
        "index": index_agrees,
        "storage": storage_is_ours,
        "keys": probe_fault(lambda: opened.key_watch.faults or opened.key_watch.fault),
        "plugins": probe_fault(lambda: {one.state for one in opened.plugins.in_use().values()} - USABLE),
        "limits": probe_fault(lambda: opened.buckets.degraded),
    }


def custodian_signs(opened: Runtime) -> Probe:
    """Return the probe of the custodians: the log key must sign, and each custodian looks up a name, which it cannot
    answer from memory."""
    clock, signer, turn, signed = opened.clock, opened.signer, asyncio.Lock(), float("-inf")

    async def probe() -> str:
        nonlocal signed
        async with turn:
            if clock.monotonic() - signed >= SIGNED_SECONDS:
                await signer.custodian.sign(signer.name, b"identity: readiness")
                for custodian in {opened.custodian, opened.keeper}:
                    await public_key(custodian, "readiness")
                signed = clock.monotonic()
        return "ok"

    return probe


def probe_fault(fault: Callable[[], object]) -> Probe:
    """Return the probe of a part that still answers while it has a fault."""

    async def probe() -> str:
        return "degraded" if fault() else "ok"

    return probe


def installation_state(
    opened: Runtime, places: LogPlaces, anchoring: Anchoring, suite: ProofSuite
) -> InstallationState:
    """Return the state that no operation returns."""
    settings, plugins = opened.settings, opened.plugins
    return InstallationState(
        plugins=plugins.installed,
        settings=lambda: show(settings, plugins.settings_tables()),
        reasons=lambda: _reasons(opened, places, anchoring, suite),
        witnesses=places.witnesses,
        panels=plugins.panels(),
    )


def _reasons(opened: Runtime, places: LogPlaces, anchoring: Anchoring, suite: ProofSuite) -> dict[str, str]:
    """Return, by dependency of ``/ready``, why it is unhealthy, if a job has found the reason."""
    jobs, watched = opened.jobs, opened.key_watch
    found = {
        "storage": str(opened.mismatch() or jobs.watch.weakness()),
        "keys": "; ".join(watched.faults) or watched.fault,
        "anchoring": anchoring.fault,
        "statusLists": suite.fault,
        "witnesses": places.fault(),
    }
    return {name: reason for name, reason in found.items() if reason}


def own_parts(opened: Runtime) -> list[InstalledExtension]:
    """Return the kernel's own tags as an extension, which is vital: if it cannot be opened, the startup stops."""

    @contextlib.asynccontextmanager
    async def open_kernel(kernel: Any) -> AsyncIterator[Contribution]:
        tags, need = kernel.need(PageTags), kernel.need
        own = (tags.dids, tags.credentials, tags.delegations, tags.proofs)
        others = map(need, (AuthHandlers, ServiceHandlers))
        methods = opened.reader.methods.values()
        pages = log_pages(methods, tags.dids.log, need(WitnessApprovals)) | guide_pages(guide_folder())
        yield Contribution(handlers=(*own, *others), pages=pages, probes=kernel_probes(opened))

    source = PluginSource("kernel", "identity-kernel", __version__, dict)
    return [InstalledExtension(source, Extension(name="_kernel", kernel=">=1", open=open_kernel, vital=True))]
