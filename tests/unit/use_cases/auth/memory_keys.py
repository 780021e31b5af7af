"""A writable key store in a dictionary: a fake that passes the same kit as the real ones. A clock that tests move."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from identity_core.domain.callers import ApiKey
from identity_core.errors import ApiKeyNotFound, VersionConflict


class MemoryKeys:
    def __init__(self) -> None:
        self.by_id: dict[str, ApiKey] = {}
        self.asked = 0

    async def find(self, digest: str) -> ApiKey | None:
        self.asked += 1
        return next((key for key in self.by_id.values() if key.digest == digest), None)

    async def get(self, key_id: str) -> ApiKey | None:
        return self.by_id.get(key_id)

    async def list(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        return [self.by_id[key_id] for key_id in sorted(self.by_id) if key_id > (after or "")][:limit]

    async def create(self, key: ApiKey) -> None:
        if key.id in self.by_id or await self.find(key.digest) is not None:
            raise VersionConflict
        self.by_id[key.id] = key

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        if key.id not in self.by_id:
            raise ApiKeyNotFound
        if self.by_id[key.id] != expected:
            raise VersionConflict
        self.by_id[key.id] = key


class MovingClock:
    def __init__(self) -> None:
        self.passed = timedelta()

    def now(self) -> datetime:
        return datetime(2026, 1, 3, tzinfo=UTC) + self.passed

    def monotonic(self) -> float:
        return 1_000.0 + self.passed.total_seconds()

    def sleep(self, seconds: float) -> None:
        self.passed += timedelta(seconds=seconds)


class Dice:
    """Bytes that are different each time and the same in each run."""

    def __init__(self) -> None:
        self.rolled = 0

    def __call__(self, size: int) -> bytes:
        self.rolled += 1
        return self.rolled.to_bytes(4, "big") * (size // 4) + bytes(size % 4)
