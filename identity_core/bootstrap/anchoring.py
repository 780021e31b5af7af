"""What puts proofs on the ledger."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta

from identity_core.bootstrap.clock import SystemClock
from identity_core.bootstrap.ledger import TransparencyLog, open_beside
from identity_core.ports.ledger import AnchoringLedger, LedgerBackend
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.anchoring.checkpoint import NewestCheckpoint
from identity_core.use_cases.anchoring.follow import FollowBatches
from identity_core.use_cases.anchoring.journal import AnchorJournal
from identity_core.use_cases.anchoring.policy import AnchoringPolicy
from identity_core.use_cases.anchoring.revoke_leaves import RevokeLeaves
from identity_core.use_cases.anchoring.seal import SealBatch
from identity_core.use_cases.anchoring.worker import AnchorWorker


@dataclass(frozen=True, slots=True)
class AnchorAdministration:
    """The outbox and its worker, None where the ledger records no digests, without a server around them."""

    store: Store
    ledger: LedgerBackend
    worker: AnchorWorker | None


@contextlib.asynccontextmanager
async def anchor_administration(settings: Settings) -> AsyncIterator[AnchorAdministration]:
    """Opens both beside a running service, for the command line. Raises ``StartError``."""
    async with AsyncExitStack() as stack:
        logged, store = await open_beside(settings, stack)
        yield AnchorAdministration(store, logged.ledger, anchor_worker(settings, logged, store))


def anchor_worker(settings: Settings, logged: TransparencyLog, store: Store) -> AnchorWorker | None:
    """What puts proofs on the ledger; None where that records no digests. Raises ``StartError``."""
    ledger, chosen, clock = logged.ledger, settings.anchoring, SystemClock()
    if not isinstance(ledger, AnchoringLedger):
        if chosen.enabled:
            raise StartError(f"anchoring.enabled is true, and the ledger {settings.ledger.backend} cannot anchor")
        return None
    policy = AnchoringPolicy(
        chosen.batch_size, timedelta(seconds=chosen.seal_seconds), chosen.attempts, chosen.retry_seconds
    )
    journal, checkpoint = AnchorJournal(store.audit), NewestCheckpoint(logged.follower, logged.signer.key.name)
    return AnchorWorker(
        store.outbox,
        SealBatch(store.outbox, ledger.anchor_ledger_name, checkpoint, clock, policy.batch_size),
        FollowBatches(store.outbox, ledger, journal, clock, policy),
        RevokeLeaves(store.outbox, ledger, journal, clock, policy.retry_seconds),
        clock,
        policy,
    )
