"""The embedded database: groups, savepoints, locks, failures, and loops that die."""

from __future__ import annotations

import asyncio
import fcntl
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from identity_core.database import (
    ConstraintViolated,
    Database,
    DatabaseClosed,
    DatabaseDamaged,
    DatabaseError,
    DatabaseOverloaded,
    DatabaseUnavailable,
    Transaction,
    open_sqlite,
)
from identity_core.database import sqlite as room
from identity_core.database.group_commit import GROUP_LIMIT
from identity_core.errors import PluginUnavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "things.sqlite"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = open_sqlite(path)
    opened.write_now(lambda tx: tx.execute("CREATE TABLE things (name TEXT PRIMARY KEY, grp INTEGER) STRICT"))
    yield opened
    asyncio.run(opened.close())


def insert_job(name: str):
    def job(transaction: Transaction) -> int:
        transaction.execute("INSERT INTO things VALUES (:name, :grp)", {"name": name, "grp": transaction.group})
        return transaction.group

    return job


def names(database: Database) -> list[str]:
    return [row[0] for row in database.read_now(lambda tx: tx.execute("SELECT name FROM things ORDER BY 1").fetchall())]


def test_opening_waits_for_whoever_has_the_file_to_himself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process has that closes the last connection; here another program, on a file that is in no write-ahead mode yet."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE others (name TEXT)")
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.1)
        with pytest.raises(DatabaseUnavailable) as refused:
            open_sqlite(path)
        assert "locked" in refused.value.reason
        monkeypatch.setattr(room, "PATIENCE_SECONDS", 60.0)
        leaving = threading.Timer(0.3, other.execute, ("COMMIT",))
        leaving.start()
        opened = open_sqlite(path)
        leaving.join()
    assert opened.read_now(lambda tx: tx.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
    asyncio.run(opened.close())


def test_a_written_row_is_read_back(database: Database) -> None:
    async def scenario() -> None:
        await database.write(insert_job("a"))
        assert await database.read(lambda tx: tx.execute("SELECT name FROM things").fetchone()) == ("a",)

    asyncio.run(scenario())


LONG = 3600.0
"""Longer than any test: what waits for so long does not go by itself."""


def test_job_with_batch_window_shares_next_commit(database: Database) -> None:
    async def scenario() -> tuple[int, int]:
        patient = asyncio.ensure_future(database.write(insert_job("patient"), patience_seconds=LONG))
        # A group that went first would be through before these reads are.
        for _ in range(50):
            await asyncio.sleep(0)
        assert not patient.done()
        assert database.load().waiting == 1
        return await database.write(insert_job("soon")), await patient

    soon, patient = asyncio.run(scenario())
    assert soon == patient


def test_patience_ends(database: Database) -> None:
    async def scenario() -> None:
        await database.write(insert_job("a"), patience_seconds=0.001)
        # The shorter timeout counts, whichever came first.
        long, short = (
            database.write(insert_job(name), patience_seconds=wait) for name, wait in (("b", LONG), ("c", 0.001))
        )
        assert await short == await long

    asyncio.run(scenario())
    assert names(database) == ["a", "b", "c"]


def test_a_full_group_does_not_wait(database: Database) -> None:
    async def scenario() -> set[int]:
        jobs = [database.write(insert_job(f"n{i}"), patience_seconds=LONG) for i in range(GROUP_LIMIT)]
        return set(await asyncio.gather(*jobs))

    assert len(asyncio.run(scenario())) == 1


def test_closing_ends_all_patience(path: Path) -> None:
    async def scenario() -> None:
        opened = open_sqlite(path)
        opened.write_now(lambda tx: tx.execute("CREATE TABLE things (name TEXT PRIMARY KEY, grp INTEGER) STRICT"))
        patient = asyncio.ensure_future(opened.write(insert_job("a"), patience_seconds=LONG))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await opened.close()
        await patient

    asyncio.run(scenario())
    with closing(sqlite3.connect(path)) as found:
        assert found.execute("SELECT name FROM things").fetchall() == [("a",)]


def test_job_in_batch_window_is_dropped_with_its_loop(database: Database) -> None:
    async def abandoned() -> None:
        lost = asyncio.ensure_future(database.write(insert_job("lost"), patience_seconds=LONG))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not lost.done()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(abandoned())
    loop.close()

    async def scenario() -> None:
        await database.write(insert_job("next"), patience_seconds=0.001)

    asyncio.run(scenario())
    assert names(database) == ["next"]


def test_the_file_belongs_to_its_owner_alone_and_is_in_wal_mode(database: Database, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert database.read_now(lambda tx: tx.execute("PRAGMA journal_mode").fetchone()) == ("wal",)


def test_jobs_that_wait_together_share_one_transaction(database: Database) -> None:
    async def scenario() -> set[int]:
        return set(await asyncio.gather(*(database.write(insert_job(f"n{i}")) for i in range(50))))

    assert len(asyncio.run(scenario())) == 1
    assert len(names(database)) == 50


def test_jobs_run_in_the_order_in_which_they_were_submitted(database: Database) -> None:
    ran = []

    async def scenario() -> None:
        jobs = [database.write(lambda tx, i=i: ran.append(i), durable=i % 3 == 0) for i in range(700)]
        await asyncio.gather(*jobs)

    asyncio.run(scenario())
    assert ran == list(range(700))


def test_a_job_that_raises_is_undone_alone(database: Database) -> None:
    class Refused(Exception):
        pass

    def half(transaction: Transaction) -> None:
        insert_job("half")(transaction)
        raise Refused

    async def scenario() -> list[object]:
        jobs = (database.write(insert_job("a")), database.write(half), database.write(insert_job("b")))
        return await asyncio.gather(*jobs, return_exceptions=True)

    first, refused, last = asyncio.run(scenario())
    assert isinstance(refused, Refused)
    assert first == last
    assert names(database) == ["a", "b"]


def test_a_lone_job_that_raises_is_undone(database: Database) -> None:
    def half(transaction: Transaction) -> None:
        insert_job("half")(transaction)
        raise KeyError("mine")

    async def scenario() -> None:
        with pytest.raises(KeyError, match="mine"):
            await database.write(half)
        await database.write(insert_job("next"))

    asyncio.run(scenario())
    assert names(database) == ["next"]


def test_a_broken_constraint_hurts_only_its_own_job(database: Database) -> None:
    async def scenario() -> list[object]:
        return await asyncio.gather(*(database.write(insert_job(n)) for n in "aab"), return_exceptions=True)

    first, double, last = asyncio.run(scenario())
    assert isinstance(double, ConstraintViolated)
    assert first == last
    assert names(database) == ["a", "b"]


@pytest.mark.parametrize("together", [1, 3])
def test_faulty_sql_is_an_error_but_no_outage(database: Database, together: int) -> None:
    async def scenario() -> None:
        jobs = [database.write(lambda tx: tx.execute("SELECT nonsense")) for _ in range(together)]
        for outcome in await asyncio.gather(*jobs, return_exceptions=True):
            assert isinstance(outcome, DatabaseError)
            assert not isinstance(outcome, DatabaseUnavailable)
        with pytest.raises(DatabaseError):
            await database.read(lambda tx: tx.execute("SELECT nonsense"))
        await database.write(insert_job("after"))

    asyncio.run(scenario())
    assert names(database) == ["after"]


def test_readers_cannot_write(database: Database) -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        database.read_now(insert_job("x"))
    assert "readonly" in caught.value.reason


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO things VALUES ('x', 1)",
        " \n/* SELECT */ INSERT INTO things VALUES ('x', 1)",
        "WITH new AS (SELECT 'x') INSERT INTO things SELECT 'x', 1 FROM new",
        "INSERT INTO things VALUES ('x', 1) RETURNING name",
        "UPDATE things SET grp = 7 WHERE name = 'kept' RETURNING grp",
        "SELECT 1; DELETE FROM things",
        "DELETE FROM things",
        "DROP TABLE things",
    ],
)
def test_a_job_that_reads_between_two_groups_cannot_write(database: Database, sql: str) -> None:
    async def scenario() -> None:
        await database.write(insert_job("kept"))
        with pytest.raises((DatabaseError, sqlite3.Error)):
            await database.read(lambda tx: tx.execute(sql).fetchall())
        assert await database.read(lambda tx: tx.execute("SELECT name FROM things").fetchall()) == [("kept",)]
        await database.write(insert_job("after"))

    asyncio.run(scenario())
    assert names(database) == ["after", "kept"]


