"""The sinks of all parts, which write rows of an event in the transaction of its change (``EventSink``).

A vital sink is trusted to write: what it raises undoes the change. Any other writes within a savepoint, so that only its own rows are
lost; the loss is counted and logged. Of several events each is tried alone then, so that one bad event costs no row of another.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from time import perf_counter
from typing import Final

from identity_core.database import Database, Transaction
from identity_core.domain.activity import EVERY_EVENT, REFUSED, ApiKeyChanged, DidChanged, Event, EventRecord, Parties
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.checks import compared_of
from identity_core.domain.proofs.verification import ProofVerification, issuer_of
from identity_core.ports.activity import EventSink, TimelineEntry, Verification
from identity_core.store.records import Table, row_id

SLOW_SECONDS: Final = 0.1
"""A write that takes longer is logged: on an embedded database no request is answered meanwhile."""

log = logging.getLogger("identity.events")


@dataclass(slots=True, eq=False)
class OpenSink:
    """A sink of the part ``name``. Unless it is vital, it has the number of events that it has ``lost``, and the ``seconds`` of its writes.

    A loss counts once, also if the database repeats the transaction.
    """

    name: str
    sink: EventSink
    is_vital: bool
    lost: int = 0
    seconds: float = 0.0
    _counted: deque[EventRecord] = field(default_factory=lambda: deque(maxlen=1_024), init=False)

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
        # The sink is code of an extension; the change is not its to refuse.
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
    """The port ``EventLog`` on the store's database. ``sinks`` get each event in their order."""

    def __init__(self, database: Database, *sinks: OpenSink) -> None:
        self._database = database
        self.sinks = [*sinks]

    def write(self, records: Sequence[EventRecord], *, durable: bool = False) -> Awaitable[None]:
        return self._database.write(lambda transaction: self.insert(transaction, records), durable=durable)

    def insert(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        """Have the sinks write the events within ``transaction``."""
        for each in self.sinks:
            if wanted := [one for one in records if type(one.event) in each.sink.kinds]:
                (each.sink.write if each.is_vital else each.attempt)(transaction, wanted)


EVENTS: Final = Table("timeline", TimelineEntry, extra=("id",))
VERIFICATIONS: Final = Table("verifications", Verification, extra=("id",))
# In the order in which ``TimelineEntry`` has them.
_OF_PARTIES: Final = attrgetter(*(field.name for field in fields(Parties)))


class ActivityRows:
    """The sink of the timeline and of the verification history. ``random`` returns bytes, so that ids of rows tell no count."""

    kinds = EVERY_EVENT - {DidChanged, ApiKeyChanged}

    def __init__(self, random: Callable[[int], bytes]) -> None:
        self._random = random

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        for one in records:
            event, caller = one.event, one.context.caller
            if event.parties is not None:
                values = one.at, event.kind, "done" if event.code is None else REFUSED, caller.identity, event.code
                self.insert(transaction, TimelineEntry(*values, *_OF_PARTIES(event.parties)))
            if event.verification is not None:
                self.insert(transaction, _verification(caller, event, event.verification, one.at))

    def insert(self, transaction: Transaction, row: TimelineEntry | Verification) -> None:
        """Add a row, which gets a new id."""
        id = row_id(row.at, self._random)
        if isinstance(row, TimelineEntry):
            transaction.execute(EVENTS.insert_by_place, EVENTS.row(row, id))
        else:
            transaction.execute(VERIFICATIONS.insert_by_place, VERIFICATIONS.row(row, id))


def _verification(caller: Caller, event: Event, verdict: ProofVerification, at: datetime) -> Verification:
    presented = verdict.presented
    only = presented.predicates[0].json if presented is not None and len(presented.predicates) == 1 else None
    return Verification(
        at=at,
        verified=verdict.verified,
        caller=caller.identity,
        verifier=None if caller.acting is None else str(caller.acting),
        fingerprint=None if caller.key is None else caller.key.fingerprint,
        holder=None if event.parties is None else event.parties.holder,
        issuer=None if presented is None else issuer_of(presented),
        schema_id=None if presented is None else presented.schema.id,
        proof_id=event.target,
        attribute=None if only is None else str(only["attributeName"]),
        predicate_type=None if only is None else str(only["type"]),
        codes=compared_of(verdict.missing) if verdict.verified else tuple(map(str, verdict.errors)),
    )
