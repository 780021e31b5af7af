"""An extension whose sink refuses every DID while the file of ``features.faults.words`` has ``sink:raise``. Vital if the environment says
so."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Sequence

from features.faults.words import Broken, faults
from identity_core.database import Transaction
from identity_core.domain.activity import DidChanged, Event, EventRecord
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl


class FaultySink:
    kinds: frozenset[type[Event]] = frozenset({DidChanged})

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        if "sink:raise" in faults():
            raise Broken


@contextlib.asynccontextmanager
async def open_sink(_: Kernel) -> AsyncIterator[Contribution]:
    yield Contribution(events=FaultySink())


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(name="sinks", kernel=">=1", open=open_sink, vital="IDENTITY_TEST_VITAL" in os.environ)
