"""Encoded resolution answers, by (DID, media type), as long as the version in force is the one they were made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from identity_core.api.request import Answer
from identity_core.cache import BoundedCache
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import DocumentIndex

# An answer counts only while the index remembers the head of its DID, and it remembers this many.
CACHED_ANSWERS = 4_096


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An encoded resolution of the version in force, its 304 twin, and when it goes stale by itself."""

    version_id: int
    etag: str
    answer: Answer
    not_modified: Answer
    stale_at: datetime | None


@dataclass(slots=True)
class AnswerCache:
    """The newest answers by (DID, media type); the oldest leave first. An entry counts only while the index says, cheaply, that
    its version is still the newest."""

    index: DocumentIndex
    clock: Clock
    _answers: BoundedCache[tuple[str, str], CachedAnswer] = field(default_factory=lambda: BoundedCache(CACHED_ANSWERS))

    def find(self, did: str, media: str) -> CachedAnswer | None:
        """The answer that still holds, or None."""
        cached = self._answers.get((did, media))
        if cached is None or self.index.generation(did) != cached.version_id:
            return None
        if cached.stale_at is not None and self.clock.now() >= cached.stale_at:
            return None
        return cached

    def keep(self, did: str, media: str, cached: CachedAnswer) -> None:
        """Remembers ``cached``."""
        self._answers.put((did, media), cached)
