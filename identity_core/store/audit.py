"""The audit log: lines of JSON, each chained to the one before by a hash, so that a removed or edited line shows
(``domain/activity.py``).

How far the chain reaches stands in ``audit_head``, with a tag that only the service can make (``row_mac.py``). A line is chained to
that head and not to whatever is the last line: where somebody cut the end off, a gap stays for ever. Where the head is not ours, or
lines stand behind it that it does not know, the chain goes on behind the last line and the head stays as it is, for all to see,
until an operator has the log keyed anew.

Lines that are past their time are cut off in front: the cut has a tag as the head has, hides them at once, and lets them be deleted
a few at a time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from identity_codec.times import parse, printed_exactly
from identity_codec.values import value_class
from identity_core.database import Database, Transaction
from identity_core.domain.activity import (
    EVERY_EVENT,
    REFUSED,
    ChainedLine,
    ChainHead,
    EventRecord,
    KeyedHead,
    encode_cut,
    next_link,
)
from identity_core.store.records import Repository, delete_first
from identity_core.store.row_mac import RowMac

_HEAD = """
SELECT sequence, link, keyed_from, mac, (SELECT max(sequence) FROM audit_lines) FROM audit_head WHERE id = 1
"""
_LAST = "SELECT sequence, link FROM audit_lines ORDER BY sequence DESC LIMIT 1"
_INTO = "INSERT INTO audit_lines (sequence, line, link)"
_INSERT = f"{_INTO} VALUES (?, ?, ?)"
_MOVE_HEAD = """
UPDATE audit_head SET sequence = :sequence, link = :link, keyed_from = :keyed_from, mac = :mac WHERE id = 1
"""
# Only from the head that was written here last, and where no line stands behind it.
_GO_ON = f"""{_MOVE_HEAD}
AND sequence = :last AND link = :last_link AND keyed_from = :keyed_from AND mac = :last_mac
AND NOT EXISTS (SELECT 1 FROM audit_lines WHERE audit_lines.sequence > :last)
"""  # noqa: S608  (its own text)
# On a server each statement is a journey.
_APPEND = f"""WITH moved AS ({_GO_ON} RETURNING id) {_INTO} SELECT line.* FROM moved,
unnest(CAST(:sequences AS bigint[]), CAST(:lines AS bytea[]), CAST(:links AS bytea[])) AS line
"""  # noqa: S608
_PLACE = "SELECT sequence, line, link FROM audit_lines"
_READ = """
SELECT sequence, line, link FROM audit_lines WHERE sequence > :after
AND sequence > (SELECT coalesce(max(cut_sequence), 0) FROM audit_head WHERE id = 1) ORDER BY sequence LIMIT :limit
"""
_CUT_OFF = "SELECT cut_sequence, cut_link, cut_mac FROM audit_head WHERE id = 1"
_CUT_THROUGH = "UPDATE audit_head SET cut_sequence = :sequence, cut_link = :link, cut_mac = :mac WHERE id = 1"
_HAS = "SELECT link FROM audit_lines WHERE sequence = :sequence"
_FIRST = "SELECT min(sequence) FROM audit_lines"
_DROP = delete_first("audit_lines", "sequence <= :cut ORDER BY sequence")
# A commit without a change would not reach the disk, and lines before it are not durable by themselves.
# SQLite does not write a page for a row that is updated to what it is.
_TOUCH = "INSERT INTO idempotency_keys (key_hash, fingerprint, begun_at, body) VALUES ('touch', '', 0, :body)"
_UNTOUCH = "DELETE FROM idempotency_keys WHERE key_hash = 'touch'"


class AuditLines(Repository):
    """The port ``AuditLog`` on the tables of the store, and the sink that writes them."""

    kinds = EVERY_EVENT

    def __init__(self, database: Database, secret: bytes) -> None:
        super().__init__(database)
        self._mac = RowMac(secret, b"identity audit_head v1")
        self._cut_mac = RowMac(secret, b"identity audit_cut v1")
        self._group = 0
        self._last, self._is_ours, self._is_shared = KeyedHead(ChainHead(), 1), False, False
        self._last_mac = b""

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        """Add the next lines of the chain. Of verifications only those have one that an API key asked for.

        If no other process writes, the head is not read: the statement that moves it shows whether it is where the line before left it.
        """
        records = [one for one in records if one.event.verification is None or one.context.caller.key]
        if not records:
            return
        if self._group != transaction.group and (self._is_shared or not self._is_ours):
            self._look(transaction)
        self._group = transaction.group
        if not self._are_added(transaction, records):
            self._look(transaction)
            self._are_added(transaction, records)

    def _look(self, transaction: Transaction) -> None:
        before = self._last
        self._last, self._is_ours = self._found(transaction)
        self._last_mac = self._mac.tag(self._last.encode())
        self._is_shared = self._last != before

    def _are_added(self, transaction: Transaction, records: Sequence[EventRecord]) -> bool:
        """False where another process wrote since, or what was written here last was undone."""
        before, head, lines = self._last.head, self._last.head, list[tuple[int, bytes, bytes]]()
        for one in records:
            line = to_line(head.sequence + 1, one)
            head = ChainHead(head.sequence + 1, next_link(head.link, line))
            lines.append((head.sequence, line, head.link))
        moved = KeyedHead(head, self._last.keyed_from)
        columns = self._columns(moved)
        columns |= {"last": before.sequence, "last_link": before.link, "last_mac": self._last_mac}
        if self._is_ours and self._database.dialect == "postgresql":
            sequences, texts, links = (list(column) for column in zip(*lines, strict=True))
            columns |= {"sequences": sequences, "lines": texts, "links": links}
            if transaction.execute(_APPEND, columns).rowcount != len(lines):
                return False
        elif self._is_ours and transaction.execute(_GO_ON, columns).rowcount != 1:
            return False
        else:
            transaction.executemany(_INSERT, lines)
        self._last, self._last_mac = moved, columns["mac"]
        return True

    def _columns(self, kept: KeyedHead) -> dict[str, Any]:
        head, tag = kept.head, self._mac.tag(kept.encode())
        return {"sequence": head.sequence, "link": head.link, "keyed_from": kept.keyed_from, "mac": tag}

    def _found(self, transaction: Transaction) -> tuple[KeyedHead, bool]:
        """The head that the next line is chained to, and whether it is ours and is to be moved."""
        row = transaction.execute(_HEAD).fetchone()
        kept = self._kept(row)
        if kept is not None and (row[4] or 0) <= kept.head.sequence:
            return kept, True
        return KeyedHead(_last_of(transaction), 0), False

    async def cut(self) -> ChainHead:
        return await self._database.read(self._cut_found)

    def _cut_found(self, transaction: Transaction) -> ChainHead:
        row = transaction.execute(_CUT_OFF).fetchone()
        if row is None or not isinstance(row[0], int) or row[1] is None:
            return ChainHead()
        cut = ChainHead(row[0], _octets(row[1]))
        return cut if self._cut_mac.holds(encode_cut(cut), row[2]) else ChainHead()

    async def cut_through(self, through: ChainHead, event: EventRecord) -> bool:
        return await self._database.write(lambda transaction: self._cut_through(transaction, through, event))

    def _cut_through(self, transaction: Transaction, through: ChainHead, event: EventRecord) -> bool:
        kept = self._kept(transaction.execute(_HEAD).fetchone())
        found = transaction.execute(_HAS, {"sequence": through.sequence}).fetchone()
        if kept is None or found is None or _octets(found[0]) != through.link:
            return False
        if self._cut_found(transaction).sequence >= through.sequence:
            return False
        columns = {"sequence": through.sequence, "link": through.link, "mac": self._cut_mac.tag(encode_cut(through))}
        transaction.execute(_CUT_THROUGH, columns)
        self.write(transaction, (event,))
        return True

    async def drop_cut(self, *, limit: int) -> int:
        def drop(transaction: Transaction) -> int:
            # Only what was cut by the service: who writes that row deletes nothing by it.
            cut = self._cut_found(transaction).sequence
            return transaction.execute(_DROP[self._database.dialect], {"cut": cut, "limit": limit}).rowcount

        first = await self._database.read(lambda transaction: transaction.execute(_FIRST).fetchone()[0])
        if first is None or first > (await self.cut()).sequence:
            return 0
        return await self._database.write(drop, durable=False, heavy=True)

    async def key_from_here(self) -> int:
        return await self._database.write(self._key_from_here)

    def _key_from_here(self, transaction: Transaction) -> int:
        head = _last_of(transaction)
        transaction.execute(_MOVE_HEAD, self._columns(KeyedHead(head, head.sequence + 1)))
        self._group = 0
        return head.sequence + 1

    def _kept(self, row: Any) -> KeyedHead | None:
        if row is None or not isinstance(row[0], int) or not isinstance(row[2], int) or row[1] is None:
            return None
        kept = KeyedHead(ChainHead(row[0], _octets(row[1])), row[2])
        return kept if self._mac.holds(kept.encode(), row[3]) else None

    async def head(self) -> KeyedHead | None:
        row = await self._database.read(lambda transaction: transaction.execute(_HEAD).fetchone())
        return self._kept(row)

    async def is_whole(self) -> bool:
        row, last = await self._database.read(
            lambda transaction: (transaction.execute(_HEAD).fetchone(), transaction.execute(_LAST).fetchone())
        )
        kept = self._kept(row)
        return kept is not None and kept.head == (ChainHead() if last is None else ChainHead(last[0], _octets(last[1])))

    async def chain(self, *, after: int, limit: int) -> Sequence[ChainedLine]:
        rows = await self._rows(_READ, {"after": after, "limit": limit})
        return [ChainedLine(sequence, _octets(line), _octets(link)) for sequence, line, link in rows]


def _last_of(transaction: Transaction) -> ChainHead:
    found = transaction.execute(_LAST).fetchone()
    return ChainHead() if found is None else ChainHead(found[0], _octets(found[1]))


def _octets(value: bytes | str) -> bytes:
    """A column as it lies there: who edits the table by hand may well leave text behind, and that is for the chain to find."""
    return value.encode() if isinstance(value, str) else bytes(value)


def to_line(sequence: int, record: EventRecord) -> bytes:
    """Return the JSON that is stored and hashed; members in a fixed order."""
    event, context, key = record.event, record.context, record.context.caller.key
    details = dict(event.details)
    if event.outcome == REFUSED and event.code is not None:
        details["code"] = event.code
    return orjson.dumps(
        {
            "sequence": sequence,
            "at": printed_exactly(record.at),
            "requestId": context.request_id,
            "operation": context.operation,
            "caller": context.caller.identity or None,
            "fingerprint": None if key is None else key.fingerprint,
            "target": event.target,
            "outcome": event.outcome,
            "details": details,
        }
    )


@value_class
class AuditPlace:
    """A line of the chain: its number, its link and its time."""

    sequence: int
    link: bytes
    at: datetime


def audit_place(transaction: Transaction, sequence: int | None) -> AuditPlace | None:
    """The line ``sequence``, or the last one; None where there is none. Its table is the same in every version that has been released."""
    where = "ORDER BY sequence DESC LIMIT 1" if sequence is None else "WHERE sequence = :sequence"
    row = transaction.execute(f"{_PLACE} {where}", {} if sequence is None else {"sequence": sequence}).fetchone()
    if row is None:
        return None
    return AuditPlace(row[0], _octets(row[2]), parse(orjson.loads(bytes(row[1]))["at"]).astimezone(UTC))


class StoredAuditEnd(Repository):
    """The end of the audit log."""

    async def settled(self, size: int = 0) -> tuple[int, bytes]:
        """Return number and link of the last line, (0, 32 zero bytes) without one. On return the whole store up to it is on the disk.
        The write holds ``size`` random bytes."""
        return await self._database.write(lambda transaction: _settle(transaction, os.urandom(size)))

    async def last(self) -> tuple[int, bytes]:
        last = await self._database.read(_last_of)
        return last.sequence, last.link

    def require_in_place(self) -> None:
        self._database.require_in_place()


def _settle(transaction: Transaction, body: bytes) -> tuple[int, bytes]:
    transaction.execute(_TOUCH, {"body": body})
    transaction.execute(_UNTOUCH)
    last = _last_of(transaction)
    return last.sequence, last.link
