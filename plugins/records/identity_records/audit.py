"""The audit log: lines of JSON, each chained to the one before by a hash, so removed or edited lines are found (``chain.py``).

``audit_head`` contains the end of the chain, with a tag that only the service can make (``RowMac``). A line is chained to that head
and not to the last line, so a removed end leaves a gap. If the head is foreign, or later lines are unknown to it, the chain
continues after the last line. The head then stays unchanged until an operator keys the log anew. Expired lines are cut off at the
front. The cut has a tag like the head, hides the lines at once, and lets them be deleted a few at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_codec.times import printed_exactly
from identity_core.database import Transaction
from identity_core.domain.activity import EVERY_EVENT, REFUSED, EventRecord
from identity_core.store import Store
from identity_core.store.records import Repository, delete_first
from identity_core.store.requests import touch

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
_APPEND = f"""WITH moved AS ({_GO_ON} RETURNING id) {_INTO} SELECT line.* FROM moved,
unnest(CAST(:sequences AS bigint[]), CAST(:lines AS bytea[]), CAST(:links AS bytea[])) AS line
"""  # noqa: S608
_READ = """
SELECT sequence, line, link FROM audit_lines WHERE sequence > :after
AND sequence > (SELECT coalesce(max(cut_sequence), 0) FROM audit_head WHERE id = 1) ORDER BY sequence LIMIT :limit
"""
_CUT_OFF = "SELECT cut_sequence, cut_link, cut_mac FROM audit_head WHERE id = 1"
_CUT_THROUGH = "UPDATE audit_head SET cut_sequence = :sequence, cut_link = :link, cut_mac = :mac WHERE id = 1"
_HAS = "SELECT link FROM audit_lines WHERE sequence = :sequence"
_FIRST = "SELECT min(sequence) FROM audit_lines"
_DROP = delete_first("audit_lines", "sequence <= :cut ORDER BY sequence")


GENESIS: Final = bytes(32)
_TAG: Final = b"identity audit line v1\n"


class ChainedLine(Struct, frozen=True):
    """One line as it is stored: its number from 1, its JSON as it was hashed, and the link (32 bytes)."""

    sequence: int
    line: bytes
    link: bytes


class ChainHead(Struct, frozen=True):
    """The number and the link of the last line; 0 and ``GENESIS`` for an empty log."""

    sequence: int = 0
    link: bytes = GENESIS


def next_link(previous: bytes, line: bytes) -> bytes:
    """Return the link of ``line`` behind a line whose link is ``previous``."""
    return hashlib.sha256(_TAG + previous + line).digest()


class KeyedHead(Struct, frozen=True):
    """The stored head of the log. ``keyed_from`` is the number of the first line that was written with tags; earlier lines are
    unverified."""

    head: ChainHead
    keyed_from: int

    def encode(self) -> bytes:
        """Return the message of the tag."""
        return b"identity audit head v1\n%d %d %s" % (self.head.sequence, self.keyed_from, self.head.link)


def encode_cut(cut: ChainHead) -> bytes:
    """Return the message of a cut's tag."""
    return b"identity audit cut v1\n%d %s" % (cut.sequence, cut.link)