@pytest.mark.parametrize(("given", "mapped"), [({}, 0), ({"mapped_mebibytes": 3}, 3), ({"mapped_mebibytes": 0}, 0)])
def test_no_connection_maps_more_of_the_file_than_it_may(path: Path, given: dict[str, int], mapped: int) -> None:
    opened = open_sqlite(path, **given)

    async def scenario() -> None:
        def size(transaction: Transaction) -> int:
            return int(transaction.execute("PRAGMA mmap_size").fetchone()[0])

        try:
            assert [opened.read_now(size), await opened.write(size)] == [mapped * 2**20] * 2
        finally:
            await opened.close()

    asyncio.run(scenario())


def test_reads_between_groups_keep_the_pages_of_the_writer(database: Database) -> None:
    """The reader's are thrown away after each commit, so a SELECT that could have them from the writer does not ask there."""
    assert isinstance(database, room.SqliteDatabase)
    asked: list[str] = []
    counted = "SELECT count(*) FROM things WHERE grp > :grp"
    database._reader.set_trace_callback(asked.append)

    async def scenario() -> None:
        for durable in (True, False):
            await database.write(insert_job(f"durable {durable}"), durable=durable)
            assert (await database.read(lambda tx: tx.execute(counted, {"grp": 0}).fetchone()))[0] > 0

    asyncio.run(scenario())
    assert asked == []


