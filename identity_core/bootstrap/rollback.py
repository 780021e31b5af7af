"""An operator puts a backup in place on purpose: what that loses, and how the service goes on from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from identity_core.bootstrap.beside import open_beside
from identity_core.bootstrap.ports import SystemClock, checkpoint_file_of
from identity_core.bootstrap.storage import check_of, told_at_start
from identity_core.domain.activity import OPERATOR, Event, RequestContext
from identity_core.domain.ledger.tree import Malformed
from identity_core.domain.ledger.witness import Remembered
from identity_core.errors import StorageMismatch
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.store.audit import StoredAuditEnd, drop_projections
from identity_core.store.checkpoint_file import CheckpointFile
from identity_core.use_cases.ledger.storage import CheckStorage
from identity_core.use_cases.record import Record


@dataclass(frozen=True, slots=True)
class Rollback:
    """``reason`` is what a start would say, empty where it would say nothing. ``entries`` and ``audit_lines`` are what the databases
    hold, ``known_entries`` and ``known_audit_lines`` what they held, as far as anything still tells."""

    reason: str
    entries: int
    known_entries: int
    audit_lines: int
    known_audit_lines: int


async def accept_rollback(settings: Settings, agreed: Callable[[Rollback], bool]) -> Rollback:
    """Goes on from the databases as they are, if ``agreed``: what was projected from lost entries is dropped, the audit log says so,
    and the checkpoint of now is remembered. The service must not run. Raises ``StartError``."""
    with told_at_start(settings):
        async with AsyncExitStack() as stack:
            logged, store = await open_beside(settings, stack)
            check, memory = check_of(logged.ledger, store), CheckpointFile(checkpoint_file_of(settings))
            kept = _load(memory)
            found = await _compared(check, store, kept)
            public_key = logged.signer.key.public
            found = await _with_reason(found, check.projections)
            if kept is not None:
                found = await _with_reason(found, lambda: check.remembered(kept, public_key))
            await _refuse_another(check)
            if not agreed(found):
                return found
            if found.reason:
                await drop_projections(store.database, found.entries)
                now = SystemClock().now()
                await Record(store.activity)(
                    RequestContext("acceptRollback", OPERATOR), _event(found), now, durable=True
                )
            tree = await logged.follower.now()
            end = await StoredAuditEnd(store.database).settled()
            memory.replace(Remembered(await logged.signer.signed(tree), *end))
            return found


def _load(memory: CheckpointFile) -> Remembered | None:
    try:
        return memory.load()
    except Malformed:
        return None


async def _compared(check: CheckStorage, store: Store, kept: Remembered | None) -> Rollback:
    entries = (await check.ledger.head()).sequence
    lines, _ = await StoredAuditEnd(store.database).settled()
    projected = max(await check.index.cursor(), (await check.tree.frontier()).size)
    known = (0, 0) if kept is None else (kept.checkpoint.size, kept.audit_lines)
    return Rollback("", entries, max(entries, projected, known[0]), lines, max(lines, known[1]))


async def _with_reason(found: Rollback, check: Callable[[], Awaitable[None]]) -> Rollback:
    try:
        await check()
    except StorageMismatch as error:
        return replace(found, reason=found.reason or str(error))
    return found


async def _refuse_another(check: CheckStorage) -> None:
    """An older ledger holds what the tree knows of it, up to its end. Another one does not, and cannot be gone on from."""
    end = min((await check.ledger.head()).sequence, (await check.tree.frontier()).size)
    try:
        await check.entry(end)
    except StorageMismatch as error:
        raise StartError(
            f"ledger and store are of different installations: they differ at entry {end}",
            "the databases",
            "put both back from one backup; neither can go on from the other",
        ) from error


def _event(found: Rollback) -> Event:
    return Event(
        details={
            "entriesLost": found.known_entries - found.entries,
            "auditLinesLost": found.known_audit_lines - found.audit_lines,
            "reason": found.reason,
        }
    )
