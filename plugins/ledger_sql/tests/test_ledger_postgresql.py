"""The SQL ledger on a PostgreSQL server: the promises of the port, and two replicas on one database."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from identity_kit.conformance.anchoring import AnchoringLedgerConformance
from identity_kit.conformance.ledger import LedgerConformance, check_lines, whole
from identity_kit.conformance.ledger_faults import LedgerFaultConformance
from identity_ledger_sql import SqlLedger

from identity_core.errors import LedgerUnavailable, VersionConflict
from tests.postgres_server import PostgresServer, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return 0.0


def open_ledger(url: str) -> SqlLedger:
    return SqlLedger.open(Path("/nowhere"), url, clock=SystemClock(), processes=1)


@contextlib.contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    """As if its power failed."""
    server.stop(signal.SIGQUIT)
    try:
        yield
    finally:
        server.start()


class TestPostgresqlLedger(LedgerConformance, LedgerFaultConformance, AnchoringLedgerConformance):
    @pytest.fixture
    def ledger(self, postgres_url: str) -> Iterator[SqlLedger]:
        opened = open_ledger(postgres_url)
        yield opened
        asyncio.run(opened.close())

    @pytest.fixture
    def reopen(self, postgres_url: str) -> Callable[[], SqlLedger]:
        return lambda: open_ledger(postgres_url)

    @pytest.fixture
    def outage(self, postgres_server: PostgresServer) -> Callable[[], contextlib.AbstractContextManager[None]]:
        return lambda: stopped(postgres_server)

    @pytest.fixture
    def tamper(self, postgres_url: str) -> Callable[[int, bytes], None]:
        def forge(sequence: int, entry: bytes) -> None:
            with psycopg.connect(postgres_url) as forger:
                forger.execute("ALTER TABLE ledger_entries DISABLE TRIGGER ALL")
                forger.execute("UPDATE ledger_entries SET entry = %s WHERE sequence = %s", (entry, sequence))

        return forge


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
            try:
                with pytest.raises(LedgerUnavailable):
                    await ledger.append("did:x:2", b"while it is down", expected_version=0)
                with pytest.raises(LedgerUnavailable):
                    await ledger.head()
            finally:
                await asyncio.to_thread(postgres_server.start)
            assert [line.entry for line in await ledger.entries("did:x:1")] == [b"before"]
        await ledger.append("did:x:1", b"after", expected_version=1)
        check_lines(await whole(ledger))
        await ledger.close()

    asyncio.run(scenario())


# Holds up an append behind the lock that its commit begins with: where the connection breaks before, it is tried again.
NO_ENTRY = "LOCK TABLE ledger_entries IN SHARE MODE"


def test_append_survives_broken_connection(postgres_server: PostgresServer, postgres_url: str) -> None:
    async def scenario() -> None:
        ledger = open_ledger(postgres_url)
        await ledger.append("did:x:1", b"first", expected_version=0)
        with psycopg.connect(postgres_url) as other:
            other.execute("SELECT id FROM ledger_head WHERE id = 1 FOR UPDATE")
            second = asyncio.create_task(ledger.append("did:x:1", b"second", expected_version=1))
            waiting = await asyncio.to_thread(waiting_for, postgres_server, "Lock")
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", (waiting,))
        receipt = await second
        lines = await whole(ledger)
        assert [line.entry for line in lines] == [b"first", b"second"]
        assert lines[1].receipt == receipt
        await ledger.close()

    asyncio.run(scenario())


def test_connection_cut_in_group_fails_group(postgres_url: str) -> None:
    async def scenario() -> None:
        ledger = open_ledger(postgres_url)
        await ledger.append("did:x:1", b"1", expected_version=0)
        blocker = psycopg.connect(postgres_url)
        blocker.execute(NO_ENTRY)
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
        assert all(isinstance(outcome, LedgerUnavailable) for outcome in outcomes)
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


def waiting_for(server: PostgresServer, event: str) -> int:
    """The process of the server that waits for this event (or for events of this type)."""
    asked = "SELECT pid FROM pg_stat_activity WHERE %s IN (wait_event, wait_event_type)"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            row = connection.execute(asked, (event,)).fetchone()
            if row is not None:
                return int(row[0])
            time.sleep(0.02)
    raise AssertionError(f"nothing waits for {event}")


def commits_wait(server: PostgresServer) -> None:
    """Returns when commits wait for a standby: the server reads its settings again in its own time."""

    def commit() -> None:
        with psycopg.connect(server.url(), autocommit=True, application_name="commits_wait") as connection:
            connection.execute("SELECT pg_logical_emit_message(true, 'trial', '')")

    asked = "SELECT pid FROM pg_stat_activity WHERE application_name = 'commits_wait' AND wait_event = 'SyncRep'"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            trial = threading.Thread(target=commit)
            trial.start()
            while trial.is_alive():
                row = connection.execute(asked).fetchone()
                if row is not None:
                    connection.execute("SELECT pg_cancel_backend(%s)", row)
                    trial.join()
                    return
    raise AssertionError("commits do not wait for the standby")


@contextlib.contextmanager
def standby_that_is_away(server: PostgresServer) -> Iterator[Callable[[], None]]:
    """Commits wait for a standby that does not exist; the function that is handed out ends that."""

    def name(standby: str) -> None:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'")  # type: ignore[call-overload]
            connection.execute("SELECT pg_reload_conf()")

    try:
        name("ghost")
        commits_wait(server)
        yield lambda: name("")
    finally:
        name("")


def test_broken_commit_is_looked_up(postgres_server: PostgresServer, postgres_url: str) -> None:
    """The server has committed, the connection is gone: the entry is there, once, and its writer gets the receipt."""

    async def scenario() -> None:
        ledger = open_ledger(postgres_url)
        await ledger.append("did:x:1", b"first", expected_version=0)
        with standby_that_is_away(postgres_server) as comes_back:
            second = asyncio.create_task(ledger.append("did:x:1", b"second", expected_version=1))
            waiting = await asyncio.to_thread(waiting_for, postgres_server, "SyncRep")
            comes_back()
            with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", (waiting,))
            receipt = await second
        lines = await whole(ledger)
        assert [line.entry for line in lines] == [b"first", b"second"]
        assert lines[1].receipt == receipt
        await ledger.close()

    asyncio.run(scenario())


def test_commit_that_its_standby_has_not_confirmed_is_no_success(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    """PostgreSQL calls it success with a warning when the wait is cut off; a failover could take the entry back."""

    async def scenario() -> None:
        ledger = open_ledger(postgres_url)
        await ledger.append("did:x:1", b"first", expected_version=0)
        with standby_that_is_away(postgres_server):
            second = asyncio.create_task(ledger.append("did:x:1", b"second", expected_version=1))
            waiting = await asyncio.to_thread(waiting_for, postgres_server, "SyncRep")
            with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
                connection.execute("SELECT pg_cancel_backend(%s)", (waiting,))
            with pytest.raises(LedgerUnavailable) as caught:
                await second
        assert caught.value.details["outcome"] == "unknown"
        (_, line) = await whole(ledger)
        assert caught.value.details["transactionHash"] == line.receipt.transaction_hash
        await ledger.close()

    asyncio.run(scenario())


def test_an_append_that_was_never_recorded_is_known_not_to_be(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    """The connection breaks before the commit: after the look-up the caller knows that nothing is there."""

    async def scenario() -> None:
        ledger = open_ledger(postgres_url)
        await ledger.append("did:x:1", b"first", expected_version=0)
        with psycopg.connect(postgres_url) as other:
            other.execute(NO_ENTRY)
            second = asyncio.create_task(ledger.append("did:x:1", b"second", expected_version=1))
            waiting = await asyncio.to_thread(waiting_for, postgres_server, "Lock")
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", (waiting,))
            other.rollback()
            with pytest.raises(LedgerUnavailable) as caught:
                await second
        assert caught.value.details["outcome"] == "not recorded"
        assert len(await whole(ledger)) == 1
        await ledger.close()

    asyncio.run(scenario())


class ClockAhead(SystemClock):
    ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


def test_a_clock_ahead_of_the_server_records_nothing(postgres_url: str, tmp_path: Path) -> None:
    """Also one that was ahead at the start already, which no counter tells."""

    async def story() -> None:
        clock = ClockAhead()
        clock.ahead = timedelta(days=3)
        ledger = SqlLedger.open(tmp_path, postgres_url, clock=clock, processes=1)
        with pytest.raises(LedgerUnavailable, match="ahead"):
            await ledger.append("did:x:1", b"ahead", expected_version=0)
        clock.ahead = timedelta(seconds=-3600)
        assert (await ledger.append("did:x:1", b"behind", expected_version=0)).sequence == 1
        clock.ahead = timedelta(seconds=50)
        assert (await ledger.append("did:x:1", b"within bounds", expected_version=1)).sequence == 2
        await ledger.close()

    asyncio.run(story())