def test_a_read_beside_a_commit_sees_what_is_committed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(database, room.SqliteDatabase)
    arrived, go_on, commit = threading.Event(), threading.Event(), database._commit

    def held_up() -> None:
        arrived.set()
        go_on.wait(60)
        commit()

    monkeypatch.setattr(database, "_commit", held_up)

    async def read_names() -> list[tuple[str]]:
        return await database.read(lambda tx: tx.execute("SELECT name FROM things").fetchall())

    async def scenario() -> None:
        written = asyncio.ensure_future(database.write(insert_job("a")))
        await asyncio.to_thread(arrived.wait, 60)
        assert await read_names() == []
        go_on.set()
        await written
        assert await read_names() == [("a",)]

    asyncio.run(scenario())


def test_only_groups_with_a_durable_job_wait_for_the_disk(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(database, "_set_synchronous", seen.append)

    async def scenario() -> None:
        await database.write(insert_job("a"), durable=False)
        await asyncio.gather(
            database.write(insert_job("b"), durable=False), database.write(insert_job("c"), durable=True)
        )

    asyncio.run(scenario())
    assert seen == [False, True]


def test_synchronous_is_really_switched(database: Database) -> None:
    level = {}

    def look(name: str):
        return lambda tx: level.__setitem__(name, tx.execute("PRAGMA synchronous").fetchone()[0])

    async def scenario() -> None:
        for turn in range(3):
            await database.write(look(f"full {turn}"), durable=True)
            await database.write(look(f"normal {turn}"), durable=False)

    asyncio.run(scenario())
    assert {name.split()[0]: value for name, value in level.items()} == {"full": 2, "normal": 1}
    assert [value for _, value in sorted(level.items())] == [2, 2, 2, 1, 1, 1]


def test_too_many_waiting_jobs_are_pushed_back(database: Database) -> None:
    async def scenario() -> None:
        database._queue.queue_limit = 10
        jobs = [database.write(insert_job(f"n{i}")) for i in range(10)]
        with pytest.raises(DatabaseOverloaded):
            await database.write(insert_job("one too many"))
        await asyncio.gather(*jobs)
        await database.write(insert_job("room again"))

    asyncio.run(scenario())
    assert len(names(database)) == 11


def test_a_job_nobody_waits_for_any_more_is_not_run(database: Database) -> None:
    async def scenario() -> None:
        gone = database.write(insert_job("gone"))
        kept = database.write(insert_job("kept"))
        gone.cancel()
        await kept

    asyncio.run(scenario())
    assert names(database) == ["kept"]


def test_follow_up_gets_result_after_commit(database: Database) -> None:
    heard: list[tuple[int, list[str]]] = []

    def hear(group: int) -> None:
        heard.append((group, names(database)))

    def broken(_: Transaction) -> int:
        raise ValueError

    async def scenario() -> None:
        gone = database.write(insert_job("gone"), then=hear)
        gone.cancel()
        with pytest.raises(ValueError):
            await database.write(broken, then=hear)
        # A job that raised has the others run anew, each by itself.
        assert [committed for _, committed in heard] == [["gone"]]
        assert await database.write(insert_job("kept"), durable=False, then=hear) == heard[-1][0]
        assert [committed for _, committed in heard] == [["gone"], ["gone", "kept"]]

    asyncio.run(scenario())


def test_failed_job_is_not_run_later(database: Database, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    heard: list[int] = []

    async def scenario() -> None:
        with pytest.raises(DatabaseUnavailable):
            await database.write(insert_job("refused"), then=heard.append)
        other.execute("ROLLBACK")
        await database.write(insert_job("later"))

    asyncio.run(scenario())
    other.close()
    assert (names(database), heard) == (["later"], [])


def test_caller_cancelled_during_commit_changes_nothing(database: Database) -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        def job(transaction: Transaction) -> None:
            insert_job("a")(transaction)
            started.set()

        gone = database.write(job)
        await started.wait()
        gone.cancel()
        await database.write(insert_job("b"))

    asyncio.run(scenario())
    assert names(database) == ["a", "b"]


def test_another_programs_lock_is_waited_for(database: Database, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.1, lambda: other.execute("COMMIT")).start()
    asyncio.run(_write(database, "patient"))
    assert names(database) == ["patient"]


async def _write(database: Database, name: str) -> None:
    await database.write(insert_job(name))


@pytest.mark.parametrize("how", ["sqlite", "flock"])
def test_lock_that_is_never_freed_fails_jobs_and_not_writer(
    database: Database, path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    file = (path.parent / "things.sqlite.lock").open("r+")
    if how == "sqlite":
        other.execute("BEGIN IMMEDIATE")
    else:
        fcntl.flock(file, fcntl.LOCK_EX)

    async def scenario() -> None:
        for _ in range(3):
            outcomes = await asyncio.gather(*(database.write(insert_job(n)) for n in "ab"), return_exceptions=True)
            assert {type(outcome) for outcome in outcomes} == {DatabaseUnavailable}
        # Readers do not notice.
        assert await database.read(lambda tx: tx.execute("SELECT count(*) FROM things").fetchone()) == (0,)
        if how == "sqlite":
            other.execute("ROLLBACK")
        else:
            file.close()
        await database.write(insert_job("c"))

    asyncio.run(scenario())
    assert names(database) == ["c"]


def test_it_serves_one_event_loop_after_the_other(database: Database) -> None:
    for name in "abc":
        asyncio.run(_write(database, name))
    assert names(database) == ["a", "b", "c"]


def test_two_loops_at_once_are_refused(database: Database) -> None:
    async def scenario() -> None:
        release = threading.Event()
        running = threading.Event()

        def hold() -> None:
            running.set()
            release.wait(60)

        database._worker.submit(hold)
        assert running.wait(60)
        first = database.write(insert_job("a"))
        await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError, match="one event loop"):
            await asyncio.to_thread(asyncio.run, _write(database, "b"))
        release.set()
        await first

    asyncio.run(scenario())


def test_a_loop_that_dies_in_the_middle_of_a_group_blocks_nobody(database: Database) -> None:
    async def abandoned() -> None:
        _ = database.write(insert_job("maybe"))
        await asyncio.sleep(0)

    asyncio.run(abandoned())
    asyncio.run(_write(database, "later"))
    assert "later" in names(database)


def test_foreign_changes_are_counted_and_our_own_are_not(database: Database, path: Path) -> None:
    async def scenario() -> None:
        foreign = database.foreign_changes()
        await database.write(insert_job("own"))
        assert database.foreign_changes() == foreign
        other = sqlite3.connect(path)
        other.execute("INSERT INTO things VALUES ('foreign', 0)")
        other.commit()
        assert database.foreign_changes() != foreign

    asyncio.run(scenario())


def test_checkpoints_keep_the_log_short(database: Database, path: Path) -> None:
    async def scenario() -> None:
        for turn in range(40):
            await asyncio.gather(
                *(database.write(insert_job(f"{turn} {i} {'x' * 2000}"), durable=turn % 2 == 0) for i in range(50))
            )

    asyncio.run(scenario())
    assert (path.parent / "things.sqlite-wal").stat().st_size < 4_000_000 < path.stat().st_size


def test_close_finishes_what_is_queued_and_can_be_called_twice(path: Path) -> None:
    database = open_sqlite(path)
    database.write_now(lambda tx: tx.execute("CREATE TABLE things (name TEXT PRIMARY KEY, grp INTEGER)"))

    async def scenario() -> None:
        jobs = [database.write(insert_job(f"n{i}")) for i in range(600)]
        await database.close()
        await database.close()
        await asyncio.gather(*jobs)
        with pytest.raises(DatabaseClosed):
            await database.write(insert_job("late"))
        with pytest.raises(DatabaseClosed):
            await database.read(lambda tx: tx.execute("SELECT 1").fetchone())

    asyncio.run(scenario())
    again = open_sqlite(path)
    assert len(names(again)) == 600
    asyncio.run(again.close())
    assert not (path.parent / "things.sqlite-wal").exists()


def test_write_now_does_not_cut_into_queued_jobs(database: Database) -> None:
    async def scenario() -> None:
        queued = database.write(insert_job("a"))
        with pytest.raises(RuntimeError):
            database.write_now(insert_job("b"))
        await queued

    asyncio.run(scenario())
    database.write_now(insert_job("b"))
    with pytest.raises(ConstraintViolated):
        database.write_now(insert_job("b"))
    assert names(database) == ["a", "b"]


def test_a_path_that_cannot_be_opened_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable) as caught:
        open_sqlite(tmp_path / "absent" / "x.sqlite")
    assert "cannot open" in caught.value.reason
    (tmp_path / "junk.sqlite").write_bytes(b"this is not a database, " * 500)
    with pytest.raises(DatabaseDamaged) as damaged:
        open_sqlite(tmp_path / "junk.sqlite")
    assert "cannot open" in damaged.value.reason


def test_two_open_databases_take_turns(database: Database, path: Path) -> None:
    second = open_sqlite(path, processes=2)

    async def scenario() -> None:
        first_jobs = [database.write(insert_job(f"a{i}")) for i in range(300)]
        second_jobs = [second.write(insert_job(f"b{i}")) for i in range(300)]
        await asyncio.gather(*first_jobs, *second_jobs)

    asyncio.run(asyncio.wait_for(scenario(), 120))
    assert len(names(database)) == 600
    asyncio.run(second.close())


def test_hanging_loop_does_not_block_another_process(database: Database, path: Path) -> None:
    """The thread that waited for the lock takes it back from a loop that does not come, and asks again when the loop does."""
    hanging, other = open_sqlite(path, processes=2), open_sqlite(path, processes=2)
    hangs, goes_on = threading.Event(), threading.Event()

    async def hang() -> None:
        late = hanging.write(insert_job("late"))
        asyncio.get_running_loop().call_soon(lambda: (hangs.set(), goes_on.wait(60)))
        await late

    async def write() -> None:
        for number in range(20):
            await other.write(insert_job(f"beside {number}"))

    thread = threading.Thread(target=asyncio.run, args=(hang(),))
    thread.start()
    try:
        hangs.wait(60)
        asyncio.run(asyncio.wait_for(write(), 30))
        assert "late" not in names(database)
    finally:
        goes_on.set()
        thread.join()
    assert names(database) == [*sorted(f"beside {number}" for number in range(20)), "late"]
    for opened in (hanging, other):
        asyncio.run(opened.close())


def test_a_loop_that_is_slower_than_a_turn_still_writes(
    database: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "TURN_SECONDS", 0.02)
    slow = open_sqlite(path, processes=2)

    async def scenario() -> None:
        loop, written = asyncio.get_running_loop(), asyncio.Event()

        def stall() -> None:
            time.sleep(0.2)
            if not written.is_set():
                loop.call_soon(stall)

        loop.call_soon(stall)
        try:
            await slow.write(insert_job("late"))
        finally:
            written.set()
        await slow.close()

    asyncio.run(scenario())
    assert names(database) == ["late"]


def test_failure_shown_to_clients_names_no_path(tmp_path: Path) -> None:
    with pytest.raises(PluginUnavailable) as caught:
        open_sqlite(tmp_path / "nowhere" / "a.sqlite")
    assert str(caught.value) == "The database is not available."
    assert caught.value.details == {"retryAfter": 1}


def rows_in_the_file(path: Path) -> int:
    """Of the file alone, without its write-ahead log."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM things").fetchone()[0])


@pytest.mark.parametrize("heavy", [True, False])
def test_heavy_job_returns_after_checkpoint(database: Database, path: Path, heavy: bool) -> None:
    def many(transaction: Transaction) -> None:
        for number in range(100):
            transaction.execute("INSERT INTO things VALUES (:name, 1)", {"name": str(number)})

    async def scenario() -> None:
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        await database.write(many, durable=False, heavy=heavy)
        assert rows_in_the_file(path) == (100 if heavy else 0)

    asyncio.run(scenario())
