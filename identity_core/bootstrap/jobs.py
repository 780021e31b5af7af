"""The background jobs of a serving process."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack
from datetime import timedelta

from identity_codec.values import value_class
from identity_core.bootstrap.ports import SystemClock
from identity_core.ports.custodian import AttendedCustodian
from identity_core.settings import Settings
from identity_core.store import Store
from identity_core.use_cases.auth.challenge import ForgetExpired
from identity_core.use_cases.background import AttendCustodian, Repeating
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import CatchUp, DidReader, IndexRepair
from identity_core.use_cases.dids.index_audit import IndexAudit, RecordSuspicions
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.use_cases.record import Record
from identity_core.use_cases.transparency import RollbackGuard, StorageWatch


@value_class
class Jobs:
    """The jobs that requests or metrics ask something of."""

    signer: LogSigner
    suspicions: RecordSuspicions
    watch: StorageWatch


async def begin_jobs(
    settings: Settings, guard: RollbackGuard, signer: LogSigner, reader: DidReader, store: Store, stack: AsyncExitStack
) -> Jobs:
    """Brings the index up to the ledger, and sets everything to work until the stack is closed. Raises ``StartError``."""
    clock, check, custodian = SystemClock(), reader.check, signer.custodian
    if isinstance(custodian, AttendedCustodian):
        attend = AttendCustodian(custodian)
        # A rotation that begins while this process starts sees it.
        await attend.guarded()
        await stack.enter_async_context(attend)
    follow, repair, suspicions = await _keep_index(settings, guard, signer, check, store, stack)
    await _forget_expired(settings, store, clock, stack)
    watch = await stack.enter_async_context(guard.watch(follow, store, clock))
    watch.hold_up(repair, suspicions)
    if settings.database_url is not None:
        watch.spare(repair, suspicions, follow)
    return Jobs(signer, suspicions, watch)


async def _keep_index(
    settings: Settings,
    guard: RollbackGuard,
    signer: LogSigner,
    check: HeadCheck,
    store: Store,
    stack: AsyncExitStack,
) -> tuple[Repeating | None, IndexRepair, RecordSuspicions]:
    """Brings the index up to the ledger, if that is the one that it was made from, holds some of it against the ledger, and keeps it
    there. What is withheld is in the suspicions."""
    await guard.require_ledger(check.ledger, store)
    # Which keys are retired is known before anything of theirs is looked at.
    follow = await guard.follow(signer, check, store)
    catch_up = CatchUp(check.methods, check.ledger, store.documents, check)
    audit = IndexAudit(check, check.ledger, store.index_rows, store.quarantine, Record(store.activity), SystemClock())
    # What is brought up stands on rows of the present form.
    await audit.seal()
    await catch_up()
    await audit.sample(settings.ledger.sample, secrets.randbelow)
    await audit.release()
    suspicions = RecordSuspicions(audit)
    await suspicions.step()
    repair = IndexRepair(catch_up)
    await stack.enter_async_context(repair)
    await stack.enter_async_context(suspicions)
    if follow is not None:
        await stack.enter_async_context(follow)
    return follow, repair, suspicions


async def _forget_expired(settings: Settings, store: Store, clock: SystemClock, stack: AsyncExitStack) -> None:
    """Deletes what has expired, and what is kept for a time, as long as the process lives."""
    proof_lifetime = timedelta(seconds=settings.proof.lifetime_seconds)
    forgetting = ForgetExpired(
        store.spent_challenges,
        store.verifier_challenges,
        proof_lifetime,
        store.idempotency,
        store.usage,
        clock,
        clock.monotonic,
    )
    await stack.enter_async_context(forgetting)
