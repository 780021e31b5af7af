"""Tables: made at the first start, left alone at the next, and the same in the declaration and in the numbered steps."""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import BigInteger, Column, Engine, LargeBinary, MetaData, Table, create_engine
from sqlalchemy.pool import NullPool

from identity_core.database import (
    Database,
    MigrationFailed,
    MigrationPending,
    look_at,
    migrate,
    migrations,
    open_database,
)
from identity_core.store import Store
from identity_core.store import migrations as steps_of_store
from identity_core.store.tables import declared_tables, metadata_of_store
from tools.write_migration import differences, written

STEPS = "identity_core.store.migrations"


def engine_for(url: str | None, path: Path) -> Engine:
    if url is None:
        return create_engine(f"sqlite:///{path}", poolclass=NullPool)
    return create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Of a database without a table."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres_server").new_database()


def test_the_steps_make_the_declared_tables(store: Store, tmp_path: Path, url: str | None) -> None:
    with engine_for(url, tmp_path / "identity.sqlite").connect() as connection:
        assert differences(connection) == []
    compare = importlib.import_module("identity_operations.checks.tables").compare
    look = look_at(url, tmp_path / "identity.sqlite")
    assert compare(look) == []
    asyncio.run(look.close())


def test_the_next_step_is_what_is_missing(store: Store, tmp_path: Path, url: str | None) -> None:
    importlib.import_module("identity_operations.kernel_tables")
    wanted = MetaData(naming_convention=metadata_of_store.naming_convention)
    for table in declared_tables().tables.values():
        table.to_metadata(wanted)
    wanted.tables["usage"].append_column(Column("files", BigInteger))
    Table("more", wanted, Column("number", BigInteger, primary_key=True), Column("content", LargeBinary))
    with engine_for(url, tmp_path / "identity.sqlite").connect() as connection:
        missing = differences(connection, wanted)
        text = written(missing, store.database.dialect)
    for statement in filter(None, map(str.strip, text.split(";\n"))):
        store.database.write_now(lambda transaction, sql=statement: transaction.execute(sql))
    with engine_for(url, tmp_path / "identity.sqlite").connect() as connection:
        assert differences(connection, wanted) == []


def test_a_database_of_a_newer_version_is_refused(store: Store, tmp_path: Path, url: str | None) -> None:
    store.database.write_now(lambda tx: tx.execute("INSERT INTO store_migrations VALUES (99, '0099_x.sql', 'x')"))
    asyncio.run(store.close())
    with pytest.raises(MigrationFailed, match="newer version"):
        Store.open(tmp_path, url)


def test_processes_that_start_at_once_all_start(tmp_path: Path, url: str | None) -> None:
    start_three(tmp_path, url)


