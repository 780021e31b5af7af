"""Anchoring on a store of either kind. Its tables are made once a session and copied: to make them takes longer than most stories."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from identity_core.store import Store
from tests.anchoring import Anchorage
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]


@pytest.fixture(scope="session")
def stored_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an empty store."""
    folder = tmp_path_factory.mktemp("store")
    asyncio.run(Store.open(folder, None).close())
    return folder


@pytest.fixture(scope="session")
def new_stored_database(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Makes databases with an empty store in them, and gives their URLs."""
    template = postgres_server.new_database()
    asyncio.run(Store.open(tmp_path_factory.mktemp("no-file"), template).close())

    def new() -> str:
        name = f"stored_{next(postgres_server.numbers)}"
        with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template.rpartition('/')[2]}")  # type: ignore[call-overload]
        return postgres_server.url(name)

    return new


@pytest.fixture(params=["sqlite", "postgresql"])
def anchorage(request: pytest.FixtureRequest, tmp_path: Path) -> Anchorage:
    """A store with a worker over a chain that does what the test says."""
    if request.param == "postgresql":
        return Anchorage(tmp_path, request.getfixturevalue("new_stored_database")())
    shutil.copytree(request.getfixturevalue("stored_file"), tmp_path, dirs_exist_ok=True)
    return Anchorage(tmp_path)
