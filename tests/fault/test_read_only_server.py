"""A PostgreSQL server that turns read-only while connections to it are open, as one does that a failover has demoted."""

from __future__ import annotations

from pathlib import Path

import psycopg

from tests.attack.stranger import PREFIX, Answer
from tests.fault import service_process
from tests.fault.service_process import Running, eventually
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]


def create(running: Running, key: str | None) -> Answer:
    headers = {"X-API-Key": running.stranger.api_key} | ({} if key is None else {"Idempotency-Key": key})
    return running.wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, headers)


def turn(url: str, *, read_only: bool) -> None:
    """Changes what transactions of the server begin with, in open sessions too."""
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as session:
        value = "on" if read_only else "off"
        session.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        session.execute("SELECT pg_reload_conf()")
    # The processes of the server read the file a moment later.
    eventually(lambda: read_setting(url) == value, "the server has read its configuration")


def read_setting(url: str) -> str:
    """Return the default of a new session."""
    with psycopg.connect(url, autocommit=True) as session:
        (row,) = session.execute("SHOW default_transaction_read_only").fetchall()
    return str(row[0])


def test_read_only_server_answers_503_until_writable(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """SQLSTATE 25006 (PostgreSQL, Appendix A): the session is of no use for writing; 503, not ready, and over when the server takes
    writes again (RFC 9110 §15.6.4)."""
    url = postgres_server.new_database()
    with service_process.service(tmp_path / "data", environment={"IDENTITY_DATABASE_URL": url}) as running:
        assert create(running, "before").status == 201
        did = create(running, "another").json["did"]
        turn(url, read_only=True)
        try:
            refused = [create(running, None), *(create(running, f"k{number}") for number in range(3))]
            assert {one.outcome for one in refused} == {(503, "PLUGIN_UNAVAILABLE")}
            assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
            assert running.wire.call("GET", "/ready").status == 503
            assert running.wire.call("GET", f"{PREFIX}/dids/{did}").status == 200
        finally:
            turn(url, read_only=False)
        eventually(lambda: running.wire.call("GET", "/ready").status == 200, "the service is ready again")
        assert [create(running, f"k{number}").status for number in range(3)] == [201] * 3
        listed = running.wire.call("GET", f"{PREFIX}/dids?limit=200", None, {"X-API-Key": running.stranger.api_key})
        assert len(listed.json["items"]) == 5
