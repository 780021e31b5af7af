"""A store on each of its databases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from identity_core.store import Store
from tests.events import open_store
from tests.stored import new_stored_database, postgres_server

__all__ = ["new_stored_database", "postgres_server"]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def url(request: pytest.FixtureRequest) -> str | None:
    """None for the embedded database, else that of a new one on a server, which has the tables."""
    if request.param == "sqlite":
        return None
    return request.getfixturevalue("new_stored_database")()


@pytest.fixture
def store(tmp_path: Path, url: str | None) -> Iterator[Store]:
    opened = open_store(tmp_path, url)
    yield opened
    asyncio.run(opened.close())
