"""Handles of credentials, and the lists of signed gaps that were published, in the store.

A list is made from the handles of revoked and suspended credentials. A change of its ``version`` shows that it must be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.ports import GapList, Published
from identity_core.database import Transaction
from identity_core.errors import Overloaded
from identity_core.store.records import Repository, Table

TRIES: Final = 64
"""Random handles that are tried. Of 2^32 nearly all are free."""
_HANDLE_OCTETS: Final = status_gaps.BITS // 8

_LISTS = Table("gap_lists", GapList)
_NEW_LIST = f"{_LISTS.insert} ON CONFLICT DO NOTHING"
_SIGNED_BY = "UPDATE gap_lists SET method = :method, version = version + 1 WHERE id = :id AND method <> :method"
_ALL_LISTS = f"SELECT {_LISTS.columns} FROM gap_lists ORDER BY id"  # noqa: S608 - made of constants
_HANDLE_OF = "SELECT list_id, handle FROM gap_handles WHERE credential_id = :credential_id"
_GIVE = """
INSERT INTO gap_handles (list_id, handle, credential_id, last_day, listed)
VALUES (:list_id, :handle, :credential_id, :last_day, 0) ON CONFLICT DO NOTHING
"""
_VERSION = "SELECT version FROM gap_lists WHERE id = :list_id"
_LISTED = "SELECT handle FROM gap_handles WHERE list_id = :list_id AND listed = 1 AND last_day >= :last_day"
_PUBLISH = """
INSERT INTO gap_editions (list_id, epoch, edition, version, manifest)
VALUES (:list_id, :epoch, :edition, :version, :manifest)
ON CONFLICT (list_id, epoch) DO UPDATE SET edition = :edition, version = :version, manifest = :manifest
WHERE gap_editions.edition = :after
"""
_HAS_PREVIOUS = "SELECT 1 FROM gap_editions WHERE list_id = :list_id AND epoch = :epoch AND edition = :after"
_ADD_SHARD = """
INSERT INTO gap_shards (list_id, digest, epoch, octets) VALUES (:list_id, :digest, :epoch, :shard) ON CONFLICT DO NOTHING
"""
_PUBLISHED = "SELECT version, manifest FROM gap_editions WHERE list_id = :list_id AND epoch = :epoch"
_SHARD = "SELECT octets FROM gap_shards WHERE list_id = :list_id AND digest = :digest"
_RECORD = """
INSERT INTO gap_records (list_id, digest, epoch, sequence) VALUES (:list_id, :digest, :epoch, :sequence) ON CONFLICT DO NOTHING
"""
_RECORDED = "SELECT sequence FROM gap_records WHERE list_id = :list_id AND digest = :digest"
_FORGET = (
    "DELETE FROM gap_records WHERE list_id = :list_id AND epoch < :before",
    "DELETE FROM gap_editions WHERE list_id = :list_id AND epoch < :before",
    "DELETE FROM gap_shards WHERE list_id = :list_id AND epoch < :before",
)


class StoredStatusGaps(Repository):
    """The lists, the handles in them, and their publications."""

    async def give(
        self, gap_list: GapList, credential_id: str, last_day: int, *, random: Callable[[int], bytes]
    ) -> int:
        """Return the handle of a credential: the one that it has, or a free random one of the list, which is created if it is
        missing. From then on the list is signed with ``gap_list.method``. ``last_day``: days since 1970-01-01. A handle is never
        assigned twice."""
        thrown = random(_HANDLE_OCTETS * TRIES)
        tries = [
            int.from_bytes(thrown[at : at + _HANDLE_OCTETS], "big") for at in range(0, len(thrown), _HANDLE_OCTETS)
        ]
        row = {"list_id": gap_list.id, "credential_id": credential_id, "last_day": last_day}

        def give(transaction: Transaction) -> int:
            _begin(transaction, gap_list)
            for handle in tries:
                known = transaction.execute(_HANDLE_OF, row).fetchone()
                if known is not None:
                    return _own(gap_list.id, *known)
                if not status_gaps.FIRST_END < handle < status_gaps.LAST_END:
                    continue
                if transaction.execute(_GIVE, {**row, "handle": handle}).rowcount:
                    return handle
            raise Overloaded("No free handle was found in the list.", details={"retryAfter": 1})

        return await self._database.write(give)

    async def take(self, gap_list: GapList, credential_id: str, handle: int, last_day: int) -> bool:
        """Store a handle that the issuer chose and signed, as ``give`` does. Return False, and change nothing, if another
        credential has it, or this credential has another."""
        row = {"list_id": gap_list.id, "credential_id": credential_id, "last_day": last_day, "handle": handle}

        def take(transaction: Transaction) -> bool:
            known = transaction.execute(_HANDLE_OF, row).fetchone()
            if known is not None:
                return (str(known[0]), int(known[1])) == (gap_list.id, handle)
            _begin(transaction, gap_list)
            return transaction.execute(_GIVE, row).rowcount > 0

        return await self._database.write(take)

    async def sign_with(self, list_id: str, method: str) -> None:
        """Sign the list with this key from now on. Its version changes if the key does."""
        change = {"id": list_id, "method": method}
        await self._database.write(lambda transaction: transaction.execute(_SIGNED_BY, change).rowcount)

    async def lists(self) -> Sequence[GapList]:
        """Return all lists, in the order of their ids."""
        return [_LISTS.read(row) for row in await self._rows(_ALL_LISTS, {})]

    async def listed(self, list_id: str, *, last_day: int) -> tuple[int, Sequence[int]]:
        """Return the version of the list, and the handles of the revoked and suspended credentials whose last day is ``last_day``
        or later."""

        def read(transaction: Transaction) -> tuple[int, Sequence[int]]:
            # The version first: handles that are newer than their version are read again, older ones would stay.
            version = transaction.execute(_VERSION, {"list_id": list_id}).fetchone()
            rows = transaction.execute(_LISTED, {"list_id": list_id, "last_day": last_day}).fetchall()
            return (0 if version is None else int(version[0])), [int(row[0]) for row in rows]

        return await self._database.read(read)

    async def publish(
        self, manifest: Manifest, shards: Sequence[bytes], version: int, *, after: int | None = None
    ) -> bool:
        """Store an edition with its shards, made from that version of the list, after the edition ``after``, by default the one
        before its own. Return False, and change nothing, if the stored edition is another."""
        place = {"list_id": manifest.epoch.list_id, "epoch": manifest.epoch.epoch}
        edition = {
            **place,
            "edition": manifest.edition,
            "version": version,
            "manifest": manifest.encoded,
            "after": manifest.edition - 1 if after is None else after,
        }
        rows = [
            {**place, "digest": digest, "shard": data} for digest, data in zip(manifest.digests, shards, strict=True)
        ]

        def publish(transaction: Transaction) -> bool:
            is_next = manifest.edition == 1 or transaction.execute(_HAS_PREVIOUS, edition).fetchone() is not None
            if not is_next or not transaction.execute(_PUBLISH, edition).rowcount:
                return False
            for row in rows:
                transaction.execute(_ADD_SHARD, row)
            return True

        return await self._database.write(publish)

    async def published(self, list_id: str, epoch: int) -> Published | None:
        """Return the newest edition of an epoch, or None."""
        rows: list[Any] = await self._rows(_PUBLISHED, {"list_id": _text(list_id), "epoch": epoch})
        return None if not rows else Published(int(rows[0][0]), bytes(rows[0][1]))

    async def shard(self, list_id: str, digest: bytes) -> bytes | None:
        """Return a published shard of any edition, or None."""
        rows: list[Any] = await self._rows(_SHARD, {"list_id": _text(list_id), "digest": digest})
        return None if not rows else bytes(rows[0][0])

    async def record(self, list_id: str, epoch: int, digest: bytes, sequence: int) -> None:
        """Record that the manifest with this digest is the ledger's entry with this sequence."""
        row = {"list_id": list_id, "epoch": epoch, "digest": digest, "sequence": sequence}
        await self._database.write(lambda transaction: transaction.execute(_RECORD, row).rowcount)

    async def recorded(self, list_id: str, digest: bytes) -> int | None:
        """Return the sequence of the entry that is the manifest with this digest, or None."""
        rows: list[Any] = await self._rows(_RECORDED, {"list_id": _text(list_id), "digest": digest})
        return None if not rows else int(rows[0][0])

    async def forget(self, list_id: str, *, before: int) -> None:
        """Delete manifests, shards and records of their entries from epochs before this one."""

        def forget(transaction: Transaction) -> None:
            for statement in _FORGET:
                transaction.execute(statement, {"list_id": list_id, "before": before})

        await self._database.write(forget)


def _begin(transaction: Transaction, gap_list: GapList) -> None:
    """Create the list if it is missing, and sign it with this key from now on."""
    transaction.execute(_NEW_LIST, _LISTS.write(gap_list))
    transaction.execute(_SIGNED_BY, {"id": gap_list.id, "method": gap_list.method})


def _own(list_id: str, known_list: str, handle: int) -> int:
    if known_list != list_id:
        raise ValueError("the credential has a handle in another list")
    return handle


def _text(text: str) -> str:
    # PostgreSQL has no NUL in texts; no list has such an id either.
    return text.replace("\0", "\1")
