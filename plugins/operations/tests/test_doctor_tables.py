"""The doctor holds the tables of the store against those that are declared, and names what differs. It only reads."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from identity_operations.checks import database as doctor_database

from identity_core.extension.declaration import SHOWN, Diagnosis
from identity_core.settings import Settings, load
from identity_core.store import Store
from plugins.operations.tests.test_doctor_storage import sums
from tests.stored import new_stored_database, postgres_server
from tests.unit.cli.conftest import Commands

__all__ = ["new_stored_database", "postgres_server"]

Change = Callable[[str], None]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Settings, Change]:
    """A store, and what runs a statement in its database past the service."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    if request.param == "sqlite":
        asyncio.run(Store.open(folder).close())
        return load(environment={}, overrides={"data_dir": folder}), lambda sql: in_file(folder, sql)
    url = request.getfixturevalue("new_stored_database")()
    settings = load(environment={}, overrides={"data_dir": folder, "database_url": url})
    return settings, lambda sql: on_server(url, sql)


def in_file(folder: Path, sql: str) -> None:
    with closing(sqlite3.connect(folder / "identity.sqlite")) as connection, connection:
        connection.executescript(sql)


def on_server(url: str, sql: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(sql)  # type: ignore[call-overload]


def check_tables(settings: Settings) -> list[Diagnosis]:
    """Return the findings about the tables, the same each time; no file changes."""
    before = sums(settings.data_dir)
    says = list(doctor_database.tables(settings))
    assert list(doctor_database.tables(settings)) == says
    assert sums(settings.data_dir) == before
    assert all(one.remedy for one in says if one.state in ("warn", "fail"))
    return says


def test_tables_as_they_were_made_are_well(installation: tuple[Settings, Change]) -> None:
    assert [one.state for one in check_tables(installation[0])] == ["ok"]


def test_a_table_of_somebody_else_is_fine(installation: tuple[Settings, Change]) -> None:
    settings, change = installation
    change(
        "CREATE TABLE notes (number BIGINT PRIMARY KEY, content TEXT NOT NULL); CREATE INDEX by_text ON notes (content)"
    )
    assert [one.state for one in check_tables(settings)] == ["ok"]


BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}
OTHER_TYPE = {
    "sqlite": """
DROP TABLE quarantined_dids;
CREATE TABLE quarantined_dids (did TEXT NOT NULL, reason BLOB NOT NULL, since BIGINT NOT NULL, PRIMARY KEY (did))
""",
    "postgresql": "ALTER TABLE quarantined_dids ALTER COLUMN reason TYPE bytea USING convert_to(reason, 'UTF8')",
}
NULLABLE = {
    "sqlite": """
DROP TABLE quarantined_dids;
CREATE TABLE quarantined_dids (did TEXT NOT NULL, reason TEXT NOT NULL, since BIGINT, PRIMARY KEY (did))
""",
    "postgresql": "ALTER TABLE quarantined_dids ALTER COLUMN since DROP NOT NULL",
}
NO_PRIMARY_KEY = {
    "sqlite": "DROP TABLE projections; CREATE TABLE projections (name TEXT NOT NULL, sequence BIGINT NOT NULL, mac BLOB)",
    "postgresql": "ALTER TABLE projections DROP CONSTRAINT pk_projections",
}
NO_CONSTRAINT = {
    "sqlite": """
DROP TABLE status_lists;
CREATE TABLE status_lists (id TEXT NOT NULL PRIMARY KEY, issuer TEXT NOT NULL, number BIGINT NOT NULL, issued BIGINT NOT NULL,
version BIGINT NOT NULL, changed_at BIGINT NOT NULL)
""",
    "postgresql": "ALTER TABLE status_lists DROP CONSTRAINT uq_status_lists_issuer_number",
}


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        ("ALTER TABLE delegations DROP COLUMN max_refusals", "delegations.max_refusals is missing"),
        (OTHER_TYPE, "quarantined_dids.reason is {bytes} NOT NULL, not TEXT NOT NULL"),
        (NULLABLE, "quarantined_dids.since is BIGINT, not BIGINT NOT NULL"),
        ("DROP INDEX ix_timeline_agent_id", "the index ix_timeline_agent_id of timeline is missing"),
        (
            "DROP INDEX ix_did_versions_did_version_id; "
            "CREATE INDEX ix_did_versions_did_version_id ON did_versions (did, version_id)",
            "the index ix_did_versions_did_version_id of did_versions is over (did, version_id), not unique over (did, version_id)",
        ),
        (NO_CONSTRAINT, "the index uq_status_lists_issuer_number of status_lists is missing"),
        (NO_PRIMARY_KEY, "projections has another primary key than (name)"),
        ("DROP TABLE api_key_tags", "api_key_tags is missing"),
    ],
    ids=["column", "type", "null", "index", "unique_index", "unique", "primary_key", "table"],
)
def test_difference_is_named(installation: tuple[Settings, Change], harm: str | dict[str, str], says: str) -> None:
    settings, change = installation
    dialect = "sqlite" if settings.database_url is None else "postgresql"
    change(harm if isinstance(harm, str) else harm[dialect])
    (one,) = check_tables(settings)
    assert one.state == "fail"
    assert one.says == f"the tables are not those of this version: {says.format(bytes=BYTES[dialect])}"


