"""Empty stores, whose tables are made once a session and copied: to make them takes longer than most stories. Import the fixtures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from identity_core.store import Store
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["new_stored_database", "postgres_server", "stored_file"]


@pytest.fixture(scope="session")
def stored_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an empty store."""
    folder = tmp_path_factory.mktemp("store")
    asyncio.run(Store.open(folder, None).close())
    return folder


@pytest.fixture(scope="session")
def new_stored_database(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Makes databases with an empty store in them, and gives their URLs."""
    if postgres_server.stored is None:
        postgres_server.stored = postgres_server.new_database()
        asyncio.run(Store.open(tmp_path_factory.mktemp("no-file"), postgres_server.stored).close())
    return partial(postgres_server.new_database, postgres_server.stored.rpartition("/")[2])
