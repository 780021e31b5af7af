"""Records about people by the retention rules of all parts: their erasure in steps, and their export. README.md of
``identity_core/store`` contains the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from identity_codec.strict_json import JsonValue
from identity_codec.times import micros, moment, printed
from identity_core.database import Database, Transaction
from identity_core.ports.retention import RetentionRule
from identity_core.store.records import Repository, first_at, of_first

# Columns that are printed as times.
_TIMES: Final = frozenset({"at", "created_at", "expires_at", "valid_from", "valid_until", "revoked_at", "updated_at"})


class StoredRecords(Repository):
    """The records of the tables of ``rules``, by the name of the table without the name of its extension. Each step is one transaction."""

    def __init__(self, database: Database, rules: Iterable[RetentionRule]) -> None:
        super().__init__(database)
        self.rules = {rule.kind.removeprefix("records_").removeprefix("consents_"): rule for rule in rules}

    async def forget(self, kind: str, until: datetime, limit: int) -> int:
        """Erase at most ``limit`` records that expired by ``until``, the oldest first. Return how many there were."""
        rule, wanted = self.rules[kind], {"until": micros(until), "before": first_at(until), "limit": limit}
        which = of_first(rule.kind, f"{_decided(rule)}{rule.expired}")[self._database.dialect]
        return await self._erase(rule, f"{_forget(rule)} WHERE {which}", wanted, durable=False)

    async def erase(self, kind: str, holder: str, *, limit: int) -> int:
        """Erase at most ``limit`` records of the holder, durably. Return the number; if it is below ``limit``, no more can be
        erased now."""
        rule = self.rules[kind]
        # The holder is told that nothing is left: what another process is changing is waited for.
        which = of_first(rule.kind, f"{_decided(rule)}{rule.roles[0]} = :holder", waits=True)[self._database.dialect]
        wanted = {"holder": holder, "limit": limit}
        return await self._erase(rule, f"{rule.erase or _forget(rule)} WHERE {which}", wanted, durable=True)

    async def _erase(self, rule: RetentionRule, sql: str, wanted: dict[str, object], *, durable: bool) -> int:
        def erase(writing: Transaction) -> int:
            gone = writing.execute(f"{sql} RETURNING id", {"nothing": b"", **wanted}).fetchall()
            if rule.dependent:
                for (row_id,) in gone:
                    writing.execute(rule.dependent, {"id": row_id})
            return len(gone)

        return await self._database.write(erase, durable=durable, heavy=True)

    async def waiting(self, kind: str, holder: str) -> int:
        """Return how many records of the holder cannot be erased yet."""
        rule = self.rules[kind]
        if not (undecided := rule.undecided):
            return 0
        sql = f"SELECT count(*) FROM {rule.kind} WHERE {rule.roles[0]} = :holder AND {undecided} > 0"  # noqa: S608
        return int((await self._rows(sql, {"holder": holder}))[0][0])

    async def page(self, kind: str, did: str, *, after: str, limit: int) -> Sequence[tuple[str, dict[str, JsonValue]]]:
        """Return records about the DID in any role, by id after ``after``, without sealed values."""
        rule = self.rules[kind]
        columns = rule.columns.split()
        # A page of each role along its own index would be in another order: this is read by a command, not by a request.
        concerned = " OR ".join(f"{role} = :did" for role in rule.roles)
        sql = (
            f"SELECT {', '.join(columns)} FROM {rule.kind} WHERE id > :after AND ({concerned}) ORDER BY id LIMIT :limit"  # noqa: S608
        )
        rows = await self._rows(sql, {"did": did, "after": after, "limit": limit})
        return [(row[0], _shown_row(columns, row)) for row in rows]


def _forget(rule: RetentionRule) -> str:
    return rule.forget or f"DELETE FROM {rule.kind}"  # noqa: S608


def _decided(rule: RetentionRule) -> str:
    return f"{rule.undecided} = 0 AND " if rule.undecided else ""


def _shown_row(columns: Sequence[str], row: Sequence[Any]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for name, value in zip(columns, row, strict=True):
        if value is None:
            continue
        if name in _TIMES:
            found[name] = printed(moment(value))
        else:
            found[name] = orjson.loads(bytes(value)) if isinstance(value, (bytes, memoryview)) else value
    return found
