"""Credentials in the store, and the status lists that follow from them.

A list is no table of bits: it is made from the rows that are revoked or suspended, and its ``version`` says when that must be
done again. README.md has how a place is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from identity_core.database import Database, Transaction
from identity_core.domain import status_list
from identity_core.domain.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.domain.did import Did
from identity_core.errors import Overloaded
from identity_core.ports.credentials import CredentialFilter, CredentialPosition, StatusList
from identity_core.store.credential_schemas import definition
from identity_core.store.times import micros, moment

TRIES: Final = 64
"""Random places that are tried. Half of them are free at worst, so that all are taken once in 2^64 times."""

_COLUMNS = """
SELECT c.id, c.issuer, c.holder, s.id, s.attributes, c.verification_method, c.issuer_public_key, c.valid_from, c.valid_until,
c.status, c.status_reason, c.status_index, c.version, c.created_at, c.created_by
FROM credentials AS c JOIN credential_schemas AS s ON s.id = c.schema_id
"""
_GET = f"{_COLUMNS} WHERE c.id = :id"
_SEALED = "SELECT sealed FROM credentials WHERE id = :id"
_TAKEN = "SELECT 1 FROM credentials WHERE id = :id"
_INSERT = """
INSERT INTO credentials (id, issuer, holder, schema_id, verification_method, issuer_public_key, valid_from, valid_until, status,
status_reason, status_index, version, created_at, created_by, sealed) VALUES (:id, :issuer, :holder, :schema_id,
:verification_method, :issuer_public_key, :valid_from, :valid_until, :status, :status_reason, :status_index, :version,
:created_at, :created_by, :sealed) ON CONFLICT DO NOTHING
"""
_OPEN_LIST = "SELECT id, number FROM status_lists WHERE issuer = :issuer AND issued < :full ORDER BY number LIMIT 1"
_NEXT_NUMBER = "SELECT count(*) FROM status_lists WHERE issuer = :issuer"
_NEW_LIST = """
INSERT INTO status_lists (id, issuer, number, issued, version, changed_at)
VALUES (:id, :issuer, :number, 0, 1, :changed_at) ON CONFLICT DO NOTHING
"""
_COUNT = "UPDATE status_lists SET issued = issued + 1 WHERE id = :id"
_SET_STATUS = """
UPDATE credentials SET status = :status, status_reason = :status_reason, version = version + 1
WHERE id = :id AND version = :version
"""
_TOUCH_LIST = "UPDATE status_lists SET version = version + 1, changed_at = :changed_at WHERE id = :id"
_LIST = "SELECT issuer, number, version, changed_at FROM status_lists WHERE id = :id"
_LIST_VERSION = "SELECT version FROM status_lists WHERE id = :id"
_SET_BITS = """
SELECT status_index - :first FROM credentials WHERE issuer = :issuer AND status = :status AND status <> 'active'
AND status_index >= :first AND status_index < :behind ORDER BY status_index
"""
_SAYS = {StatusPurpose.REVOCATION: CredentialStatus.REVOKED, StatusPurpose.SUSPENSION: CredentialStatus.SUSPENDED}


class StoredCredentials:
    """The port ``Credentials`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, credential_id: str) -> Credential | None:
        row = await self._one(_GET, {"id": _text(credential_id)})
        return None if row is None else _credential(row)

    async def sealed(self, credential_id: str) -> bytes | None:
        row = await self._one(_SEALED, {"id": _text(credential_id)})
        return None if row is None else bytes(row[0])

    async def add(self, credential: Credential, sealed: bytes, *, random: Callable[[int], bytes]) -> Credential | None:
        """See ``Credentials.add``. Raises ``Overloaded`` in the case that never happens."""
        row = {**_row(credential), "sealed": sealed}
        thrown = random(4 * TRIES)
        places = [int.from_bytes(thrown[at : at + 4], "big") % status_list.ENTRIES for at in range(0, len(thrown), 4)]
        return await self._database.write(lambda transaction: _add(transaction, credential, row, places))

    async def list(
        self, wanted: CredentialFilter, *, after: CredentialPosition | None, limit: int
    ) -> Sequence[Credential]:
        statement, parameters = _page(wanted, after)
        parameters["limit"] = limit
        rows = await self._database.read(lambda transaction: transaction.execute(statement, parameters).fetchall())
        return list(map(_credential, rows))

    async def set_status(
        self, credential: Credential, status: CredentialStatus, reason: str | None, now: datetime
    ) -> Credential | None:
        number = credential.status_index // status_list.ENTRIES
        parameters = {
            "id": credential.id,
            "version": credential.version,
            "status": status.value,
            "status_reason": reason,
        }
        touched = {"id": status_list.list_id(credential.issuer, number), "changed_at": micros(now)}

        def change(transaction: Transaction) -> Any:
            if not transaction.execute(_SET_STATUS, parameters).rowcount:
                return None
            transaction.execute(_TOUCH_LIST, touched)
            return transaction.execute(_GET, {"id": credential.id}).fetchone()

        row = await self._database.write(change)
        return None if row is None else _credential(row)

    async def status_list(self, list_id: str, purpose: StatusPurpose) -> StatusList | None:
        def read(transaction: Transaction) -> StatusList | None:
            # The version first: bits that are newer than their version are read again, older ones would stay.
            found = transaction.execute(_LIST, {"id": list_id}).fetchone()
            if found is None:
                return None
            issuer, number, version, changed_at = found
            first = number * status_list.ENTRIES
            span = {"issuer": issuer, "first": first, "behind": first + status_list.ENTRIES}
            rows = transaction.execute(_SET_BITS, {**span, "status": _SAYS[purpose].value}).fetchall()
            return StatusList(version, moment(changed_at), [row[0] for row in rows])

        return await self._database.read(read)

    async def status_list_version(self, list_id: str) -> int | None:
        row = await self._one(_LIST_VERSION, {"id": list_id})
        return None if row is None else int(row[0])

    async def _one(self, statement: str, parameters: dict[str, object]) -> Any:
        return await self._database.read(lambda transaction: transaction.execute(statement, parameters).fetchone())


def _add(
    transaction: Transaction, credential: Credential, row: dict[str, object], places: Sequence[int]
) -> Credential | None:
    if transaction.execute(_TAKEN, row).fetchone() is not None:
        return None
    list_id, number = _open_list(transaction, credential)
    for place in places:
        row["status_index"] = number * status_list.ENTRIES + place
        if transaction.execute(_INSERT, row).rowcount:
            transaction.execute(_COUNT, {"id": list_id})
            return _credential(transaction.execute(_GET, row).fetchone())
        if transaction.execute(_TAKEN, row).fetchone() is not None:
            return None
    raise Overloaded("No free place was found in the status list.", details={"retryAfter": 1})


def _open_list(transaction: Transaction, credential: Credential) -> tuple[str, int]:
    """Id and number of the issuer's first list that is not full; a new one when all are."""
    issuer = {"issuer": str(credential.issuer), "full": status_list.FULL}
    found = transaction.execute(_OPEN_LIST, issuer).fetchone()
    if found is None:
        number = transaction.execute(_NEXT_NUMBER, issuer).fetchone()[0]
        list_id = status_list.list_id(credential.issuer, number)
        # Another process may begin the same list at the same moment; then there is one, and both use it.
        changed_at = micros(credential.created_at)
        transaction.execute(_NEW_LIST, {"id": list_id, "number": number, "changed_at": changed_at, **issuer})
        return list_id, number
    return found[0], found[1]


def _page(wanted: CredentialFilter, after: CredentialPosition | None) -> tuple[str, dict[str, object]]:
    conditions = []
    parameters: dict[str, object] = {}
    if wanted.party is not None:
        conditions.append("(c.holder = :party OR c.issuer = :party)")
        parameters["party"] = wanted.party
    for name, value in (("holder", wanted.holder), ("issuer", wanted.issuer), ("status", wanted.status)):
        if value is not None:
            conditions.append(f"c.{name} = :{name}")
            parameters[name] = str(value)
    if after is not None:
        conditions.append("(c.created_at < :at OR (c.created_at = :at AND c.id < :before))")
        parameters |= {"at": micros(after.created_at), "before": _text(after.id)}
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"{_COLUMNS} {where} ORDER BY c.created_at DESC, c.id DESC LIMIT :limit", parameters


def _row(credential: Credential) -> dict[str, object]:
    return {
        "id": credential.id,
        "issuer": str(credential.issuer),
        "holder": str(credential.holder),
        "schema_id": credential.schema.id,
        "verification_method": credential.verification_method,
        "issuer_public_key": credential.issuer_public_key,
        "valid_from": micros(credential.valid_from),
        "valid_until": None if credential.valid_until is None else micros(credential.valid_until),
        "status": credential.status.value,
        "status_reason": credential.status_reason,
        "version": credential.version,
        "created_at": micros(credential.created_at),
        "created_by": credential.created_by,
    }


def _credential(row: Any) -> Credential:
    return Credential(
        id=row[0],
        issuer=Did.parse(row[1]),
        holder=Did.parse(row[2]),
        schema=definition(row[3], bytes(row[4])).schema,
        verification_method=row[5],
        issuer_public_key=bytes(row[6]),
        valid_from=moment(row[7]),
        valid_until=None if row[8] is None else moment(row[8]),
        status=CredentialStatus(row[9]),
        status_reason=row[10],
        status_index=row[11],
        version=row[12],
        created_at=moment(row[13]),
        created_by=row[14],
    )


def _text(text: str) -> str:
    # PostgreSQL has no NUL in texts; no credential has such an id either.
    return text.replace("\0", "\1")
