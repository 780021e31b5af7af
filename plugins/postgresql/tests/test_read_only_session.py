"""A session that PostgreSQL has turned read-only."""

from __future__ import annotations

import asyncio

import pytest
from identity_postgresql.database import PostgresqlDatabase

from identity_core.database import DatabaseUnavailable
from tests.postgres_server import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


def test_read_only_session_is_replaced(postgres_url: str) -> None:
    """SQLSTATE 25006 (PostgreSQL, Appendix A): one write fails, and the next has another session."""

    async def scenario() -> None:
        database = PostgresqlDatabase(postgres_url)
        await database.write(lambda writing: writing.execute("CREATE TABLE t (id integer)").rowcount)
        await database.write(
            lambda writing: writing.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY").rowcount
        )
        with pytest.raises(DatabaseUnavailable):
            await database.write(lambda writing: writing.execute("INSERT INTO t VALUES (1)").rowcount)
        assert database.load().failed == 1
        assert await database.write(lambda writing: writing.execute("INSERT INTO t VALUES (2)").rowcount) == 1
        assert database.load().failed == 1
        await database.close()

    asyncio.run(scenario())
