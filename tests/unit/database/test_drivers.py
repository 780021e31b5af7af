"""A database server without its driver, and a driver whose library is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from identity_core.database import DatabaseUnavailable, interface, look_at, open_database


@pytest.fixture(autouse=True)
def _unloaded() -> None:
    interface.load_driver.cache_clear()


def test_url_without_a_driver_is_unavailable(tmp_path: Path) -> None:
    for opened in (lambda url: open_database(url, tmp_path), lambda url: look_at(url, tmp_path)):
        with pytest.raises(DatabaseUnavailable) as refused:
            opened("mysql://db.example/x")
        assert refused.value.reason == "no driver for mysql:// is installed"


def test_driver_without_its_library_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "identity_postgresql.database", None)
    with pytest.raises(DatabaseUnavailable) as refused:
        open_database("postgresql://127.0.0.1:1/x", tmp_path)
    assert refused.value.reason.startswith("the driver for postgresql:// cannot be loaded")


def test_file_needs_no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("identity_postgresql.database", "identity_redis.buckets"):
        monkeypatch.setitem(sys.modules, module, None)
    database = open_database(None, tmp_path / "x.sqlite")
    assert database.read_now(lambda transaction: transaction.execute("SELECT 1").fetchone()) == (1,)