def test_an_order_that_is_not_by_octets_is_named(installation: tuple[Settings, Change]) -> None:
    settings, change = installation
    if settings.database_url is None:
        pytest.skip("SQLite compares bytes")
    change('ALTER TABLE usage ALTER COLUMN owner TYPE text COLLATE "und-x-icu"')
    (one,) = check_tables(settings)
    assert 'usage.owner is TEXT COLLATE "und-x-icu" NOT NULL, not TEXT COLLATE "C" NOT NULL' in one.says


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        ("ALTER TABLE usage ADD COLUMN files BIGINT", "usage.files is additional"),
        ("CREATE INDEX by_octets ON usage (octets)", "the index by_octets of usage is additional"),
    ],
    ids=["column", "index"],
)
def test_added_table_is_a_warning(installation: tuple[Settings, Change], harm: str, says: str) -> None:
    settings, change = installation
    change(harm)
    (one,) = check_tables(settings)
    assert (one.state, one.says) == ("warn", f"the tables have additions: {says}")


def test_several_differences_are_one_finding(installation: tuple[Settings, Change]) -> None:
    settings, change = installation
    indexes = ("holder_created_at_id", "agent_created_at_id", "created_at_id")
    change("; ".join(f"DROP INDEX ix_delegations_{one}" for one in indexes))
    change("DROP TABLE usage; DROP TABLE timeline; DROP TABLE api_key_tags")
    (one,) = check_tables(settings)
    assert one.says.count("missing") == SHOWN
    assert one.says.endswith("; and 1 more")


def test_older_database_is_not_compared_with_new_tables(
    installation: tuple[Settings, Change],
) -> None:
    settings, change = installation
    change("DELETE FROM store_migrations WHERE number = 14; ALTER TABLE transparency_head DROP COLUMN service_did")
    assert check_tables(settings) == []


def test_missing_database_is_not_reported(tmp_path: Path) -> None:
    assert check_tables(load(environment={}, overrides={"data_dir": tmp_path})) == []


def test_the_command_says_it_and_its_exit_code_too(identity: Commands, here: Path) -> None:
    (here / "data").mkdir(mode=0o700)
    identity.ok("keys", "create", "--name", "ops", "--admin", "--data-dir", "data")
    whole = json.loads(identity.ok("doctor", "--json", "--data-dir", "data"))
    assert {"ok"} == {one["state"] for one in whole["findings"] if one["check"] == "tables"}
    in_file(here / "data", "DROP INDEX ix_usage_day")
    result = identity("doctor", "--data-dir", "data")
    assert result.exit_code == 1
    assert "the index ix_usage_day of usage is missing" in result.output
