"""``identity upgrade apply`` on PostgreSQL where something goes wrong: two at once, one that is killed half-way, a role without rights, a
database of a newer version. The installation is as it was or as it should be, and every refusal says what to do."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from identity_operations.upgrade import apply as room
from identity_operations.upgrade.steps import bring_up

from identity_core.database import migrations
from identity_core.settings import Settings, load
from identity_core.store import migrations as steps_of_store
from plugins.operations.tests.test_upgrade_server import (
    LAST,
    SEALED,
    TOMORROW,
    audited,
    change,
    database,
    differences,
    last_step,
    newer,
    older,
    on_server,
)
from tests.fault.service_process import eventually
from tests.postgres_server import PostgresServer, postgres_server
from tests.unit.cli.conftest import Commands, here

__all__ = ["database", "here", "newer", "older", "on_server", "postgres_server"]

OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
ASLEEP = f"{OTHERS} AND state = 'active' AND query LIKE '%pg_sleep%'"
WAITING = f"{OTHERS} AND wait_event = 'advisory'"


def query(url: str, question: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question).fetchone()  # type: ignore[call-overload]
    assert row is not None
    return row[0]


def settings_of(url: str) -> Settings:
    return load(environment={"IDENTITY_DATABASE_URL": url, **SEALED})


def applied(settings: Settings) -> None:
    asyncio.run(room.upgrade(settings, None))


def test_two_at_once_make_each_step_once(on_server: Commands, database: Callable[[], str]) -> None:
    """A service that starts meanwhile makes the same step, and waits. Of two that upgrade the second is refused; one line tells of it."""
    live = database()
    settings = settings_of(live)
    failures: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        # Whatever it is, the test tells it.
        except BaseException as error:
            failures.append(error)

    jobs = [lambda: applied(settings), lambda: asyncio.run(bring_up(settings))]
    both = [threading.Thread(target=run, args=(job,)) for job in jobs]
    with psycopg.connect(live) as holding:
        holding.execute("SELECT pg_advisory_xact_lock(hashtext('identity store_migrations'))")
        for one in both:
            one.start()
        eventually(lambda: query(live, WAITING) == 2 or bool(failures), "both wait for the lock of the steps")
        what, _, remedy = on_server.refused("upgrade", "apply", "--yes", "--database-url", live)
        assert "another `identity upgrade apply` is at work" in what
        assert "`identity upgrade check`" in remedy
    for one in both:
        one.join()
    assert failures == []
    assert last_step(live) == LAST + 1
    assert query(live, f"SELECT count(*) FROM store_migrations WHERE number = {LAST + 1}") == 1
    assert len(audited(live)) == 1
    # One that had seen it missing before the other was done.
    applied(settings)
    assert len(audited(live)) == 1
    assert "up to date" in on_server.ok("upgrade", "check", "--database-url", live)
    assert "nothing was to be done" in on_server.ok("upgrade", "apply", "--yes", "--database-url", live)


def test_killed_migration_is_run_again(
    on_server: Commands, database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    live = database()
    every = migrations._steps
    slow = migrations.Step(LAST + 1, f"{LAST + 1:04}_of_tomorrow.sql", f"{TOMORROW}SELECT pg_sleep(2);\n")
    with monkeypatch.context() as patched:
        patched.setattr(
            migrations,
            "_steps",
            lambda package, dialect: [
                slow if one.number > LAST and package == steps_of_store.__name__ else one
                for one in every(package, dialect)
            ],
        )
        child = os.fork()
        if not child:
            try:
                applied(settings_of(live))
            finally:
                os._exit(0)
    try:
        eventually(lambda: query(live, ASLEEP) == 1, "the step is under way")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    eventually(lambda: query(live, OTHERS) == 0, "the server has seen that it is gone")
    assert last_step(live) == LAST
    assert query(live, "SELECT to_regclass('of_tomorrow')") is None
    assert audited(live) == []
    on_server.ok("upgrade", "apply", "--yes", "--database-url", live)
    assert (last_step(live), len(audited(live))) == (LAST + 1, 1)


def test_role_without_rights_gets_remedy(on_server: Commands, database: Callable[[], str]) -> None:
    live = database()
    change(
        live,
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO reader",
    )
    as_reader = live.replace("identity@", "reader@", 1)
    assert as_reader != live
    wrong, where, remedy = on_server.refused("upgrade", "apply", "--yes", "--database-url", as_reader)
    assert "permission denied" in wrong
    assert "database_url" in where
    assert "as the role that owns the tables" in remedy
    # One that may not even look is not told that all is well.
    change(live, "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM reader")
    for words in (("check",), ("apply", "--yes")):
        assert "permission denied" in on_server.refused("upgrade", *words, "--database-url", as_reader)[0]
    assert (last_step(live), audited(live)) == (LAST, [])
    # As the remedy says.
    on_server.ok("upgrade", "apply", "--yes", "--database-url", live)
    assert last_step(live) == LAST + 1
    change(live, "DROP OWNED BY reader", "DROP ROLE reader")


def test_newer_databases_are_left_alone(
    on_server: Commands, database: Callable[[], str], postgres_server: PostgresServer, tmp_path: Path
) -> None:
    live = database()
    change(live, f"INSERT INTO store_migrations VALUES ({LAST + 5}, '{LAST + 5:04}_later.sql', 'x')")
    for words in (("check",), ("apply", "--yes")):
        wrong, _, remedy = on_server.refused("upgrade", *words, "--database-url", live)
        assert "newer version" in wrong
        assert "install the version of identity-service that made it" in remedy
    assert last_step(live) == LAST + 5
    assert audited(live) == []
    assert [one for one in differences(live) if "of_tomorrow" in one] == []
