"""Nothing is changed while the databases are not those that this service wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from identity_core.api.request import Admission, Headers, Operation, Request
from identity_core.domain.callers import Caller
from identity_core.errors import StorageMismatch


@dataclass(frozen=True, slots=True)
class StorageGate:
    """A ``Admission`` before another: even a signature that is checked is spent in the databases. Reading goes on. ``mismatch`` tells what
    is wrong, None when nothing is."""

    inner: Admission
    mismatch: Callable[[], StorageMismatch | None]

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Headers]:
        """See ``Admission.admit``. Raises ``StorageMismatch`` besides."""
        if operation.method != "GET" and (found := self.mismatch()) is not None:
            raise StorageMismatch(str(found))
        return await self.inner.admit(operation, request)

    async def charge(self, request: Request) -> None:
        await self.inner.charge(request)
