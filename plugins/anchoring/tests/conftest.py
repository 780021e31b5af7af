"""Anchoring on a store of either kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.anchoring import Anchorage
from tests.stored import new_stored_database, postgres_server, stored_file
from tests.unit.cli.conftest import here, identity

__all__ = ["here", "identity", "new_stored_database", "postgres_server", "stored_file"]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def anchorage(request: pytest.FixtureRequest, tmp_path: Path) -> Anchorage:
    """A store with a worker over a chain that does what the test says."""
    if request.param == "postgresql":
        return Anchorage(tmp_path, request.getfixturevalue("new_stored_database")())
    shutil.copytree(request.getfixturevalue("stored_file"), tmp_path, dirs_exist_ok=True)
    return Anchorage(tmp_path)
