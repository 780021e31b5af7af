"""The extension ``anchoring``: its worker, its rows in the transactions of proofs, and the service that the operations on proofs use."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

from identity_transparency.use_cases.project import TransparencyLog
from identity_transparency.use_cases.watch import WatchStorage

from identity_anchoring.batches import AnchoringPolicy
from identity_anchoring.figures import Figures, anchoring_gauges
from identity_anchoring.follow import FollowBatches, RevokeLeaves
from identity_anchoring.outbox import StoredOutbox
from identity_anchoring.rows import RULES
from identity_anchoring.service import AnchorRows, ProofAnchoring
from identity_anchoring.worker import AnchorWorker, NewestCheckpoint, SealBatch
from identity_core.bootstrap.probes import probe_fault
from identity_core.database import Database
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import AnchoringLedger
from identity_core.ports.proofs import Anchoring
from identity_core.settings import Settings, StartError
from identity_core.use_cases.record import Record


def anchor_worker(
    settings: Settings, log: TransparencyLog, outbox: StoredOutbox, record: Record, clock: Clock
) -> AnchorWorker | None:
    """Return the worker that puts proofs on the ledger; None if the ledger records no digests. Raises ``StartError``."""
    ledger, chosen = log.ledger, settings.anchoring
    if not isinstance(ledger, AnchoringLedger):
        if chosen.enabled:
            raise StartError(f"anchoring.enabled is true, and the ledger {settings.ledger.backend} cannot anchor")
        return None
    policy = AnchoringPolicy(
        chosen.batch_size, timedelta(seconds=chosen.seal_seconds), chosen.attempts, chosen.retry_seconds
    )
    figures, checkpoint = Figures(), NewestCheckpoint(log.follower, log.signer.key.name)
    return AnchorWorker(
        outbox,
        SealBatch(outbox, ledger.anchor_ledger_name, checkpoint, clock, policy.batch_size),
        FollowBatches(outbox, ledger, record, figures, clock, policy),
        RevokeLeaves(outbox, ledger, record, figures, clock, policy.retry_seconds),
        clock,
        policy,
    )


@contextlib.asynccontextmanager
async def open_anchoring(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension. The worker runs until it is closed, even if new anchors are refused, to finish the earlier ones."""
    settings, watch = kernel.settings, kernel.need(WatchStorage)
    outbox = StoredOutbox(kernel.need(Database), kernel.random)
    worker = anchor_worker(settings, kernel.need(TransparencyLog), outbox, kernel.need(Record), kernel.clock)
    if worker is None:
        yield Contribution(events=AnchorRows(), probes={"anchoring": probe_fault(lambda: "")})
        return
    watch.hold_up(worker)
    if settings.database_url is not None:
        watch.spare(worker)
    async with worker if settings.anchoring.worker else contextlib.nullcontext():
        yield Contribution(
            services={Anchoring: ProofAnchoring(outbox, settings.anchoring.enabled is not False, worker)},
            events=AnchorRows(),
            gauges=tuple(anchoring_gauges(worker.follow.figures)),
            probes={"anchoring": probe_fault(lambda: worker.fault)},
        )


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="anchoring",
        kernel=">=1,<2",
        open=open_anchoring,
        requires=("transparency",),
        vital=True,
        early=True,
        adopts=("anchor_leaves", "anchor_batches", "anchor_lease"),
        rows=RULES,
    )
