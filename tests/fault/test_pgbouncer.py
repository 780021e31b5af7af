"""PgBouncer before PostgreSQL: the service works through it where a client keeps its server connection, and refuses to start elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from identity_postgresql.database import PostgresqlDatabase

from identity_core.database import DatabaseUnavailable, look_at
from tests.attack.stranger import service
from tests.fault import service_process
from tests.ports import free_port
from tests.postgres_server import PostgresServer, postgres_server, unprivileged

__all__ = ["postgres_server"]

Pooled = Callable[[str], str]


@pytest.fixture
def pooled(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Pooled]:
    """Starts a PgBouncer with its defaults and this ``pool_mode``, and returns the URL of a new database behind it."""
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    started: list[subprocess.Popen[bytes]] = []

    def start(mode: str) -> str:
        url, port = postgres_server.new_database(), free_port()
        name = url.rpartition("/")[2]
        users = tmp_path / "users.txt"
        users.write_text('"identity" ""\n')
        settings = tmp_path / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n{name} = host=127.0.0.1 port={postgres_server.port} dbname={name}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
            f"auth_file = {users}\npool_mode = {mode}\n"
        )
        for path in (tmp_path, settings, users):
            path.chmod(0o755)
        for parent in tmp_path.parents[:2]:
            parent.chmod(0o755)
        # It refuses to run as root.
        command = (
            [program, str(settings)] if postgres_server.user is None else [program, "-u", unprivileged(), str(settings)]
        )
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        through = f"postgresql://identity@127.0.0.1:{port}/{name}"
        end = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(through).close()
                return through
            except psycopg.OperationalError:
                assert time.monotonic() < end
                time.sleep(0.05)

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def test_service_works_behind_session_pooling(pooled: Pooled, tmp_path: Path) -> None:
    with service_process.service(
        tmp_path / "data", environment={"IDENTITY_DATABASE_URL": pooled("session")}
    ) as running:
        holder = running.stranger.holder()
        assert holder.act("update", service("pooled")).status == 200
        assert running.wire.call("GET", holder.path()).status == 200


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_other_pooling_is_refused_at_start(pooled: Pooled, mode: str) -> None:
    url = pooled(mode)
    with pytest.raises(DatabaseUnavailable) as refused:
        PostgresqlDatabase(url)
    assert "pool_mode = session" in refused.value.reason


def test_look_leaves_no_state_in_pooled_session(pooled: Pooled, tmp_path: Path) -> None:
    """Another client that gets the same connection of the server can write, while the look is still open."""
    url = pooled("transaction")
    look = look_at(url, tmp_path)
    served = look.read_now(lambda reading: reading.execute("SELECT pg_backend_pid()").fetchone())
    with pytest.raises(DatabaseUnavailable) as refused:
        look.read_now(lambda reading: reading.execute("CREATE TABLE looked (id integer)"))
    assert "read-only" in refused.value.reason
    with psycopg.connect(url, autocommit=True) as other:
        assert other.execute("SELECT pg_backend_pid()").fetchone() == served
        other.execute("CREATE TABLE others (id integer)")
    look.end()
