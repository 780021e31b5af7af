"""The acceptance of older databases that an operator restored on purpose, and the report of the loss."""

from __future__ import annotations

from collections.abc import Callable

from identity_records.audit import AuditLines
from identity_records.chain import require_line
from msgspec import Struct

from identity_codec.values import replace
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
    """A ledger and a store of different installations, which cannot continue together."""


class ForkedLog(StorageMismatch):
    """A fork: others hold a checkpoint of lost entries, so new checkpoints must not have the same name."""


class Rollback(Struct, frozen=True):
    """The extent of a rollback.

    - ``reason``: the message of a start, empty if a start would accept the databases.
    - ``entries``, ``audit_lines``: the content of the databases now.
    - ``known_entries``, ``known_audit_lines``: their former content, as far as it is known.
    """

    reason: str
    entries: int
    known_entries: int
    audit_lines: int
    known_audit_lines: int


class AcceptRollback(Struct, frozen=True):
    """The acceptance of a rollback. Rows of lost entries are dropped, the audit log records it, and the current checkpoint is
    stored. No other process may write meanwhile."""

    check: CheckStorage
    log: TransparencyLog
    audit: AuditLines
    memory: CheckpointFile
    tree: TransparencyTree
    record: Record
    clock: Clock

    async def __call__(self, agreed: Callable[[Rollback], bool], *, new_origin: str | None = None) -> Rollback:
        """Return the loss. Nothing is changed unless ``agreed`` accepts it. With ``new_origin``, the log has that name from then
        on. Raises ``AnotherLedger``, ``ForkedLog``, and as the ports do."""
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
        """Refuse the ledger of another installation. An older ledger of this one agrees with the tree up to its end."""
        end = min((await self.check.ledger.head()).sequence, (await self.check.tree.frontier()).size)
        try:
            await self.check.entry(end)
        except StorageMismatch as error:
            raise AnotherLedger(
                f"ledger and store are of different installations: they differ at entry {end}"
            ) from error


def _refuse_fork(kept: Remembered | None, found: Rollback, new_origin: str | None) -> None:
    """Refuse two histories under one name: if others hold a newer checkpoint, the log must continue under another name."""
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