THREE = """
import os, pathlib, sys, traceback
from identity_core.store import Store

def opened():
    child = os.fork()
    if child == 0:
        try:
            Store.open(pathlib.Path(sys.argv[1]), *sys.argv[2:])
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child

children = [opened() for _ in range(3)]
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


def start_three(folder: Path, url: str | None) -> None:
    """Three processes that open the store in one moment: each is forked before there is anything to share."""
    command_line = [sys.executable, "-c", THREE, str(folder), *([] if url is None else [url])]
    done = subprocess.run(command_line, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_start_needs_no_orm(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from identity_core.store import Store; Store.open(pathlib.Path(sys.argv[1]));"
        "sys.exit(bool({'sqlalchemy', 'alembic', 'sqlmodel'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=60).returncode == 0


# Databases of before the numbered steps, which Alembic migrated


SINCE = (
    *(
        f"DROP TABLE {name}"
        for name in (
            "gap_lists",
            "gap_handles",
            "gap_editions",
            "gap_shards",
            "gap_records",
            "cosigned_checkpoints",
            "witness_files",
            "holder_secrets",
            "holder_tags",
            "consent_replies",
            "presentation_requests",
            "offered_challenges",
            "store_lock",
            "kept_extensions",
        )
    ),
    "ALTER TABLE transparency_head DROP COLUMN service_did",
    "DROP INDEX ix_credentials_that_expire",
    "DROP INDEX ix_proofs_expires_at",
    "ALTER TABLE proofs DROP COLUMN question",
    *(
        f"ALTER TABLE credentials DROP COLUMN {name}"
        for name in (
            "bound_header",
            "commitment",
            "handle",
            "holder_secret",
            "disclosures_reset_at",
            "forgotten_at",
            "secret_replaced",
        )
    ),
    *(f"ALTER TABLE audit_head DROP COLUMN {name}" for name in ("cut_sequence", "cut_link", "cut_mac")),
    *(f"DROP INDEX ix_timeline_{name}_id" for name in ("kind", "holder_kind", "agent_kind", "issuer_kind")),
    "CREATE INDEX ix_timeline_issuer_id ON timeline (issuer, id)",
    "ALTER TABLE credential_schemas DROP COLUMN titles",
    "DROP TABLE did_versions",
)
"""Takes back what the numbered steps made that Alembic never did."""
BEFORE_SEQUENCE = 28
"""The last step that does not key the versions of DIDs by their sequence."""


def made_by_alembic(database: Database, revision: str) -> None:
    """The tables as that revision left them, and how it was remembered."""
    steps_of_store.bring_up(database)
    remembered = (
        "DROP TABLE store_migrations",
        "CREATE TABLE store_migrations (version_num VARCHAR(32) NOT NULL PRIMARY KEY)",
        f"INSERT INTO store_migrations VALUES ('{revision}')",
    )
    undone = {"0012": ("DROP TABLE api_key_tags",), "0013": (), "9999": ()}[revision]
    versions = (
        statement
        for step in migrations._steps(STEPS, database.dialect)[:BEFORE_SEQUENCE]
        for statement in step.statements()
        if "did_versions" in statement
    )
    for statement in (*SINCE, *versions, *undone, *remembered):
        database.write_now(lambda transaction, sql=statement: transaction.execute(sql))


@pytest.fixture(params=["0012", "0013"])
def earlier(request: pytest.FixtureRequest, tmp_path: Path, url: str | None) -> Path:
    database = open_database(url, tmp_path / "identity.sqlite")
    made_by_alembic(database, request.param)
    asyncio.run(database.close())
    return tmp_path


def test_a_database_of_alembic_is_adopted_where_it_stands(earlier: Path, url: str | None) -> None:
    with pytest.raises(MigrationPending, match="tables are those of revision 001"):
        Store.open(earlier, url, read_only=True)
    start_three(earlier, url)
    with engine_for(url, earlier / "identity.sqlite").connect() as connection:
        assert differences(connection) == []
    asyncio.run(Store.open(earlier, url, read_only=True).close())


def test_an_adopted_file_is_a_new_one(earlier: Path, url: str | None, tmp_path: Path) -> None:
    if url is not None:
        pytest.skip("dumps of files are compared")
    asyncio.run(Store.open(earlier).close())
    (tmp_path / "new").mkdir()
    asyncio.run(Store.open(tmp_path / "new").close())
    assert contents(earlier / "identity.sqlite") == contents(tmp_path / "new" / "identity.sqlite")


def contents(path: Path) -> list[str]:
    """Tables, indexes and rows."""
    with closing(sqlite3.connect(path)) as database:
        return sorted(database.iterdump())


COLUMNS = (
    "did, version_id, printed_second, sequence, block_number, recorded_at, transaction_hash, state, document, changes, "
    "key_id, owner, mac"
)


def test_versions_that_come_to_be_keyed_by_sequence_are_the_same(
    tmp_path: Path, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(url, tmp_path / "identity.sqlite")
    whole = migrations._steps(STEPS, database.dialect)
    monkeypatch.setattr(migrations, "_steps", lambda *_: whole[:BEFORE_SEQUENCE])
    migrate(database, STEPS, "store_")
    monkeypatch.undo()
    kept = [
        (f"did:ids:{number % 7}", 1 + number // 7, number, 90 - number, 1, 2, b"h", b"s", b"d", b"c", None, owner, mac)
        for number, (owner, mac) in enumerate(zip([*["key:one"] * 7, *[None] * 13], [None, *[b"m"] * 19], strict=True))
    ]
    # SQLite keeps whatever it is given; a server refuses what is not a number.
    lost = [("did:ids:evil", 1, 0, "nowhere", 1, 2, b"h", b"s", b"d", b"c", None, None, b"m")] if url is None else []
    names = COLUMNS.split(", ")
    for row in kept + lost:
        database.write_now(
            lambda transaction, row=row: (
                transaction.execute(
                    f"INSERT INTO did_versions ({COLUMNS}) VALUES (:{', :'.join(names)})",
                    dict(zip(names, row, strict=True)),
                ).rowcount
            )
        )
    asyncio.run(database.close())
    opened = Store.open(tmp_path, url)
    found = opened.database.read_now(
        lambda transaction: transaction.execute(f"SELECT {COLUMNS} FROM did_versions ORDER BY sequence").fetchall()
    )
    assert [tuple(row) for row in found] == kept[::-1]
    if url is None:
        keys = opened.database.read_now(
            lambda transaction: transaction.execute("SELECT rowid, sequence FROM did_versions").fetchall()
        )
        assert all(rowid == sequence for rowid, sequence in keys)
    asyncio.run(opened.close())
    with engine_for(url, tmp_path / "identity.sqlite").connect() as connection:
        assert differences(connection) == []
    compare = importlib.import_module("identity_operations.checks.tables").compare
    look = look_at(url, tmp_path / "identity.sqlite")
    assert compare(look) == []
    asyncio.run(look.close())


def test_a_revision_that_nobody_knows_is_refused(tmp_path: Path, url: str | None) -> None:
    database = open_database(url, tmp_path / "identity.sqlite")
    made_by_alembic(database, "9999")
    asyncio.run(database.close())
    for read_only in (False, True):
        with pytest.raises(MigrationFailed, match="newer version"):
            Store.open(tmp_path, url, read_only=read_only)


def test_a_migration_that_breaks_leaves_nothing_behind(
    tmp_path: Path, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(url, tmp_path / "identity.sqlite")
    whole = migrations._steps(STEPS, database.dialect)
    broken = [*whole, migrations.Step(len(whole) + 1, "0099_x.sql", "INSERT INTO nowhere VALUES (1);\n")]
    monkeypatch.setattr(migrations, "_steps", lambda *_: broken)
    with pytest.raises(Exception, match="nowhere"):
        migrate(database, STEPS, "store_")
    monkeypatch.undo()
    catalogue = "sqlite_master" if url is None else "pg_tables WHERE schemaname = 'public'"
    assert database.read_now(lambda tx: tx.execute(f"SELECT count(*) FROM {catalogue}").fetchone()) == (0,)
    asyncio.run(database.close())
    asyncio.run(Store.open(tmp_path, url).close())
