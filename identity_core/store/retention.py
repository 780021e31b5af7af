"""The port ``RecordRetention`` on the tables of the store. README.md says what stays and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from identity_core.codec.times import micros, moment, printed
from identity_core.database import Dialect, Transaction
from identity_core.errors import JsonValue
from identity_core.ports.retention import ERASED_HOLDER, RecordKind
from identity_core.store.records import Repository, first_at, of_first

# What is on its way to a ledger is still needed to say what became of it. A value and not NOT EXISTS: where a server joins, it may read
# all leaves for a step of a few proofs.
_UNDECIDED: Final = """
(SELECT count(*) FROM anchor_leaves WHERE proof_id = proofs.id AND (state IN ('queued', 'revoking')
OR (state = 'batched' AND (SELECT state FROM anchor_batches WHERE id = batch_id) NOT IN ('confirmed', 'failed'))))
"""
_NAMED: Final = f"holder <> '{ERASED_HOLDER}'"  # as the partial index has it, or it is not used

# The rows of a step, and what is done to each.
_OLD: Final[Mapping[RecordKind, Mapping[Dialect, str]]] = {
    "credentials": of_first("credentials", f"valid_until <= :until AND {_NAMED} ORDER BY valid_until"),
    "proofs": of_first("proofs", f"expires_at <= :until AND {_UNDECIDED} = 0 ORDER BY expires_at"),
    "timeline": of_first("timeline", "id < :before ORDER BY id"),
    "verifications": of_first("verifications", "id < :before ORDER BY id"),
}
# The holder is told that nothing is left: what somebody else is changing is waited for.
_OF_HOLDER: Final[Mapping[RecordKind, Mapping[Dialect, str]]] = {
    "credentials": of_first("credentials", "holder = :holder", waits=True),
    "proofs": of_first("proofs", f"holder = :holder AND {_UNDECIDED} = 0", waits=True),
    "timeline": of_first("timeline", "holder = :holder", waits=True),
    "verifications": of_first("verifications", "holder = :holder", waits=True),
}
_DELETE: Final[Mapping[RecordKind, str]] = {
    "credentials": f"UPDATE credentials SET holder = '{ERASED_HOLDER}', sealed = :nothing, status_reason = NULL",  # noqa: S608
    "proofs": "DELETE FROM proofs",
    "timeline": "DELETE FROM timeline",
    "verifications": "DELETE FROM verifications",
}
_UNLINK: Final = "UPDATE verifications SET holder = NULL, proof_id = NULL"
_DISCLOSURES: Final = "DELETE FROM disclosures WHERE credential_id = :id"
_WAITING: Final = f"SELECT count(*) FROM proofs WHERE holder = :holder AND {_UNDECIDED} > 0"  # noqa: S608

# Columns that a person may see of the rows about him: times as they are printed, JSON as it is, nothing that is sealed.
_TIMES: Final = frozenset({"at", "created_at", "expires_at", "valid_from", "valid_until", "revoked_at"})
_SHOWN: Final[Mapping[RecordKind, tuple[str, tuple[str, ...]]]] = {
    "credentials": (
        "id issuer holder schema_id verification_method valid_from valid_until status status_reason created_at created_by",
        ("holder", "issuer"),
    ),
    "proofs": (
        "id delegation_id holder agent credential_id issuer schema_id predicate proof created_at expires_at caller challenge domain "
        "revoked_at revoked_by revocation_reason anchor_status question",
        ("holder", "agent"),
    ),
    "timeline": (
        "id at kind outcome code actor holder agent issuer delegation_id credential_id proof_id",
        ("holder", "agent", "issuer"),
    ),
    "verifications": (
        "id at verified caller verifier fingerprint holder issuer schema_id proof_id attribute predicate_type codes",
        ("holder", "verifier"),
    ),
}


class StoredRecordRetention(Repository):
    """One transaction a step."""

    async def forget(self, kind: RecordKind, until: datetime, *, limit: int) -> int:
        wanted = {"until": micros(until), "before": first_at(until), "limit": limit}
        return await self._erase(kind, _OLD[kind], _DELETE[kind], wanted, durable=False)

    async def erase(self, kind: RecordKind, holder: str, *, limit: int) -> int:
        change = _UNLINK if kind == "verifications" else _DELETE[kind]
        return await self._erase(kind, _OF_HOLDER[kind], change, {"holder": holder, "limit": limit}, durable=True)

    async def _erase(
        self,
        kind: RecordKind,
        which: Mapping[Dialect, str],
        change: str,
        wanted: Mapping[str, object],
        *,
        durable: bool,
    ) -> int:
        sql = f"{change} WHERE {which[self._database.dialect]} RETURNING id"
        named = {"nothing": b"", **wanted}

        def erase(writing: Transaction) -> int:
            gone = writing.execute(sql, named).fetchall()
            if kind == "credentials":
                for (row_id,) in gone:
                    writing.execute(_DISCLOSURES, {"id": row_id})
            return len(gone)

        return await self._database.write(erase, durable=durable, heavy=True)

    async def waiting(self, holder: str) -> int:
        return int((await self._rows(_WAITING, {"holder": holder}))[0][0])

    async def page(
        self, kind: RecordKind, did: str, *, after: str, limit: int
    ) -> Sequence[tuple[str, dict[str, JsonValue]]]:
        columns, roles = _SHOWN[kind]
        # A page of each role along its own index would be in another order: this is read by a command, not by a request.
        concerned = " OR ".join(f"{role} = :did" for role in roles)
        listed = columns.replace(" ", ", ")
        sql = f"SELECT {listed} FROM {kind} WHERE id > :after AND ({concerned}) ORDER BY id LIMIT :limit"  # noqa: S608
        rows = await self._rows(sql, {"did": did, "after": after, "limit": limit})
        return [(row[0], _shown(columns.split(), row)) for row in rows]


def _shown(columns: Sequence[str], row: Sequence[Any]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for name, value in zip(columns, row, strict=True):
        if value is None:
            continue
        if name in _TIMES:
            found[name] = printed(moment(value))
        else:
            found[name] = orjson.loads(bytes(value)) if isinstance(value, (bytes, memoryview)) else value
    return found
