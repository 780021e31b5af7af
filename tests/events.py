"""Rows of the audit log, the timeline and the verification history, as tests write them: the first as events."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
from identity_records.audit import GENESIS, AuditLines, audit_of, next_link, to_line
from identity_records.extension import record_sinks
from identity_records.store import ActivityRows, TimelineEntry, Verification
from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.times import parse
from identity_core.database import Transaction
from identity_core.domain.activity import SERVICE, Event, EventRecord, RequestContext
from identity_core.store import Store
from identity_core.store.events import OpenSink


class AuditRow(Struct, frozen=True):
    """A line of the audit log; ``caller`` is an identity such as ``key:ab12…``."""

    at: datetime
    request_id: str
    operation: str
    caller: str | None
    fingerprint: str | None
    target: str | None
    outcome: str
    details: Mapping[str, JsonValue]


def from_line(line: bytes) -> AuditRow:
    """Return the row of a line as it was hashed."""
    read = orjson.loads(line)
    at = parse(read["at"]).astimezone(UTC)
    names = ("operation", "caller", "fingerprint", "target", "outcome", "details")
    return AuditRow(at, read["requestId"], *(read[name] for name in names))


async def audit_rows(log: AuditLines, *, after: int = 0, limit: int = 1000) -> list[tuple[int, AuditRow]]:
    """Return the lines after ``after`` by number."""
    return [(one.sequence, from_line(one.line)) for one in await log.chain(after=after, limit=limit)]


def open_store(folder: Path, url: str | None = None, **choices: Any) -> Store:
    """Open a store with the sinks of the records."""
    store = Store.open(folder, url, **choices)
    store.activity.sinks += [OpenSink("records", sink, is_vital=True) for sink in record_sinks(store, False)]
    return store


ROW = AuditRow(
    at=datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
    request_id="r-1",
    operation="createDid",
    caller="key:1",
    fingerprint="0123456789ab",
    target="did:ids:a",
    outcome="done",
    details={"versionId": 1, "note": "grün", "list": [None, True, 1.5]},
)
EVENT = EventRecord(Event(), RequestContext("anyOperation", SERVICE), datetime(2026, 1, 2, tzinfo=UTC))

TestRow = AuditRow | TimelineEntry | Verification


def event_of(row: AuditRow) -> EventRecord:
    """Return an event whose line is ``row``."""
    key = None if row.fingerprint is None else SimpleNamespace(fingerprint=row.fingerprint)
    caller: Any = SimpleNamespace(identity=row.caller or "", key=key)
    event = Event(target=row.target, outcome=row.outcome, details=row.details)
    return EventRecord(event, RequestContext(row.operation, caller, row.request_id), row.at)


def insert_rows(store: Store, transaction: Transaction, rows: Sequence[TestRow]) -> None:
    """Write the rows within ``transaction``."""
    audit_of(store).write(transaction, [event_of(row) for row in rows if isinstance(row, AuditRow)])
    for row in rows:
        if not isinstance(row, AuditRow):
            activity_rows(store).insert(transaction, row)


def write_rows(store: Store, rows: Sequence[TestRow], *, durable: bool = False) -> Awaitable[None]:
    """Write the rows in one transaction."""
    return store.database.write(lambda transaction: insert_rows(store, transaction, rows), durable=durable)


class Rows:
    """An ``EventLog`` that has the rows of the audit log in a list."""

    def __init__(self) -> None:
        self.rows: list[AuditRow] = []

    async def write(self, records: Sequence[EventRecord], *, durable: bool = False) -> None:
        self.rows.extend(from_line(to_line(1, one)) for one in records)


def activity_rows(store: Store) -> ActivityRows:
    """Return the sink of the timeline and of the verification history."""
    (found,) = (one.sink for one in store.activity.sinks if isinstance(one.sink, ActivityRows))
    return found


def links_hold(store: Store) -> bool:
    """Return whether each line of the audit log follows from the one before."""
    rows = store.database.read_now(
        lambda tx: tx.execute("SELECT sequence, line, link FROM audit_lines ORDER BY sequence").fetchall()
    )
    previous = GENESIS
    for number, (sequence, line, link) in enumerate(rows, 1):
        previous = next_link(previous, bytes(line))
        if number != sequence or bytes(link) != previous or not bytes(line).startswith(b'{"sequence":%d,' % number):
            return False
    return True
