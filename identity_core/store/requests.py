"""Idempotency keys, and the usage of each caller."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_codec.times import micros
from identity_core.database import Database, Transaction, follow_write
from identity_core.errors import QuotaExceeded, RequestInProgress
from identity_core.ports.activity import IdempotencyRecord, StoredAnswer
from identity_core.ports.key_store import KEPT, Charge
from identity_core.store.records import Repository, Table, delete_first

LEASE = timedelta(seconds=60)
RETENTION = timedelta(hours=24)
PRUNED_AT_ONCE = 8

_ANSWERS = Table("idempotency_keys", StoredAnswer)
_FORGET_KEYS = delete_first("idempotency_keys", "begun_at <= :kept_from ORDER BY begun_at")
# A reservation is taken over if its lease has ended without an answer, or if its answer is past its retention. Without an answer, the body
# is the intent, with which only the same request may continue.
_BEGIN = """
INSERT INTO idempotency_keys (key_hash, fingerprint, begun_at) VALUES (:key_hash, :fingerprint, :now)
ON CONFLICT (key_hash) DO UPDATE SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, status = NULL, headers = NULL,
body = CASE WHEN idempotency_keys.status IS NULL AND idempotency_keys.begun_at > :kept_from THEN idempotency_keys.body END
WHERE (idempotency_keys.status IS NULL AND idempotency_keys.begun_at <= :leased_from
AND (idempotency_keys.body IS NULL OR idempotency_keys.fingerprint = excluded.fingerprint))
OR idempotency_keys.begun_at <= :kept_from RETURNING body
"""
_CURRENT = "WHERE key_hash = :key_hash AND begun_at > :kept_from"
_FIND = f"SELECT fingerprint, {_ANSWERS.columns} FROM idempotency_keys {_CURRENT}"  # noqa: S608 - made of constants
_OURS = "WHERE key_hash = :key_hash AND begun_at = :since AND status IS NULL"
_INTEND = f"UPDATE idempotency_keys SET body = :body {_OURS}"  # noqa: S608
_COMPLETE = f"UPDATE idempotency_keys SET status = :status, headers = :headers, body = :body, begun_at = :now {_OURS}"  # noqa: S608
_ABANDON = f"DELETE FROM idempotency_keys {_OURS} AND body IS NULL"  # noqa: S608
_RELEASE = f"UPDATE idempotency_keys SET begun_at = :released {_OURS}"  # noqa: S608
_RELEASE_ALL = "UPDATE idempotency_keys SET begun_at = :leased_from WHERE begun_at > :leased_from AND status IS NULL"
# A commit without a change would not reach the disk, and lines before it are not durable by themselves.
# SQLite does not write a page for a row that is updated to what it is.
_TOUCH = "INSERT INTO idempotency_keys (key_hash, fingerprint, begun_at, body) VALUES ('touch', '', 0, :body)"
_UNTOUCH = "DELETE FROM idempotency_keys WHERE key_hash = 'touch'"


def touch(transaction: Transaction, size: int = 0) -> None:
    """Write ``size`` random bytes and delete them. After a durable commit the whole store is on the disk."""
    transaction.execute(_TOUCH, {"body": os.urandom(size)})
    transaction.execute(_UNTOUCH)


class StoredIdempotencyKeys(Repository):
    """The port ``IdempotencyKeys`` on the tables of the store."""

    def __init__(self, database: Database, *, lease: timedelta = LEASE, retention: timedelta = RETENTION) -> None:
        super().__init__(database)
        self._lease = lease
        self._retention = retention

    async def begin(self, key_hash: str, fingerprint: str, now: datetime) -> IdempotencyRecord | None:
        parameters = {"key_hash": key_hash, "fingerprint": fingerprint, "now": micros(now), "limit": PRUNED_AT_ONCE}
        parameters |= {"leased_from": micros(now - self._lease), "kept_from": micros(now - self._retention)}

        def reserve(transaction: Transaction) -> IdempotencyRecord | None:
            reserved = transaction.execute(_BEGIN, parameters).fetchone()
            if reserved is not None:
                transaction.execute(_FORGET_KEYS[self._database.dialect], parameters)
                return None if reserved[0] is None else IdempotencyRecord(fingerprint, None, bytes(reserved[0]))
            known, *answer = transaction.execute(_FIND, parameters).fetchone()
            return IdempotencyRecord(known, None if answer[0] is None else _ANSWERS.read(answer))

        found = await self._database.write(reserve, durable=False)
        # The answer may be one of a commit that the standby has not confirmed. A durable commit waits for that.
        is_replayed = found is not None and found.answer is not None
        return await self._database.write(reserve) if is_replayed and self._database.dialect != "sqlite" else found

    async def find(self, key_hash: str, now: datetime) -> IdempotencyRecord | None:
        parameters = {"key_hash": key_hash, "kept_from": micros(now - self._retention)}
        for known, status, headers, body in await self._rows(_FIND, parameters):
            answer = None if status is None else _ANSWERS.read((status, headers, body))
            return IdempotencyRecord(known, answer, bytes(body) if answer is None and body is not None else None)
        return None

    async def intend(self, key_hash: str, since: datetime, intent: bytes) -> bool:
        return await self._change(_INTEND, {"key_hash": key_hash, "since": micros(since), "body": intent}) > 0

    async def complete(self, key_hash: str, since: datetime, answer: StoredAnswer, now: datetime) -> None:
        await self._change(_COMPLETE, _ANSWERS.write(answer, key_hash=key_hash, since=micros(since), now=micros(now)))

    def completing(
        self, key_hash: str, since: datetime, answer: Callable[[Any], tuple[StoredAnswer, datetime] | None]
    ) -> AbstractContextManager[None]:
        def complete(transaction: Transaction, result: Any) -> None:
            if (found := answer(result)) is None:
                return
            row = _ANSWERS.write(found[0], key_hash=key_hash, since=micros(since), now=micros(found[1]))
            if transaction.execute(_COMPLETE, row).rowcount != 1:
                raise RequestInProgress(details={"retryAfter": 1})

        return follow_write(self._database.write, complete)

    async def abandon(self, key_hash: str, since: datetime) -> None:
        parameters = {"key_hash": key_hash, "since": micros(since), "released": micros(since - self._lease)}

        def free(transaction: Transaction) -> None:
            if not transaction.execute(_ABANDON, parameters).rowcount:
                transaction.execute(_RELEASE, parameters)

        await self._database.write(free, durable=False)

    async def release_all(self, now: datetime) -> None:
        """End every lease, for a process that starts while no other one serves."""
        await self._change(_RELEASE_ALL, {"leased_from": micros(now - self._lease)}, durable=False)

    async def forget(self, now: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET_KEYS, {"kept_from": micros(now - self._retention), "limit": limit})


_UNLIMITED: Final = 1 << 62
COUNTED_AHEAD: Final = 16
"""The maximum number of requests of a day that one statement counts ahead."""
SHARE_AHEAD: Final = 1000
"""The divisor of a limit: requests that are counted ahead never exceed this fraction of it."""
COUNTERS_AHEAD: Final = 4096
"""The maximum number of counters of a day that a process counts ahead. They are cached until the day ends, because an eviction would lose
their reserved counts. All others are increased by one."""

_CHARGE = """
INSERT INTO usage (owner, day, records, octets) SELECT :owner, :day, :records, :byte_count WHERE :byte_count <= :most_octets
ON CONFLICT (owner, day) DO UPDATE SET records = usage.records + excluded.records, octets = usage.octets + excluded.octets
WHERE usage.records + excluded.records <= :most_records AND usage.octets + excluded.octets <= :most_octets
RETURNING records
"""
_REFUND = "UPDATE usage SET records = records - 1, octets = octets - :byte_count WHERE owner = :owner AND day = :day"
_FORGET_USAGE = delete_first("usage", "day > :kept AND day < :before ORDER BY day")


class _Ahead(Struct, eq=False):
    """The numbers that a counter has reserved for later requests. ``asking`` exists while another request reserves more; that request
    sets it afterwards."""

    records: int = 0
    byte_count: int = 0
    asking: asyncio.Event | None = None

    def suffices(self, charge: Charge) -> bool:
        """Return whether the reserved numbers suffice for this charge."""
        return self.records >= 1 and self.byte_count >= charge.byte_count

    def add(self, records: int, byte_count: int) -> None:
        self.records += records
        self.byte_count += byte_count


class StoredUsage(Repository):
    """The port ``Usage`` on the tables of the store.

    If the limit of a day is much larger, one statement counts several requests ahead, so that most requests need no statement. A process
    that ends has counted some too many, and never too few.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._day = KEPT
        self._ahead: dict[str, _Ahead] = {}

    async def charge(self, charges: Sequence[Charge]) -> None:
        counting = self._counting(charges)
        if counting is not None:
            # Wait once: if the other request is refused, or reserves too little for all waiting ones, each runs its own statement.
            await counting.wait()
        new, taken = list[tuple[Charge, _Ahead | None]](), list[tuple[Charge, _Ahead]]()
        for one in charges:
            ahead = self._ahead_of(one)
            if ahead is not None and ahead.suffices(one):
                ahead.add(-1, -one.byte_count)
                taken.append((one, ahead))
            else:
                new.append((one, ahead))
        if not new:
            return
        asked = [(one, 1 if ahead is None or ahead.asking else _at_one_time(one)) for one, ahead in new]
        asking = [ahead for (_, ahead), (_, count) in zip(new, asked, strict=True) if ahead is not None and count > 1]
        done = asyncio.Event()
        for ahead in asking:
            ahead.asking = done
        try:
            counted = await self._database.write(lambda transaction: _charge(transaction, asked), durable=False)
        except BaseException:
            for one, ahead in taken:
                ahead.add(1, one.byte_count)
            raise
        finally:
            for ahead in asking:
                ahead.asking = None
            # A waiting request continues in a later iteration of the loop, when the new counts are there.
            done.set()
        for (one, ahead), count in zip(new, counted, strict=True):
            if ahead is not None:
                ahead.add(count - 1, (count - 1) * one.byte_count)

    def _counting(self, charges: Sequence[Charge]) -> asyncio.Event | None:
        """Return the event of another request that will reserve all missing numbers. Return None if none are missing, or a statement is
        needed anyway."""
        counting = None
        for one in charges:
            ahead = self._ahead_of(one)
            if ahead is None or not ahead.suffices(one):
                if ahead is None or ahead.asking is None:
                    return None
                counting = ahead.asking
        return counting

    def _ahead_of(self, charge: Charge) -> _Ahead | None:
        """Return None for a counter that is changed by one each time, such as those of kept records: some of them are refunded."""
        if charge.day > self._day:
            self._day, self._ahead = charge.day, {}
        if charge.day != self._day or charge.day == KEPT:
            return None
        if charge.owner not in self._ahead and len(self._ahead) < COUNTERS_AHEAD:
            self._ahead[charge.owner] = _Ahead()
        return self._ahead.get(charge.owner)

    async def refund(self, charge: Charge) -> None:
        row = {"owner": charge.owner, "day": charge.day, "byte_count": charge.byte_count}
        await self._change(_REFUND, row, durable=False)

    async def forget(self, before_day: int, *, limit: int) -> int:
        return await self._forget(_FORGET_USAGE, {"kept": KEPT, "before": before_day, "limit": limit})


