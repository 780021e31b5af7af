"""The SQL ledger on a PostgreSQL server: the promises of the port, and two replicas on one database."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from identity_ledger_sql import SqlLedger

from identity_core.conformance.ledger import LedgerConformance, check_lines, whole
from identity_core.domain.errors import LedgerUnavailable, VersionConflict
from tests.postgres_server import PostgresServer, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return 0.0


def open_ledger(url: str) -> SqlLedger:
    from pathlib import Path

    return SqlLedger.open(Path("/nowhere"), url, clock=SystemClock(), processes=1)


class TestPostgresqlLedger(LedgerConformance):
    @pytest.fixture
    def ledger(self, postgres_url: str) -> Iterator[SqlLedger]:
        opened = open_ledger(postgres_url)
        yield opened
        asyncio.run(opened.close())

    @pytest.fixture
    def reopen(self, postgres_url: str) -> Callable[[], SqlLedger]:
        return lambda: open_ledger(postgres_url)


def test_replicas_on_one_database_leave_no_fork_and_no_gap(postgres_url: str) -> None:
    async def scenario() -> None:
        replicas = [open_ledger(postgres_url) for _ in range(3)]

        async def own(replica: SqlLedger, name: int) -> None:
            for version in range(5):
                await replica.append(f"did:x:{name}", b"own", expected_version=version)

        async def shared(replica: SqlLedger) -> int:
            won = 0
            for version in range(5):
                try:
                    await replica.append("did:x:shared", b"shared", expected_version=version)
                    won += 1
                except VersionConflict:
                    pass
            return won

        writers = [own(replicas[n % 3], n) for n in range(12)]
        wins = await asyncio.gather(*writers, *(shared(replica) for replica in replicas))
        assert sum(win for win in wins if win is not None) == 5
        lines = await whole(replicas[0])
        assert len(lines) == 65
        check_lines(lines)
        for replica in replicas:
            await replica.close()

    asyncio.run(scenario())


def test_a_server_that_restarts_costs_errors_and_no_entry(postgres_server: PostgresServer, postgres_url: str) -> None:
    async def scenario() -> None:
        ledger = open_ledger(postgres_url)
        await ledger.append("did:x:1", b"before", expected_version=0)
        for how in (signal.SIGINT, signal.SIGQUIT):
            await asyncio.to_thread(postgres_server.stop, how)
            with pytest.raises(LedgerUnavailable):
                await ledger.append("did:x:2", b"while it is down", expected_version=0)
            with pytest.raises(LedgerUnavailable):
                await ledger.head()
            await asyncio.to_thread(postgres_server.start)
            assert [line.entry for line in await ledger.entries("did:x:1")] == [b"before"]
        await ledger.append("did:x:1", b"after", expected_version=1)
        check_lines(await whole(ledger))
        await ledger.close()

    asyncio.run(scenario())


def test_a_connection_that_is_cut_in_mid_group_fails_the_group_and_heals(postgres_url: str) -> None:
    async def scenario() -> None:
        ledger = open_ledger(postgres_url)
        await ledger.append("did:x:1", b"1", expected_version=0)
        blocker = psycopg.connect(postgres_url)
        blocker.execute("SELECT id FROM ledger_head FOR UPDATE")
        appends = [asyncio.ensure_future(ledger.append(f"did:x:{n}", b"x", expected_version=0)) for n in range(2, 12)]
        with psycopg.connect(postgres_url, autocommit=True) as killer:
            cut = 0
            while cut == 0:
                await asyncio.sleep(0.02)
                cut = len(
                    killer.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                    ).fetchall()
                )
        outcomes = await asyncio.gather(*appends, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {LedgerUnavailable}
        blocker.rollback()
        blocker.close()
        await ledger.append("did:x:2", b"again", expected_version=0)
        lines = await whole(ledger)
        assert len(lines) == 2
        check_lines(lines)
        await ledger.close()

    asyncio.run(scenario())


def test_rows_cannot_be_changed_or_deleted_by_mistake(postgres_url: str) -> None:
    ledger = open_ledger(postgres_url)
    asyncio.run(ledger.append("did:x:1", b"1", expected_version=0))
    asyncio.run(ledger.close())
    for statement in ("UPDATE ledger_entries SET entry = ''", "DELETE FROM ledger_entries", "TRUNCATE ledger_entries"):
        with (
            psycopg.connect(postgres_url) as careless,
            pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="append-only"),
        ):
            careless.execute(statement)  # type: ignore[call-overload]
