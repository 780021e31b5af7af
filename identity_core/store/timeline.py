"""The timeline in the store: one table, read newest first along the index of each role."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from identity_core.database import Database, Transaction
from identity_core.ports.timeline import TimelineEntry, TimelineQuery, TimelineRow
from identity_core.store.anchors import anchors_of
from identity_core.store.row_ids import bounds, row_id
from identity_core.store.times import micros, moment

_INSERT = """
INSERT INTO timeline
(id, at, kind, outcome, code, actor, holder, agent, issuer, delegation_id, credential_id, proof_id)
VALUES (:id, :at, :kind, :outcome, :code, :actor, :holder, :agent, :issuer, :delegation_id, :credential_id, :proof_id)
"""
_COLUMNS = "id, at, kind, outcome, actor, code, holder, agent, issuer, delegation_id, credential_id, proof_id"
_PAGE = f"""
SELECT {_COLUMNS} FROM timeline WHERE id >= :since AND id < :before AND (:kind = '' OR kind = :kind OR kind LIKE :noun)
"""  # noqa: S608  (its own text)
_LAST = " ORDER BY id DESC LIMIT :limit"
_ROLES = {"holder": "", "agent": "", "issuer": " AND kind LIKE :credential"}


class StoredTimeline:
    """See ``Timeline``. ``random`` gives octets, so that ids tell no count."""

    def __init__(self, database: Database, random: Callable[[int], bytes]) -> None:
        self._database = database
        self._random = random

    def record(self, entry: TimelineEntry, *, durable: bool = False) -> Awaitable[None]:
        row = {
            "id": row_id(entry.at, self._random),
            "at": micros(entry.at),
            "kind": entry.kind,
            "outcome": entry.outcome,
            "code": entry.code,
            "actor": entry.actor,
            "holder": entry.holder,
            "agent": entry.agent,
            "issuer": entry.issuer,
            "delegation_id": entry.delegation_id,
            "credential_id": entry.credential_id,
            "proof_id": entry.proof_id,
        }
        return self._database.write(lambda transaction: _insert(transaction, row), durable=durable)

    async def list(self, wish: TimelineQuery) -> Sequence[TimelineRow]:
        if wish.dids is not None and not wish.dids:
            return []
        since, before = bounds(wish.since, wish.until, wish.before)
        kind = wish.kind or ""
        parameters: dict[str, object] = {
            "since": since,
            "before": before,
            "kind": kind,
            "noun": f"{kind}.%",
            "credential": "credential.%",
            "limit": wish.limit,
        }
        sql = _PAGE + _LAST
        if wish.dids is not None:
            names = {f"did{number}": did for number, did in enumerate(sorted(wish.dids))}
            sql, parameters = _concerning(list(names)), parameters | names
        return await self._database.read(lambda transaction: _read(transaction, sql, parameters))


def _insert(transaction: Transaction, row: dict[str, Any]) -> None:
    transaction.execute(_INSERT, row)


def _concerning(names: list[str]) -> str:
    """Each role has an index of its own; a page of each is enough for the page of all."""
    wanted = ", ".join(f":{name}" for name in names)
    pages = [
        f"SELECT * FROM ({_PAGE} AND {role} IN ({wanted}){more}{_LAST}) AS of_{role}"  # noqa: S608
        for role, more in _ROLES.items()
    ]
    return " UNION ".join(pages) + _LAST


def _read(transaction: Transaction, sql: str, parameters: dict[str, object]) -> list[TimelineRow]:
    rows = transaction.execute(sql, parameters).fetchall()
    anchors = anchors_of(transaction, [row[11] for row in rows])
    return [TimelineRow(row[0], _entry(row), anchors.get(row[11])) for row in rows]


def _entry(row: Any) -> TimelineEntry:
    _, at, kind, outcome, actor, *rest = row
    return TimelineEntry(moment(at), kind, outcome, actor, *rest)
