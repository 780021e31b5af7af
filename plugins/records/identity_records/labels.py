"""Nicknames that a DID gives to other DIDs, for its own eyes: sealed rows, of which the store contains only owner and time in plain
text."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import orjson
from msgspec import Struct

from identity_codec import sealing
from identity_codec.times import micros, moment
from identity_core.database import Database, Transaction
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, InvalidRequest, QuotaExceeded
from identity_core.ports.clock import Clock
from identity_core.store.records import Repository, Table
from identity_core.use_cases.record import Record
from identity_records.wire import SetLabelRequest

MOST: Final = 2_000
"""Nicknames that one DID gives."""


class LabelRow(Struct, frozen=True):
    """A sealed nickname of ``holder``. ``id`` is a keyed hash of both DIDs."""

    id: str
    holder: str
    sealed: bytes
    updated_at: datetime


class NamedDid(Struct, frozen=True):
    """A DID and the nickname that its reader gave to it."""

    did: str
    label: str
    updated_at: datetime


_ROWS: Final = Table("records_labels", LabelRow)
_LIST: Final = f"{_ROWS.select} WHERE holder = :holder"
_SET: Final = (
    f"{_ROWS.insert} ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at"
)
_COUNT: Final = "SELECT count(*) FROM records_labels WHERE holder = :holder AND id <> :id"
_DELETE: Final = "DELETE FROM records_labels WHERE id = :id"


class StoredLabels(Repository):
    """The rows of ``records_labels``, opened with ``secret``: 32 bytes that all processes share."""

    def __init__(self, database: Database, secret: bytes, random: Callable[[int], bytes]) -> None:
        super().__init__(database)
        self._secret, self._random = secret, random

    async def list(self, holder: str) -> Sequence[NamedDid]:
        """Return the nicknames that ``holder`` gave, by nickname."""
        rows = await self._rows(_LIST, {"holder": holder})
        return sorted((self._open(_ROWS.read(row)) for row in rows), key=lambda one: (one.label, one.did))

    async def set(self, holder: str, named: NamedDid) -> bool:
        """Store a nickname, durable on return. Return False if ``holder`` has given too many."""
        plain = orjson.dumps([named.did, named.label])
        id, box = self._id(holder, named.did), sealing.seal(self._secret, plain, holder.encode(), random=self._random)
        row = _ROWS.write(LabelRow(id, holder, box, named.updated_at))

        def write(transaction: Transaction) -> bool:
            if transaction.execute(_COUNT, {"holder": holder, "id": id}).fetchall()[0][0] >= MOST:
                return False
            transaction.execute(_SET, row)
            return True

        return await self._database.write(write)

    async def delete(self, holder: str, did: str) -> None:
        """Delete the nickname of ``did``, if it has one; durable on return."""
        await self._change(_DELETE, {"id": self._id(holder, did)})

    def _id(self, holder: str, did: str) -> str:
        return hmac.digest(self._secret, orjson.dumps([holder, did]), "sha256").hex()

    def _open(self, row: LabelRow) -> NamedDid:
        did, label = orjson.loads(sealing.unseal(self._secret, row.sealed, row.holder.encode()))
        return NamedDid(did, label, row.updated_at)


def _owner(caller: Caller) -> str:
    """Return the DID that signed or that has the session. Raises ``Forbidden``: for an API key and for a program."""
    if caller.person is None or caller.client is not None:
        raise Forbidden("Nicknames belong to the DID that gave them.")
    return str(caller.person)


class Labels(Struct, frozen=True):
    """The operations listLabels, setLabel, deleteLabel. All raise ``Forbidden``. The audit log names the caller alone."""

    labels: StoredLabels
    record: Record
    clock: Clock

    async def list(self, caller: Caller) -> Sequence[NamedDid]:
        """Return the nicknames that the caller gave."""
        return await self.labels.list(_owner(caller))

    async def set(self, did: str, wish: SetLabelRequest, context: RequestContext) -> NamedDid:
        """Raises ``InvalidDid``, ``InvalidRequest``, ``QuotaExceeded``."""
        owner, now = _owner(context.caller), self.clock.now()
        if not wish.label.isprintable() or not wish.label.strip():
            raise InvalidRequest("label has characters that are not printable.", details={"member": "label"})
        named = NamedDid(str(Did.parse(did)), wish.label, moment(micros(now)))
        if not await self.labels.set(owner, named):
            raise QuotaExceeded(
                f"You have given {MOST} nicknames. Take one back first.", details={"quota": "labels", "records": MOST}
            )
        await self.record(context, Event(target=owner), now)
        return named

    async def delete(self, did: str, context: RequestContext) -> None:
        """Raises ``InvalidDid``."""
        owner = _owner(context.caller)
        await self.labels.delete(owner, str(Did.parse(did)))
        await self.record(context, Event(target=owner), self.clock.now())
