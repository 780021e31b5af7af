"""The audit log: lines of JSON, each chained to the one before by a hash, so that a removed or edited line shows
(``domain/audit_chain.py``)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime

import orjson

from identity_core.database import Database, Transaction
from identity_core.domain.audit_chain import GENESIS, ChainedLine, next_link
from identity_core.domain.times import parse, printed_exactly
from identity_core.ports.repositories import AuditRow
from identity_core.store.refusals import settled, translated

_LOCK = "SELECT id FROM audit_head WHERE id = 1 FOR UPDATE"
_LAST = "SELECT sequence, link FROM audit_lines ORDER BY sequence DESC LIMIT 1"
_INSERT = "INSERT INTO audit_lines (sequence, line, link) VALUES (:sequence, :line, :link)"
_READ = "SELECT sequence, line, link FROM audit_lines WHERE sequence > :after ORDER BY sequence LIMIT :limit"


class AuditLines:
    """See ``AuditLog``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._group = 0
        self._last = (0, GENESIS)

    def write(self, row: AuditRow, *, durable: bool = False) -> Awaitable[None]:
        """See ``AuditLog.write``."""
        with translated:
            return settled(self._database.write(lambda transaction: self._append(transaction, row), durable=durable))

    def _append(self, transaction: Transaction, row: AuditRow) -> None:
        if self._group != transaction.group:
            self._last = self._read_last(transaction)
            self._group = transaction.group
        sequence, previous = self._last[0] + 1, self._last[1]
        line = to_line(sequence, row)
        link = next_link(previous, line)
        transaction.execute(_INSERT, {"sequence": sequence, "line": line, "link": link})
        self._last = (sequence, link)

    def _read_last(self, transaction: Transaction) -> tuple[int, bytes]:
        if self._database.dialect == "postgresql":
            transaction.execute(_LOCK).fetchone()
        found = transaction.execute(_LAST).fetchone()
        return (0, GENESIS) if found is None else (found[0], bytes(found[1]))

    async def read(self, *, after: int, limit: int) -> Sequence[tuple[int, AuditRow]]:
        """See ``AuditLog.read``."""
        parameters = {"after": after, "limit": limit}
        with translated:
            rows = await self._database.read(lambda transaction: transaction.execute(_READ, parameters).fetchall())
        return [(sequence, from_line(bytes(line))) for sequence, line, _ in rows]

    async def chain(self, *, after: int, limit: int) -> Sequence[ChainedLine]:
        """See ``AuditLog.chain``."""
        parameters = {"after": after, "limit": limit}
        with translated:
            rows = await self._database.read(lambda transaction: transaction.execute(_READ, parameters).fetchall())
        return [ChainedLine(sequence, _octets(line), _octets(link)) for sequence, line, link in rows]


def _octets(value: bytes | str) -> bytes:
    """A column as it lies there: who edits the table by hand may well leave text behind, and that is for the chain to find."""
    return value.encode() if isinstance(value, str) else bytes(value)


def to_line(sequence: int, row: AuditRow) -> bytes:
    """The JSON that is stored and hashed; members in a fixed order."""
    return orjson.dumps(
        {
            "sequence": sequence,
            "at": printed_exactly(row.at),
            "requestId": row.request_id,
            "operation": row.operation,
            "caller": row.caller,
            "fingerprint": row.fingerprint,
            "target": row.target,
            "outcome": row.outcome,
            "details": dict(row.details),
        }
    )


def from_line(line: bytes) -> AuditRow:
    """The row that ``to_line`` wrote."""
    read = orjson.loads(line)
    return AuditRow(
        at=_time(read["at"]),
        request_id=read["requestId"],
        operation=read["operation"],
        caller=read["caller"],
        fingerprint=read["fingerprint"],
        target=read["target"],
        outcome=read["outcome"],
        details=read["details"],
    )


def _time(text: str) -> datetime:
    return parse(text).astimezone(UTC)
