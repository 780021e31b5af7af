"""The audit log: lines in order, chained."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from identity_core.domain.audit_chain import GENESIS, next_link
from identity_core.ports.repositories import AuditRow
from identity_core.store import Store, audit

ROW = AuditRow(
    at=datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC),
    request_id="r-1",
    operation="createDid",
    caller="key:1",
    fingerprint="0123456789ab",
    target="did:ids:a",
    outcome="done",
    details={"versionId": 1, "note": "grün", "list": [None, True, 1.5]},
)
BARE = AuditRow(ROW.at, "r-2", "expireKey", None, None, None, "done", {})


def links_hold(store: Store) -> bool:
    rows = store.database.read_now(
        lambda tx: tx.execute("SELECT sequence, line, link FROM audit_lines ORDER BY sequence").fetchall()
    )
    previous = GENESIS
    for number, (sequence, line, link) in enumerate(rows, 1):
        previous = next_link(previous, bytes(line))
        if number != sequence or bytes(link) != previous or not bytes(line).startswith(b'{"sequence":%d,' % number):
            return False
    return True


def test_rows_come_back_as_they_went_in(store: Store) -> None:
    async def scenario() -> None:
        await store.audit.write(ROW)
        await store.audit.write(BARE, durable=True)
        assert list(await store.audit.read(after=0, limit=10)) == [(1, ROW), (2, BARE)]
        assert list(await store.audit.read(after=1, limit=10)) == [(2, BARE)]
        assert list(await store.audit.read(after=0, limit=1)) == [(1, ROW)]

    asyncio.run(scenario())


def test_two_stores_write_one_chain(store: Store, tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        other = Store.open(tmp_path, url)
        for _ in range(3):
            await asyncio.gather(*(each.audit.write(ROW) for each in (store, other) for _ in range(10)))
        await other.close()

    asyncio.run(scenario())
    assert links_hold(store)
    assert len(asyncio.run(store.audit.read(after=0, limit=100))) == 60


def test_an_edited_line_breaks_the_chain(store: Store) -> None:
    async def scenario() -> None:
        for _ in range(3):
            await store.audit.write(ROW)

    asyncio.run(scenario())
    assert links_hold(store)
    store.database.write_now(
        lambda tx: tx.execute(
            "UPDATE audit_lines SET line = :line WHERE sequence = 2", {"line": audit.to_line(2, BARE)}
        )
    )
    assert not links_hold(store)
