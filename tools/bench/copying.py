"""Fills a PostgreSQL database with the entries of ``seeding.py`` by ``COPY``: a million in the time that making them takes.

The processes that make the entries also write down their rows as ``COPY`` takes them, tags of the index among them; what is left for this
one is the chain of the ledger, each link over the one before it. As with appends, a block is what is recorded at once, and times
increase.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self

import psycopg
from identity_ledger_sql import chain

from identity_codec.times import micros
from identity_core.ports.ledger import Receipt
from identity_core.store.index_rows import NAMES, VERSIONS, row_of
from identity_core.store.row_mac import RowMac, version_octets
from tools.bench.entries import OWNER, lines_of

HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER: Final = b"\xff\xff"
ENTRIES: Final = (
    "COPY ledger_entries (sequence, did, version, entry, transaction_hash, block_number, recorded_at, link) FROM STDIN"
)
INDEX: Final = f"COPY did_versions ({', '.join(NAMES)}, mac) FROM STDIN"
TABLES: Final = ("ledger_entries", "did_versions")

_NUMBER: Final = struct.Struct(">iq")
_LENGTH: Final = struct.Struct(">i")
_FIELDS: Final = struct.Struct(">h")


class Entry(NamedTuple):
    """What the chain needs of an entry, and its row but for the link."""

    sequence: int
    block: int
    recorded_at: int
    transaction: bytes
    row: bytes


class Batch(NamedTuple):
    """The DIDs of a batch, their entries in order, and their rows of the index."""

    dids: list[str]
    entries: list[Entry]
    index: bytes


def row(values: Sequence[Any], more: int = 0) -> bytes:
    """A row as COPY takes it, which has ``more`` fields beyond ``values``."""
    return b"".join((_FIELDS.pack(len(values) + more), *map(_field, values)))


def _field(value: Any) -> bytes:
    if value is None:
        return _LENGTH.pack(-1)
    if isinstance(value, int):
        return _NUMBER.pack(8, value)
    data: bytes = value.encode() if isinstance(value, str) else value
    return _LENGTH.pack(len(data)) + data


def batch_of(first: int, count: int, versions: int, log_seed: bytes, now: datetime, secret: bytes) -> Batch:
    """Rows of some DIDs, whose entries follow those of the DIDs before them."""
    mac, block = RowMac(secret, VERSIONS), first + 1
    entries: list[Entry] = []
    index: list[bytes] = []
    lines = lines_of(first, count, versions, log_seed, now)
    for sequence, line in enumerate(lines, first * versions + 1):
        transaction = chain.transaction_hash(line.did, line.version, line.entry)
        at = now + timedelta(microseconds=sequence)
        moment = micros(at)
        values = (sequence, line.did, line.version, line.entry, transaction, block, moment)
        entries.append(Entry(sequence, block, moment, transaction, row(values, 1)))
        stored = row_of(line.recorded(Receipt(transaction.hex(), block, sequence, at)), OWNER)
        index.append(row((*stored, mac.tag(version_octets(stored)))))
    return Batch([line.did for line in lines[:count]], entries, b"".join(index))


def linked(entries: Iterable[Entry], link: bytes) -> tuple[bytes, bytes]:
    """The rows of the entries after the one whose link is ``link``, and the last link."""
    rows = []
    for entry in entries:
        link = chain.link(link, entry.sequence, entry.block, entry.recorded_at, entry.transaction)
        rows += [entry.row, _LENGTH.pack(len(link)), link]
    return b"".join(rows), link


class Copying(contextlib.ExitStack):
    """Writes batches into the empty tables at ``url``, in two sessions of the server, each of which uses a core of its own."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url, self._link = url, chain.GENESIS

    def __enter__(self) -> Self:
        self.callback(self._settle)
        self._entries, self._index = (self._open_copy(statement) for statement in (ENTRIES, INDEX))
        return self

    def _open_copy(self, statement: str) -> psycopg.Copy:
        session = self.enter_context(psycopg.connect(self._url))
        copy = self.enter_context(session.cursor().copy(f"{statement} (FORMAT BINARY)".encode()))
        copy.write(HEADER)
        self.callback(copy.write, TRAILER)
        return copy

    def add(self, batch: Batch) -> None:
        rows, self._link = linked(batch.entries, self._link)
        self._entries.write(rows)
        self._index.write(batch.index)

    def _settle(self) -> None:
        """Afterwards the server knows the tables as it knows those of an installation that has grown."""
        with psycopg.connect(self._url, autocommit=True) as server:
            for table in TABLES:
                server.execute(f"VACUUM ANALYZE {table}".encode())
