"""Comparison of the databases with the checkpoint that is stored apart from them: at a start, while the service runs, and at
`identity ledger accept-rollback`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from identity_records.audit import audit_of
from identity_records.chain import require_line
from msgspec import Struct

from identity_core.bootstrap.ports import SystemClock, convert_storage_faults
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import LedgerBackend
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.log_keys import SERVICE_KEY, LogSigner, public_key
from identity_core.use_cases.record import Record
from identity_core.use_cases.transparency import RollbackGuard
from identity_transparency.opening import (
    check_new_origin,
    check_of,
    checkpoint_file_of,
    checkpoint_keys,
    followed,
    load_remembered,
    log_beside,
    open_log,
)
from identity_transparency.remembered import CheckpointFile
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import first_key
from identity_transparency.use_cases.follow import FollowServiceLog
from identity_transparency.use_cases.rollback import AcceptRollback, AnotherLedger, ForkedLog, Rollback
from identity_transparency.use_cases.storage import require_signed
from identity_transparency.use_cases.watch import WatchStorage


class CheckpointGuard(RollbackGuard, Struct, frozen=True):
    """The comparison of an installation's databases with its stored checkpoint."""

    settings: Settings

    async def require_key(self, custodian: Custodian) -> None:
        """Raise ``StartError``, ``StorageMismatch``: when the custodian did not sign the stored checkpoint, because it would make
        other keys and write with them.

        A custodian with replaced keys makes none; the service log states later which of them signed.
        """
        kept = load_remembered(self.settings)
        if kept is None or await public_key(custodian, SERVICE_KEY) is not None:
            return
        public = await checkpoint_keys(lambda: first_key(custodian, kept.checkpoint.origin))
        require_signed(kept, public)

    async def require_ledger(self, ledger: LedgerBackend, store: Store) -> None:
        """Raise ``StorageMismatch``: when the ledger is not the one that the index and the tree were projected from."""
        check = check_of(ledger, store)
        await check.caught_up()
        await check.projections()

    async def follow(self, signer: LogSigner, check: HeadCheck, store: Store) -> FollowServiceLog:
        """Read the service log, and update ``signer`` and the refusals of ``check`` from it. Raises ``StartError``."""
        return await followed(signer, check.ledger, store, check)

    @contextlib.asynccontextmanager
    async def watch(self, follow: FollowServiceLog, store: Store, clock: SystemClock) -> AsyncIterator[WatchStorage]:
        """Bring the log up to the ledger, compare everything with the stored checkpoint, then watch. Raises ``StartError``,
        ``StorageMismatch``."""
        settings, check = self.settings, check_of(follow.ledger, store)
        logged = await open_log(settings, follow.ledger, store, follow.signer.custodian)
        await follow.tell(logged.signer.hear)
        audit, memory = audit_of(store), CheckpointFile(checkpoint_file_of(settings))
        watch = WatchStorage(check, logged, audit, memory, settings.ledger.checkpoint_seconds, clock, clock.fault)
        await logged.follower.now()
        kept = load_remembered(settings)
        if kept is not None:
            await check.remembered(kept, await checkpoint_keys(logged.signer.refresh))
            await require_line(audit, kept.audit_lines, kept.audit_link)
        await watch.look()
        await watch.remember()
        async with watch:
            yield watch


async def accept_rollback(
    settings: Settings, agreed: Callable[[Rollback], bool], *, new_origin: str | None = None
) -> Rollback:
    """Continue from the databases as they are, if ``agreed``; with ``new_origin`` the log has that name from then on.

    The service must not run. Raises ``StartError``.
    """
    if new_origin is not None:
        check_new_origin(settings, new_origin)
    with convert_storage_faults(settings):
        async with log_beside(settings) as (logged, store):
            audit, memory = audit_of(store), CheckpointFile(checkpoint_file_of(settings))
            check, record = check_of(logged.ledger, store), Record(store.activity)
            accept = AcceptRollback(
                check, logged, audit, memory, TransparencyTree(store.database), record, SystemClock()
            )
            try:
                return await accept(agreed, new_origin=new_origin)
            except AnotherLedger as error:
                fix = "put both back from one backup; neither can go on from the other"
                raise StartError(str(error), "the databases", fix) from error
            except ForkedLog as error:
                fix = "restore a newer backup; or begin a log of another name: `identity ledger accept-rollback --new-origin NAME`"
                raise StartError(str(error), "the databases", fix) from error
