"""The extension ``operations`` in a running service. Its commands open an installation by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

from identity_core.database import Database
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.retention import RecordErasure
from identity_core.use_cases.record import Record
from identity_operations.erasure import EraseHolder, EraseRecords, SweepRecords
from identity_operations.handlers import RecordHandlers
from identity_operations.retention import StoredRecords
from identity_operations.wire import DOCUMENT


@contextlib.asynccontextmanager
async def open_operations(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension."""
    records = StoredRecords(kernel.need(Database), kernel.retention)
    erase = EraseHolder(records, kernel.need(Record), kernel.clock)
    days = {kind: getattr(kernel.settings.retention, f"{kind}_days", None) for kind in records.rules}
    kept = {kind: timedelta(days=number) for kind, number in days.items() if number is not None}
    async with SweepRecords(records, kept, kernel.clock, kernel.clock.monotonic):
        yield Contribution(
            handlers=(RecordHandlers(EraseRecords(kernel.dids, erase)),), services={RecordErasure: erase}
        )


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(name="operations", kernel=">=1,<2", document=DOCUMENT, open=open_operations)
