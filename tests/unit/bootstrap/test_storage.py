"""A start over databases that cannot be used says what, where and what to do, and makes nothing first."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from identity_transparency.opening import checkpoint_file_of

from identity_core.bootstrap import open_installation
from identity_core.files import install_command
from identity_core.settings import Settings, StartError, load
from tests.unit.cli.conftest import Commands


def settings_of(folder: Path, **more: object) -> Settings:
    return load(environment={}, overrides={"data_dir": folder, **more})


async def start(settings: Settings) -> None:
    async with open_installation(settings):
        pass


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("ledger.sqlite", "INSERT INTO ledger_migrations VALUES (99, '0099_x.sql', 'x')"),
        ("custodian.sqlite", "INSERT INTO custodian_migrations VALUES (99, '0099_x.sql', 'x')"),
        ("identity.sqlite", "INSERT INTO store_migrations VALUES (99, '0099_x.sql', 'x')"),
    ],
)
def test_a_newer_database_is_told_with_a_remedy(tmp_path: Path, file: str, statement: str) -> None:
    settings = settings_of(tmp_path / "data")
    asyncio.run(start(settings))
    with closing(sqlite3.connect(tmp_path / "data" / file)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(StartError) as refused:
        asyncio.run(start(settings))
    assert "newer version" in refused.value.what
    assert refused.value.where == str(tmp_path / "data")
    assert refused.value.fix.startswith("install the version of identity-service that made it")


def test_the_note_is_made_apart_from_the_data(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "data")
    asyncio.run(start(settings))
    assert checkpoint_file_of(settings) == tmp_path / "data.checkpoint"
    assert (tmp_path / "data.checkpoint").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "data.checkpoint"]


def test_the_note_lies_beside_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "identity.toml").write_text("")
    notes = {
        checkpoint_file_of(load(file=tmp_path / "etc" / "identity.toml", environment={}, overrides={"data_dir": data}))
        for data in (tmp_path / "a" / "data", tmp_path / "b" / "data")
    }
    assert {note.parent for note in notes} == {tmp_path / "etc"}
    assert len(notes) == 2, "two installations may share their settings"


def test_a_note_that_cannot_be_written_stops_no_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "absent" / "note"
    asyncio.run(start(settings_of(tmp_path / "data", **{"ledger.checkpoint_path": path})))
    assert "a rollback would go unseen" in caplog.text


REDIS = "identity_redis.buckets"


@pytest.mark.parametrize(
    ("driver", "environment", "extra"),
    [
        (REDIS, {"IDENTITY_THROTTLE_STORE": "redis", "IDENTITY_THROTTLE_REDIS_URL": "redis://127.0.0.1:1"}, "redis"),
        (REDIS, {"IDENTITY_THROTTLE_REDIS_URL": "redis://127.0.0.1:1"}, "redis"),
        ("identity_postgresql.database", {"IDENTITY_DATABASE_URL": "postgresql://u@127.0.0.1:1/x"}, "postgresql"),
    ],
)
def test_missing_driver_stops_the_start_before_it_makes_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str, environment: dict[str, str], extra: str
) -> None:
    monkeypatch.setitem(sys.modules, driver, None)
    monkeypatch.chdir(tmp_path)
    given = Commands(environment | {"IDENTITY_DATA_DIR": str(tmp_path / "data")})
    what, where, remedy = given.refused("serve", "--port", "0", status=2)
    assert f"the driver for {extra}://, which is not installed" in what
    assert "IDENTITY_" in where
    assert remedy.endswith(install_command(f"identity-service[{extra}]"))
    assert list(tmp_path.iterdir()) == []
