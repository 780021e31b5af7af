"""listDidHistory: the versions of a DID, those included that exist by definition and are not written yet."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.did import Did
from identity_core.errors import DidDeactivated
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """``after`` is the version id to continue behind, or None on the last page."""

    total: int
    items: tuple[IndexedVersion, ...]
    after: int | None


@dataclass(frozen=True, slots=True)
class ListDidHistory:
    """Raises ``DidNotFound``; ``DidDeactivated`` only where the setting hides the history of a deactivated DID."""

    reader: DidReader
    visible_after_deactivation: bool

    async def __call__(self, did: Did, *, after: int | None, limit: int, descending: bool) -> HistoryPage:
        standing = await self.reader.standing(did)
        recorded, due = standing.recorded, standing.due
        if recorded.state.deactivated and not self.visible_after_deactivation:
            raise DidDeactivated(details={"did": str(did)})
        total = recorded.state.version_id + len(due)
        first = after if after is not None else (total + 1 if descending else 0)
        items = await self._slice(did, recorded, due, first, limit, descending)
        last = items[-1].state.version_id if items else 0
        more = bool(items) and (last > 1 if descending else last < total)
        return HistoryPage(total, tuple(items), last if more else None)

    async def _slice(
        self,
        did: Did,
        recorded: IndexedVersion,
        due: tuple[IndexedVersion, ...],
        after: int,
        limit: int,
        descending: bool,
    ) -> list[IndexedVersion]:
        written = recorded.state.version_id
        if descending:
            unwritten = [version for version in reversed(due) if version.state.version_id < after][:limit]
            rest = limit - len(unwritten)
            below = min(after, written + 1)
            return unwritten + await self._stored(did, recorded, below, rest, descending=True)
        stored = await self._stored(did, recorded, after, limit, descending=False) if after < written else []
        unwritten = [version for version in due if version.state.version_id > after]
        return stored + unwritten[: limit - len(stored)]

    async def _stored(
        self, did: Did, recorded: IndexedVersion, after: int, limit: int, *, descending: bool
    ) -> list[IndexedVersion]:
        if limit <= 0:
            return []
        if recorded.receipt is None:
            return [recorded]
        found = await self.reader.index.versions(str(did), after=after, limit=limit, descending=descending)
        written = recorded.state.version_id
        numbers = (
            range(after - 1, max(after - 1 - limit, 0), -1) if descending else range(after + 1, written + 1)[:limit]
        )
        by_number = {version.state.version_id: version for version in found}
        missing = next((number for number in numbers if number not in by_number), None)
        if missing is not None:
            raise self.reader.check.incomplete(did, missing)
        return [by_number[number] for number in numbers]