def _at_one_time(charge: Charge) -> int:
    """Return the number of requests of this size by which the counter is increased."""
    records, data = _most(charge)
    return max(1, min(COUNTED_AHEAD, records // SHARE_AHEAD, data // SHARE_AHEAD // max(1, charge.byte_count)))


def _most(charge: Charge) -> tuple[int, int]:
    return (
        _UNLIMITED if charge.most_records is None else charge.most_records,
        _UNLIMITED if charge.most_octets is None else charge.most_octets,
    )


def _charge(transaction: Transaction, asked: Sequence[tuple[Charge, int]]) -> list[int]:
    """Return the number of counted requests for each charge: the requested number, or one if that exceeds the limit. Raises
    ``QuotaExceeded``."""
    counted = []
    for charge, count in asked:
        # One that raises is undone alone, and with it what the charges before it have counted.
        found = next((each for each in dict.fromkeys((count, 1)) if _is_counted(transaction, charge, each)), None)
        if found is None:
            limits = {"records": charge.most_records, "octets": charge.most_octets}
            raise QuotaExceeded(details={"quota": charge.name, **limits})
        counted.append(found)
    return counted


def _is_counted(transaction: Transaction, charge: Charge, count: int) -> bool:
    most_records, most_octets = _most(charge)
    row = {"owner": charge.owner, "day": charge.day, "records": count, "byte_count": count * charge.byte_count}
    row |= {"most_records": most_records, "most_octets": most_octets}
    return transaction.execute(_CHARGE, row).fetchone() is not None
