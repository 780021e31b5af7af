"""The document index: every version of every DID, as finished bytes with separate columns for searches.

A projection of the ledger, so its writes need not be durable: ``cursor`` shows what a crash lost, and the ledger still has it.
Heads that were read or written recently are cached in decoded form. They are valid until another connection writes to the database.
SQLite reports this cheaply; a server does not (there ``generation`` is None and every head is read).

Each row has a tag over all of its columns (``row_mac.py``), computed when the row is written and checked whenever it is read. A row
that another program wrote or changed is never decoded, and its DID becomes suspect. The cursor has a tag too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import datetime

from msgspec import Struct

from identity_codec.times import micros
from identity_core.cache import BoundedCache
from identity_core.database import BatchJob, Database, Transaction, follow_write
from identity_core.domain.activity import EventRecord
from identity_core.domain.dids.state import is_earlier_form
from identity_core.errors import DidQuarantined
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion
from identity_core.store.events import StoredEvents
from identity_core.store.index_rows import (
    AFTER,
    AT,
    SELECT,
    STATE,
    VERSIONS,
    Row,
    StoredCursor,
    are_inserted,
    is_earlier,
    is_ours,
    row_of,
    tagged,
    version_of,
)
from identity_core.store.quarantine import QuarantinedDids
from identity_core.store.records import Repository
from identity_core.store.row_mac import RowMac

# Versions with their rows, and their event.
_Record = tuple[Sequence[tuple[IndexedVersion, Row]], EventRecord | None]
HEADS_KEPT = 4096
CHANGED = "a row of the index is not the one that this version writes"

_HEAD = f"{SELECT} WHERE did = :did ORDER BY version_id DESC LIMIT 1"
_VERSION = f"{SELECT} WHERE did = :did AND version_id = :version_id"
_ASCENDING = f"{SELECT} WHERE did = :did AND version_id > :after ORDER BY version_id LIMIT :limit"
_DESCENDING = f"{SELECT} WHERE did = :did AND version_id < :after ORDER BY version_id DESC LIMIT :limit"
_FIRSTS = "WHERE {} AND did > :after ORDER BY did LIMIT :limit"
_HEADS = f"""
{SELECT} AS head WHERE version_id = (SELECT max(version_id) FROM did_versions WHERE did = head.did)
AND did IN (SELECT did FROM did_versions {_FIRSTS})
"""  # noqa: S608 - made of constants
_CLAIM = "UPDATE did_versions SET owner = :owner, mac = :mac WHERE did = :did AND version_id = 1 AND owner IS NULL"
_RENEW = "UPDATE did_versions SET state = :state, mac = :mac WHERE did = :did AND version_id = :version_id"
_BEHIND = "SELECT count(*), max(sequence) FROM did_versions WHERE sequence > :known"
_SEQUENCES = "SELECT sequence FROM did_versions WHERE sequence > :known ORDER BY sequence LIMIT 1000"


class _Look(Struct):
    """The result of ``foreign_changes`` at the first call of a task."""

    foreign: int | None = None


_LOOK: ContextVar[_Look | None] = ContextVar("what a task has asked of other writers", default=None)


class Documents(Repository):
    """The port ``DocumentIndex`` on the tables of the store."""

    def __init__(
        self,
        database: Database,
        secret: bytes,
        quarantine: QuarantinedDids,
        events: StoredEvents,
        *,
        heads_kept: int = HEADS_KEPT,
    ) -> None:
        super().__init__(database)
        self.is_embedded = database.dialect == "sqlite"
        self._events = events
        self._mac = RowMac(secret, VERSIONS)
        self._cursor = StoredCursor(database, secret, "documents")
        self._quarantine = quarantine
        self._heads: BoundedCache[str, IndexedVersion] = BoundedCache(heads_kept)
        self._foreign = database.foreign_changes()

    async def head(self, did: str) -> IndexedVersion | None:
        if (known := self.find_cached_head(did)) is not None:
            return known
        found = await self._one(_HEAD, {"did": did})
        if found is not None:
            self._keep(did, found)
        return found

    @contextmanager
    def one_look(self) -> Iterator[None]:
        before = _LOOK.set(_Look())
        try:
            yield
        finally:
            _LOOK.reset(before)

    async def version(self, did: str, version_id: int) -> IndexedVersion | None:
        return await self._one(_VERSION, {"did": did, "version_id": version_id})

    async def version_at(self, did: str, second: datetime, *, newest: int) -> int:
        parameters = {"did": did, "second": micros(second) // 1_000_000, "newest": newest}
        return int((await self._database.look_up(AT[self._database.dialect], parameters))[0][0])

    async def versions(self, did: str, *, after: int, limit: int, descending: bool) -> Sequence[IndexedVersion]:
        sql, bound = (_DESCENDING, after or 2**62) if descending else (_ASCENDING, after)
        rows = await self._database.look_up(sql, {"did": did, "after": bound, "limit": limit})
        return [version_of(self._ours(row)) for row in rows]

    async def owned(self, owner: str | None, *, after: str | None, limit: int) -> Sequence[IndexedVersion]:
        found: list[IndexedVersion] = []
        last: object = after or ""
        owned = "version_id = 1" if owner is None else "owner = :owner"
        while len(found) < limit:
            wanted = limit - len(found)
            parameters = {"owner": owner, "after": last, "limit": wanted}
            firsts = await self._rows(f"{SELECT} {_FIRSTS}".format(owned), parameters)
            # The list omits a DID whose first row or head is not ours.
            heads = {row[0]: row for row in await self._rows(_HEADS.format(owned), parameters) if self._is_ours(row)}
            found += [version_of(heads[row[0]]) for row in firsts if self._is_ours(row) and row[0] in heads]
            if len(firsts) < wanted:
                break
            last = firsts[-1][0]
        return found

    async def events(self, *, after: int, limit: int) -> Sequence[IndexedVersion]:
        while rows := await self._rows(AFTER, {"after": after, "limit": limit}):
            if found := [version_of(row) for row in rows if self._is_ours(row)]:
                return found
            after = rows[-1][3]
        return ()

    def generation(self, did: str) -> int | None:
        known = self.find_cached_head(did)
        return None if known is None else known.state.version_id

    async def record(
        self, versions: Sequence[IndexedVersion], *, owner: str | None = None, event: EventRecord | None = None
    ) -> None:
        """See ``DocumentIndex.record``. Raises ``Overloaded``, ``PluginUnavailable``; the ledger has the entry nevertheless."""
        job = BatchJob(self._insert, ([(version, row_of(version, owner)) for version in versions], event))
        # An embedded file loses its last commits only together with this process; a server may fail over while the process runs.
        await self._database.write(job, durable=not self.is_embedded, then=self._recorded)

    def recording(
        self, made: Callable[[Receipt], tuple[IndexedVersion, EventRecord]], *, owner: str | None
    ) -> AbstractContextManager[None]:
        """See ``DocumentIndex.recording``."""

        def record(transaction: Transaction, receipt: Receipt) -> None:
            version, event = made(receipt)
            self._insert(transaction, [([(version, row_of(version, owner))], event)])

        return follow_write(self._database.write, record)

    def _insert(self, transaction: Transaction, records: Sequence[_Record]) -> list[list[IndexedVersion]]:
        """Insert the rows, and return the versions of each record whose rows are in place."""
        are_new = are_inserted(transaction, self._mac, *[row for record, _ in records for _, row in record])
        self._events.insert(transaction, [event for _, event in records if event is not None])
        return [[each for each, row in record if are_new or self._inserted(transaction, row)] for record, _ in records]

    def _inserted(self, transaction: Transaction, row: Row) -> bool:
        """Return whether the row is stored now. A foreign row that has its place already is detected when it is read."""
        # A repair of the index does not know the owner. The creator of the DID, whose write came later, does.
        is_claim = not (is_new := are_inserted(transaction, self._mac, row)) and row[-1] is not None
        if is_new or (is_claim and transaction.execute(_CLAIM, tagged(self._mac, row)).rowcount == 1):
            return True
        found = transaction.execute(_VERSION, {"did": row[0], "version_id": row[1]}).fetchone()
        if found is None or not is_ours(self._mac, found) or bytes(found[6]) != row[6]:
            return False
        # If an earlier replica wrote the same content, only its form changes.
        is_same = is_earlier_form(bytes(found[STATE]), row[STATE]) and bytes(found[STATE + 1]) == row[STATE + 1]
        renewed = tagged(self._mac, (*found[:STATE], row[STATE], *found[STATE + 1 : -1]))
        return not is_earlier(found[STATE]) or (is_same and transaction.execute(_RENEW, renewed).rowcount == 1)

    async def cursor(self) -> int:
        """See ``DocumentIndex.cursor``. It is computed on request, which is at startup, so that writes need not update it."""
        known = await self._cursor.read_number()
        cursor = await self._database.read(lambda transaction: _gapless(transaction, known))
        if cursor > known and not self._database.read_only:
            await self._cursor.keep(cursor, replace=known == 0)
        return cursor

    async def is_empty(self) -> bool:
        """Return whether there is no row at all."""
        return not await self._rows(AFTER, {"after": 0, "limit": 1})

    async def pass_over(self, sequence: int) -> None:
        await self._cursor.keep(sequence, replace=False)

    def find_cached_head(self, did: str) -> IndexedVersion | None:
        known, look = self._heads.get(did), _LOOK.get()
        is_seen = look is not None and look.foreign == self._foreign is not None
        # The query for foreign writes is a separate statement, so it runs only if the result depends on it.
        return known if known is not None and (is_seen or self._is_current()) else None

    def _is_current(self) -> bool:
        """Return whether the cached heads are known to be current. Drop them if another connection has written since."""
        if (foreign := self._database.foreign_changes()) is None:
            return False
        look = _LOOK.get()
        if look is not None:
            look.foreign = foreign
        if foreign == self._foreign:
            return True
        self._heads.clear()
        self._foreign = foreign
        return False

    def _keep(self, did: str, version: IndexedVersion) -> None:
        known = self._heads.get(did)
        if known is not None and known.state.version_id > version.state.version_id:
            version = known
        self._heads.store(did, version)

    def _recorded(self, inserted: Sequence[IndexedVersion]) -> None:
        for version in inserted:
            self._keep(version.state.did.text, version)

    async def _one(self, sql: str, parameters: Mapping[str, object]) -> IndexedVersion | None:
        """Return the version of the row; None also for a row of an earlier form, by an earlier replica, which ``record`` rewrites."""
        rows = await self._database.look_up(sql, parameters)
        return version_of(rows[0]) if rows and not is_earlier(self._ours(rows[0])[STATE]) else None

    def _is_ours(self, row: Row) -> bool:
        """Return whether the row has a valid tag, and otherwise mark its DID as suspect."""
        if is_ours(self._mac, row):
            return True
        self._quarantine.suspect(str(row[0]), CHANGED)
        return False

    def _ours(self, row: Row) -> Row:
        if not self._is_ours(row):
            raise DidQuarantined(details={"did": str(row[0])})
        return row


def _gapless(transaction: Transaction, known: int) -> int:
    """Return the last sequence of the gapless rows after ``known``."""
    count, newest = transaction.execute(_BEHIND, {"known": known}).fetchone()
    if count == 0 or newest - known == count:
        return newest or known
    while page := transaction.execute(_SEQUENCES, {"known": known}).fetchall():
        for (sequence,) in page:
            if sequence != known + 1:
                return known
            known = sequence
    return known
