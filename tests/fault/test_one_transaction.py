"""Changes of a DID on one PostgreSQL database: entry, index row, audit line and stored answer are one transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from nacl.signing import SigningKey

from identity_codec.times import printed
from tests.attack.stranger import ACTS, LEAVE, PREFIX, Answer, Holder, public, recovery_body, rotation, service
from tests.fault import service_process
from tests.fault.service_process import Running
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

CREATE = {"method": "ids", "options": {"recoveryKey": True}}
# The transaction that wrote the newest row of each table.
WRITERS = """
SELECT (SELECT xmin FROM ledger_entries ORDER BY sequence DESC LIMIT 1),
(SELECT xmin FROM did_versions ORDER BY sequence DESC LIMIT 1),
(SELECT xmin FROM audit_lines ORDER BY sequence DESC LIMIT 1),
(SELECT xmin FROM idempotency_keys WHERE status IS NOT NULL ORDER BY begun_at DESC LIMIT 1)
"""
COUNTS = """
SELECT (SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM did_versions),
(SELECT count(*) FROM idempotency_keys WHERE status IS NOT NULL)
"""

WAITS_FOR_AUDIT = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%audit_lines%'"


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.new_database()


@pytest.fixture
def running(url: str, tmp_path: Path) -> Iterator[Running]:
    with service_process.service(tmp_path / "data", environment={"IDENTITY_DATABASE_URL": url}) as started:
        yield started


def row(url: str, sql: str) -> tuple[Any, ...]:
    with psycopg.connect(url) as session:
        found = session.execute(sql).fetchone()
    assert found is not None
    return tuple(found)


def keyed(running: Running, method: str, path: str, body: Any, key: str, authorization: str | None = None) -> Answer:
    named = {"X-API-Key": running.stranger.api_key} if authorization is None else {"Authorization": authorization}
    return running.wire.call(method, path, body, named | {"Idempotency-Key": key})


def create(running: Running, key: str) -> Answer:
    return keyed(running, "POST", f"{PREFIX}/dids", CREATE, key)


def change(running: Running, holder: Holder, act: str, body: Any) -> Answer:
    return keyed(running, ACTS[act][0], holder.path(act), body, f"key-of-the-change-{act}", holder.signed(act, body))


def test_change_and_answer_are_one_transaction(running: Running, url: str) -> None:
    hana, ivan, jana, karl = (running.stranger.holder() for _ in range(4))
    # The old key signs the retry too.
    grace = rotation(ivan.key_id) | {"revokeOldAfter": printed(datetime.now(UTC) + timedelta(hours=12))}
    recovery = recovery_body(public(SigningKey.generate()))
    changes: dict[str, Callable[[], Answer]] = {
        "create": lambda: create(running, "key-of-the-change-create"),
        "update": lambda: change(running, hana, "update", service("one")),
        "rotate": lambda: change(running, ivan, "rotate", grace),
        "recover": lambda: change(running, jana, "recover", recovery),
        "deactivate": lambda: change(running, karl, "deactivate", LEAVE),
    }
    for name, send in changes.items():
        first = send()
        assert first.status in (200, 201), (name, first.body)
        # A deactivation takes no Idempotency-Key, and its DID no further challenge.
        written = row(url, WRITERS)[: 3 if name == "deactivate" else 4]
        assert len(set(written)) == 1, (name, written)
        if name != "deactivate":
            # The recovery key is used, and may still fetch the answer of its request.
            assert send().json == first.json


@contextmanager
def hold_locks(url: str, *statements: str) -> Iterator[None]:
    """A transaction of another session holds these locks."""
    with psycopg.connect(url) as other:
        for statement in statements:
            other.execute(statement)
        yield


def name_standby(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        session.execute("SELECT pg_reload_conf()")


@contextmanager
def absent_standby(url: str) -> Iterator[None]:
    """Every durable commit waits for a standby that does not exist. A thread commits until one waits: the reload takes a moment."""
    ended = threading.Event()

    def commit() -> None:
        with psycopg.connect(url, autocommit=True) as session:
            while not ended.wait(0.02):
                session.execute("SELECT pg_logical_emit_message(true, 'probe', '')")

    probe = threading.Thread(target=commit)
    try:
        name_standby(url, "absent")
        probe.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        service_process.eventually(lambda: row(url, waits)[0], "a commit waits for the standby")
        yield
    finally:
        ended.set()
        name_standby(url, "")
        probe.join(60)


def timed_create(running: Running) -> Answer:
    """Create with one key; the service answers within its deadline for a commit and that of the group before."""
    began = time.monotonic()
    answer = create(running, "one-key")
    assert time.monotonic() - began < 10
    return answer


def test_absent_standby_is_503_and_retry_creates_once(running: Running, url: str) -> None:
    running.stranger.holder()
    before = row(url, COUNTS)
    with absent_standby(url):
        for _ in range(3):
            answer = timed_create(running)
            assert answer.status == 503, answer.body
    again = [create(running, "one-key") for _ in range(2)]
    assert [answer.status for answer in again] == [201, 201]
    assert again[0].json == again[1].json
    assert row(url, COUNTS) == tuple(count + 1 for count in before)


def test_answer_is_not_replayed_before_standby_confirms(running: Running, url: str) -> None:
    """The standby goes away after the entry was inserted: its commit is on the server, and no answer reports it."""
    running.stranger.holder()
    before = row(url, COUNTS)
    answers: list[Answer] = []
    sender = threading.Thread(target=lambda: answers.append(timed_create(running)))
    with ExitStack() as stack:
        with hold_locks(url, "LOCK TABLE audit_lines IN EXCLUSIVE MODE"):
            sender.start()
            service_process.eventually(lambda: row(url, WAITS_FOR_AUDIT)[0], "an append waits")
            stack.enter_context(absent_standby(url))
        sender.join(60)
        assert [answer.status for answer in answers] == [503]
        after = row(url, COUNTS)
        assert after == tuple(count + 1 for count in before)
        answer = timed_create(running)
        assert answer.status == 503, answer.body
    again = [create(running, "one-key") for _ in range(2)]
    assert [answer.status for answer in again] == [201, 201]
    assert again[0].json == again[1].json
    assert row(url, COUNTS) == after


@pytest.mark.parametrize(
    "lock",
    [
        "LOCK TABLE did_versions IN EXCLUSIVE MODE",
        "LOCK TABLE audit_lines IN EXCLUSIVE MODE",
        "SELECT id FROM ledger_head FOR UPDATE",
    ],
)
def test_locked_table_leaves_no_part_of_a_change(running: Running, url: str, lock: str) -> None:
    """The change is refused while the lock is held, and a retry makes it once."""
    running.stranger.holder()
    before = row(url, COUNTS)
    answers: list[Answer] = []
    sender = threading.Thread(target=lambda: answers.append(create(running, "one-key")))
    with hold_locks(url, lock):
        sender.start()
        sender.join(120)
        assert row(url, COUNTS) == before
    assert [answer.status for answer in answers] == [503]
    assert row(url, COUNTS) == before
    again = [create(running, "one-key") for _ in range(2)]
    assert [answer.status for answer in again] == [201, 201]
    assert again[0].json == again[1].json
    assert row(url, COUNTS) == tuple(count + 1 for count in before)


def test_killed_between_append_and_answer_leaves_nothing(running: Running, url: str, tmp_path: Path) -> None:
    """The entry is inserted and the audit line waits for a lock when the process is killed."""
    running.stranger.holder()
    before = row(url, COUNTS)

    def send() -> None:
        with suppress(OSError):
            create(running, "one-key")

    with hold_locks(url, "LOCK TABLE audit_lines IN EXCLUSIVE MODE"):
        sender = threading.Thread(target=send)
        sender.start()
        service_process.eventually(lambda: row(url, WAITS_FOR_AUDIT)[0], "an append waits")
        running.kill()
        sender.join(60)
    assert row(url, COUNTS) == before
    with service_process.service(tmp_path / "data", environment={"IDENTITY_DATABASE_URL": url}) as again:
        # The reservation of the killed process ends with its lease.
        with psycopg.connect(url) as session:
            session.execute("UPDATE idempotency_keys SET begun_at = begun_at - 61000000 WHERE status IS NULL")
        answers = [create(again, "one-key") for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].json == answers[1].json
    assert row(url, COUNTS) == tuple(count + 1 for count in before)


@pytest.mark.parametrize("table", ["store_lock", "audit_head", "ledger_head"])
def test_each_writer_lock_excludes_a_change(running: Running, url: str, table: str) -> None:
    """A replica of this version holds ``store_lock``; one of the version before holds ``audit_head`` or ``ledger_head``."""
    running.stranger.holder()
    before = row(url, COUNTS)
    answers: list[Answer] = []
    sender = threading.Thread(target=lambda: answers.append(create(running, "one-key")))
    with hold_locks(url, f"SELECT id FROM {table} WHERE id = 1 FOR UPDATE"):
        sender.start()
        sender.join(0.7)
        assert sender.is_alive()
        assert row(url, COUNTS)[:2] == before[:2]
    sender.join(60)
    assert [answer.status for answer in answers] == [201]
    assert row(url, COUNTS) == tuple(count + 1 for count in before)
