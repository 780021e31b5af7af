"""A password of PostgreSQL that changes while a database is open."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from pathlib import Path

import psycopg
from identity_postgresql.database import PostgresqlDatabase

from tests.postgres_server import PostgresServer, cut_connections


def test_new_password_is_read_from_its_file(tmp_path: Path) -> None:
    """libpq reads ``passfile`` at each connection (PostgreSQL 15, 34.16)."""
    server = PostgresServer.create(Path(tempfile.mkdtemp(prefix="pg")))
    passwords = tmp_path / "passfile"

    def change(password: str) -> None:
        with psycopg.connect(server.url(), autocommit=True) as session:
            session.execute(f"ALTER ROLE service PASSWORD '{password}'")
        passwords.write_text(f"*:*:*:service:{password}\n")
        passwords.chmod(0o600)

    async def scenario() -> None:
        database = PostgresqlDatabase(f"{server.url().replace('identity@', 'service@')}?passfile={passwords}")
        await database.write(lambda writing: writing.execute("CREATE TABLE t (id integer)").rowcount)
        change("second")
        # The service's connections end, as in a failover or a restart of the server.
        cut_connections(server.url())
        assert await database.write(lambda writing: writing.execute("INSERT INTO t VALUES (1)").rowcount) == 1
        assert await database.read(lambda reading: reading.execute("SELECT id FROM t").fetchall()) == [(1,)]
        await database.close()

    try:
        with psycopg.connect(server.url(), autocommit=True) as session:
            session.execute("CREATE ROLE service LOGIN SUPERUSER")
        hba = server.folder / "data" / "pg_hba.conf"
        hba.write_text("host all service 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
        with psycopg.connect(server.url(), autocommit=True) as session:
            session.execute("SELECT pg_reload_conf()")
        change("first")
        asyncio.run(scenario())
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(server.folder)
