"""The one place where failures of the database become refusals that a client may see."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import TypeVar

from identity_core.database import DatabaseDamaged, DatabaseOverloaded, DatabaseReplaced, DatabaseUnavailable
from identity_core.domain.errors import Overloaded, PluginUnavailable, StorageMismatch

T = TypeVar("T")


class _Translation:
    """A context without state, entered on every hot path; a generator would cost more than the read inside it."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, DatabaseOverloaded):
            raise Overloaded(details={"retryAfter": 1}) from error
        if isinstance(error, DatabaseDamaged | DatabaseReplaced):
            raise StorageMismatch from error
        if isinstance(error, DatabaseUnavailable):
            raise PluginUnavailable("The database is not available.", details={"retryAfter": 1}) from error


translated = _Translation()


async def settled(written: Awaitable[T]) -> T:
    """What a queued write gives, its failures translated."""
    with translated:
        return await written
