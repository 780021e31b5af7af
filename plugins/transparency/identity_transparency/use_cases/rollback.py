"""Going on from databases that are older than they were, because an operator puts a backup in place on purpose; and what that loses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from identity_records.audit import AuditLines
from identity_records.chain import require_line

from identity_codec.values import value_class
from identity_core.domain.activity import OPERATOR, Event, RequestContext
from identity_core.errors import StorageMismatch
from identity_core.ports.clock import Clock
from identity_core.use_cases.record import Record
from identity_tlog.tree import Malformed
from identity_transparency.remembered import CheckpointFile, Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.project import TransparencyLog
from identity_transparency.use_cases.storage import CheckStorage


class AnotherLedger(StorageMismatch):
    """Ledger and store are of different installations: neither can go on from the other."""


class ForkedLog(StorageMismatch):
    """Others hold a checkpoint of entries that are lost, and what is signed now under the same name is a fork."""


@value_class
class Rollback:
    """``reason`` is what a start would say, empty where it would say nothing. ``entries`` and ``audit_lines`` are what the databases
    hold, ``known_entries`` and ``known_audit_lines`` what they held, as far as anything still tells."""

    reason: str
    entries: int
    known_entries: int
    audit_lines: int
    known_audit_lines: int


@value_class
class AcceptRollback:
    """The acceptance of a rollback. Rows of lost entries are dropped, the audit log records it, and the present checkpoint is stored.
    Nothing else may write meanwhile."""

    check: CheckStorage
    log: TransparencyLog
    audit: AuditLines
    memory: CheckpointFile
    tree: TransparencyTree
    record: Record
    clock: Clock

    async def __call__(self, agreed: Callable[[Rollback], bool], *, new_origin: str | None = None) -> Rollback:
        """Return what is lost; nothing is changed unless ``agreed`` says yes to it. With ``new_origin`` the log has that name from then
        on. Raises ``AnotherLedger``, ``ForkedLog``, and what the ports raise."""
        kept = self._load()
        found = await self._compare(kept)
        await self._refuse_another()
        _refuse_fork(kept, found, new_origin)
        if not agreed(found):
            return found
        if found.reason:
            await self.tree.drop_projections(found.entries)
            context = RequestContext("acceptRollback", OPERATOR)
            await self.record(context, _event(found), self.clock.now(), durable=True)
        signer = self.log.signer
        if new_origin is not None:
            await self.tree.rename(new_origin)
            signer = signer.renamed(new_origin)
        tree = await self.log.follower.now()
        end = await self.audit.settled()
        self.memory.replace(Remembered(await signer.signed(tree), *end))
        return found

    def _load(self) -> Remembered | None:
        try:
            return self.memory.load()
        except Malformed:
            return None

    async def _compare(self, kept: Remembered | None) -> Rollback:
        entries = (await self.check.ledger.head()).sequence
        lines, _ = await self.audit.settled()
        projected = max(await self.check.index.cursor(), (await self.check.tree.frontier()).size)
        known = (0, 0) if kept is None else (kept.checkpoint.size, kept.audit_lines)
        found = Rollback("", entries, max(entries, projected, known[0]), lines, max(lines, known[1]))
        try:
            await self.check.projections()
            if kept is not None:
                await self.check.remembered(kept, await self.log.signer.refresh())
                await require_line(self.audit, kept.audit_lines, kept.audit_link)
        except StorageMismatch as error:
            return replace(found, reason=str(error))
        return found

    async def _refuse_another(self) -> None:
        """An older ledger holds what the tree knows of it, up to its end. Another one does not."""
        end = min((await self.check.ledger.head()).sequence, (await self.check.tree.frontier()).size)
        try:
            await self.check.entry(end)
        except StorageMismatch as error:
            raise AnotherLedger(
                f"ledger and store are of different installations: they differ at entry {end}"
            ) from error


def _refuse_fork(kept: Remembered | None, found: Rollback, new_origin: str | None) -> None:
    """Refuse two histories under one name: a log of which others hold a newer checkpoint continues under another name."""
    if kept is None or not kept.is_published or kept.checkpoint.size <= found.entries:
        return
    if new_origin in (None, kept.checkpoint.origin):
        lost = kept.checkpoint.size - found.entries
        raise ForkedLog(
            f"others hold a checkpoint of {kept.checkpoint.size} entries of {kept.checkpoint.origin}, of which {lost} are lost: "
            "whatever is signed now under this name is a fork"
        )


def _event(found: Rollback) -> Event:
    return Event(
        details={
            "entriesLost": found.known_entries - found.entries,
            "auditLinesLost": found.known_audit_lines - found.audit_lines,
            "reason": found.reason,
        }
    )
