"""The sinks of all extensions, which write rows of an event in the transaction of its change (``EventSink``).

An error of a vital sink rolls back the change. Every other sink writes within a savepoint, so that an error loses only its own rows; the
loss is counted and logged. Then each of several events is written separately, so that one bad event does not lose rows of another.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Sequence
from time import perf_counter
from typing import Final

from msgspec import Struct, field

from identity_core.database import Database, Transaction
from identity_core.domain.activity import EventRecord
from identity_core.ports.activity import EventSink

SLOW_SECONDS: Final = 0.1
"""The duration after which a write is logged, because an embedded database blocks all requests meanwhile."""

log = logging.getLogger("identity.events")


class OpenSink(Struct, eq=False):
    """A sink of the extension ``name``. Unless it is vital, it counts its ``lost`` events and the ``seconds`` of its writes.

    A loss counts once, also if the database repeats the transaction.
    """

    name: str
    sink: EventSink
    is_vital: bool
    lost: int = 0
    seconds: float = 0.0
    _counted: deque[EventRecord] = field(default_factory=lambda: deque(maxlen=1_024))

    def attempt(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        """Write the rows of the events, or lose them. Raises ``DatabaseError`` or the driver's error: when the transaction is lost."""
        begun = perf_counter()
        self._attempt(transaction, records)
        self.seconds += (took := perf_counter() - begun)
        if took > SLOW_SECONDS:
            log.error("the event sink of %s took %.1f s for %d events", self.name, took, len(records))

    def _attempt(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        transaction.execute("SAVEPOINT event_sink")
        try:
            self.sink.write(transaction, records)
        # The sink is code of an extension, which must not refuse the change.
        except Exception as error:  # noqa: BLE001
            # Raises where the whole transaction is lost.
            transaction.execute("ROLLBACK TO SAVEPOINT event_sink")
            if len(records) > 1:
                for one in records:
                    self._attempt(transaction, (one,))
            elif not any(one is records[0] for one in self._counted):
                self._counted.append(records[0])
                self.lost += 1
                # The 1st, 2nd, 4th time and so on. Not the text of the error, which may contain what no log may have.
                if self.lost & (self.lost - 1) == 0:
                    kinds = type(records[0].event).__name__, type(error).__name__
                    log.error("the event sink of %s lost %s: %s (%d times)", self.name, *kinds, self.lost)
        transaction.execute("RELEASE SAVEPOINT event_sink")


class StoredEvents:
    """The port ``EventLog`` on the store's database. ``sinks`` receive each event in their order."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.sinks = list[OpenSink]()

    @property
    def has_vital(self) -> bool:
        """Return whether there is a sink that every change requires, such as that of an audit log."""
        return any(each.is_vital for each in self.sinks)

    def write(self, records: Sequence[EventRecord], *, durable: bool = False) -> Awaitable[None]:
        return self._database.write(lambda transaction: self.insert(transaction, records), durable=durable)

    def insert(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        """Write the events by all sinks within ``transaction``."""
        for each in self.sinks:
            if wanted := [one for one in records if type(one.event) in each.sink.kinds]:
                (each.sink.write if each.is_vital else each.attempt)(transaction, wanted)