class AuditLines(Repository):
    """The append-only log of a store, and its sink."""

    kinds = EVERY_EVENT

    def __init__(self, store: Store) -> None:
        super().__init__(store.database)
        self._mac = store.row_mac(b"identity audit_head v1")
        self._cut_mac = store.row_mac(b"identity audit_cut v1")
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
        self._last, self._is_ours = self._find_head(transaction)
        self._last_mac = self._mac.tag(self._last.encode())
        self._is_shared = self._last != before

    def _are_added(self, transaction: Transaction, records: Sequence[EventRecord]) -> bool:
        """Add the lines. Return False if another process wrote since, or the last write here was undone."""
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

    def _find_head(self, transaction: Transaction) -> tuple[KeyedHead, bool]:
        """Return the head that the next line is chained to, and whether this service made it, so that it is moved."""
        row = transaction.execute(_HEAD).fetchone()
        kept = self._parse_head(row)
        if kept is not None and (row[4] or 0) <= kept.head.sequence:
            return kept, True
        return KeyedHead(_last_of(transaction), 0), False

    async def cut(self) -> ChainHead:
        """Return number and link of the last expired line that was cut. ``chain`` begins after it.

        It is the head of an empty log if no line was cut, or if another program wrote the cut.
        """
        return await self._database.read(self._cut_found)

    def _cut_found(self, transaction: Transaction) -> ChainHead:
        row = transaction.execute(_CUT_OFF).fetchone()
        if row is None or not isinstance(row[0], int) or row[1] is None:
            return ChainHead()
        cut = ChainHead(row[0], _octets(row[1]))
        return cut if self._cut_mac.holds(encode_cut(cut), row[2]) else ChainHead()

    async def cut_through(self, through: ChainHead, event: EventRecord) -> bool:
        """Cut the log after that line and append ``event``, which reports it, durably in one transaction.

        Return False, and change nothing, if the log is cut there or later, the line is missing, or the head is foreign.
        """
        return await self._database.write(lambda transaction: self._cut_through(transaction, through, event))

    def _cut_through(self, transaction: Transaction, through: ChainHead, event: EventRecord) -> bool:
        kept = self._parse_head(transaction.execute(_HEAD).fetchone())
        found = transaction.execute(_HAS, {"sequence": through.sequence}).fetchone()
        if kept is None or found is None or _octets(found[0]) != through.link:
            return False
        if self._cut_found(transaction).sequence >= through.sequence:
            return False
        tag = self._cut_mac.tag(encode_cut(through))
        transaction.execute(_CUT_THROUGH, {"sequence": through.sequence, "link": through.link, "mac": tag})
        self.write(transaction, (event,))
        return True

    async def drop_cut(self, *, limit: int) -> int:
        """Delete at most ``limit`` lines that were cut, the oldest first. Return how many."""

        def drop(transaction: Transaction) -> int:
            cut = self._cut_found(transaction).sequence
            return transaction.execute(_DROP[self._database.dialect], {"cut": cut, "limit": limit}).rowcount

        first = await self._database.read(lambda transaction: transaction.execute(_FIRST).fetchone()[0])
        if first is None or first > (await self.cut()).sequence:
            return 0
        return await self._database.write(drop, durable=False, heavy=True)

    async def key_from_here(self) -> int:
        """Make a head from the current last line. Return the number of the next line. An operator must have examined the log."""
        return await self._database.write(self.begin)

    def begin(self, transaction: Transaction) -> int:
        """Make a head within a transaction, at the first start of an installation."""
        head = _last_of(transaction)
        transaction.execute(_MOVE_HEAD, self._columns(KeyedHead(head, head.sequence + 1)))
        self._group = 0
        return head.sequence + 1

    def _parse_head(self, row: Any) -> KeyedHead | None:
        if row is None or not isinstance(row[0], int) or not isinstance(row[2], int) or row[1] is None:
            return None
        kept = KeyedHead(ChainHead(row[0], _octets(row[1])), row[2])
        return kept if self._mac.holds(kept.encode(), row[3]) else None

    async def head(self) -> KeyedHead | None:
        """Return the stored head; None if there is none, or if another program wrote it."""
        row = await self._database.read(lambda transaction: transaction.execute(_HEAD).fetchone())
        return self._parse_head(row)

    async def is_whole(self) -> bool:
        """Return whether the last line is the one that the head names. Neither the lines before it nor their links are checked."""
        row, last = await self._database.read(
            lambda transaction: (transaction.execute(_HEAD).fetchone(), transaction.execute(_LAST).fetchone())
        )
        kept = self._parse_head(row)
        return kept is not None and kept.head == (ChainHead() if last is None else ChainHead(last[0], _octets(last[1])))

    async def chain(self, *, after: int, limit: int) -> Sequence[ChainedLine]:
        """Return the lines after the number ``after``, in order (from 1, without gaps), as they were hashed, each with its link."""
        rows = await self._rows(_READ, {"after": after, "limit": limit})
        return [ChainedLine(sequence, _octets(line), _octets(link)) for sequence, line, link in rows]

    async def settled(self) -> tuple[int, bytes]:
        """Return number and link of the last line, (0, 32 zero bytes) without one. On return, the store up to it is on the disk."""
        return await self._database.write(_settle)

    async def last(self) -> tuple[int, bytes]:
        """Return number and link of the last line, which may not be on the disk yet."""
        last = await self._database.read(_last_of)
        return last.sequence, last.link

    def require_in_place(self) -> None:
        """Raise ``DatabaseError``: when the file of the database was replaced."""
        self._database.require_in_place()


def audit_of(store: Store) -> AuditLines:
    """Return the sink of an open store; if it has none, the log for reading."""
    return next((one.sink for one in store.activity.sinks if isinstance(one.sink, AuditLines)), None) or AuditLines(
        store
    )


def _last_of(transaction: Transaction) -> ChainHead:
    found = transaction.execute(_LAST).fetchone()
    return ChainHead() if found is None else ChainHead(found[0], _octets(found[1]))


def _octets(value: bytes | str) -> bytes:
    """Return a column as bytes. A program that edits the table may leave text there, which breaks the chain."""
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


def _settle(transaction: Transaction) -> tuple[int, bytes]:
    touch(transaction)
    last = _last_of(transaction)
    return last.sequence, last.link
