"""The extension ``transparency``: the log over the ledger, its witnesses, the feed of events, and the approvals of DIDs' witnesses."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from functools import partial

from identity_commands.beside import store_beside

from identity_core.bootstrap.ports import SystemClock
from identity_core.bootstrap.probes import probe_fault
from identity_core.cache import BoundedCache
from identity_core.database import Database
from identity_core.extension.declaration import Contribution, Extension, Gauge, InstallationCheck, Kernel
from identity_core.plugin import hookimpl
from identity_core.settings import Settings
from identity_core.store.documents import Documents
from identity_core.store.events import StoredEvents
from identity_core.use_cases.transparency import LogPlaces, WitnessApprovals
from identity_transparency.approval_handlers import ApprovalHandlers
from identity_transparency.checks import witnesses
from identity_transparency.cosigned import StoredCosignedCheckpoints
from identity_transparency.event_handlers import EventHandlers
from identity_transparency.guard import CheckpointGuard
from identity_transparency.ledger_handlers import LedgerHandlers
from identity_transparency.store import StoredWitnessFiles
from identity_transparency.use_cases.approvals import LOGS_KNOWN, LogApprovals, ReadWitnessedLog
from identity_transparency.use_cases.events import ListEvents
from identity_transparency.use_cases.feed import WitnessFeeder
from identity_transparency.use_cases.project import TransparencyLog
from identity_transparency.use_cases.read import LedgerReads
from identity_transparency.use_cases.watch import WatchStorage
from identity_transparency.wire import DOCUMENT
from identity_transparency.witnesses import feed_witnesses


@contextlib.asynccontextmanager
async def open_transparency(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension. The witnesses are fed until it is closed."""
    watch, database = kernel.need(WatchStorage), kernel.need(Database)
    log = watch.log
    files = StoredWitnessFiles(database, kernel.need(StoredEvents))
    approvals = LogApprovals(ReadWitnessedLog(log.ledger, BoundedCache(LOGS_KNOWN)), files, kernel.clock)
    async with AsyncExitStack() as stack:
        kept = StoredCosignedCheckpoints(database)
        feeder = await feed_witnesses(kernel.settings, log, kept, kernel.clock, stack)
        watch.hold_up(feeder)
        if feeder is not None:
            watch.wake(feeder)
        has_bundles = kernel.settings.log.after_deactivation == "visible"
        reads = LedgerReads(log, partial(newest_note, feeder), has_bundles)
        ledger = LedgerHandlers(reads)
        events = EventHandlers(ListEvents(kernel.need(Documents)))
        size = Gauge("ledger_size", "livemax", "Entries of the transparency log.", lambda: watch.log_size)
        yield Contribution(
            handlers=(ledger, events, ApprovalHandlers(kernel.dids, approvals)),
            services={
                TransparencyLog: log,
                LogPlaces: places_of(feeder, reads),
                WitnessApprovals: approvals,
                LedgerHandlers: ledger,
                EventHandlers: events,
            },
            gauges=(size, *(() if feeder is None else witness_gauges(feeder))),
            probes={} if feeder is None else {"witnesses": probe_fault(lambda: feeder.fault or feeder.is_late)},
        )


def newest_note(feeder: WitnessFeeder | None) -> bytes | None:
    """Return the newest checkpoint that a quorum of the witnesses has cosigned."""
    return None if feeder is None or feeder.cosigned.last is None else feeder.cosigned.last.encoded


def places_of(feeder: WitnessFeeder | None, reads: LedgerReads) -> LogPlaces:
    """Return what the kernel uses of the log and of the witnesses."""
    if feeder is None:
        return LogPlaces(prove=reads.prove)
    cosigned = feeder.cosigned
    return LogPlaces(
        cosigned.place,
        lambda: cosigned.size,
        lambda: {one.name: (one.reason, one.size) for one in feeder.fed},
        lambda: feeder.fault,
        reads.prove,
    )


def witness_gauges(feeder: WitnessFeeder) -> Iterator[Gauge]:
    """Yield the gauges of witnesses. Of several processes the one that feeds them has the numbers."""
    meaning = "How long there has been a checkpoint that the witness has not cosigned."
    yield Gauge("witness_lag_seconds", "livemax", meaning, feeder.lags, "witness")
    meaning = "How long there has been a checkpoint, and no quorum has cosigned it or a later one."
    yield Gauge("witness_quorum_lag_seconds", "livemax", meaning, feeder.quorum_lag)


@contextlib.asynccontextmanager
async def approvals_to_publish(settings: Settings) -> AsyncIterator[LogApprovals]:
    """Open what publishes approvals of did:webvh logs, beside a running service. Raises ``StartError``."""
    async with store_beside(settings) as (plugins, _, store):
        recorded = ReadWitnessedLog(plugins.ledger(settings.ledger.backend), BoundedCache(1))
        yield LogApprovals(recorded, StoredWitnessFiles(store.database, store.activity), SystemClock())


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="transparency",
        kernel=">=1,<2",
        document=DOCUMENT,
        open=open_transparency,
        guard=CheckpointGuard,
        early=True,
        vital=True,
        adopts=("cosigned_checkpoints", "witness_files"),
        checks=(InstallationCheck("witnesses", witnesses, "put it right, then look again"),),
    )
