"""Brings the store's tables to the state that this version needs, at every start.

The usual start finds the newest revision recorded, and the first one on a new file makes all tables in one go; neither imports
Alembic or SQLAlchemy: they cost half a second.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from identity_core.database import (
    Database,
    DatabaseAbsent,
    DatabaseError,
    DatabaseMismatch,
    DatabaseUnavailable,
    MigrationFailed,
    MigrationPending,
)
from identity_core.store.migrations import HEAD
from identity_core.store.whole import make_whole

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection, Engine

_REVISION = "SELECT version_num FROM store_migrations"


def bring_up(database: Database, url: str | None, path: Path) -> None:
    """Runs the migrations that are missing. Raises ``MigrationFailed``, ``DatabaseUnavailable``; of a database that is only looked at
    ``DatabaseAbsent`` and ``MigrationPending``."""
    revision = _revision(database)
    if revision not in (None, HEAD) and revision not in _known():
        raise MigrationFailed(f"store: the database was made by a newer version (revision {revision})")
    if database.read_only:
        _require_head(revision)
        return
    if revision is None and database.dialect == "sqlite":
        database.write_now(make_whole)
        revision = _revision(database)
    if revision != HEAD:
        engine = engine_for(url, path)
        try:
            upgrade(engine)
        finally:
            engine.dispose()


def _require_head(revision: str | None) -> None:
    if revision is None:
        raise DatabaseAbsent("there are no tables of the store")
    if revision != HEAD:
        raise MigrationPending(f"store: the tables are those of revision {revision}, not {HEAD}")


def _known() -> frozenset[str]:
    """Every revision that there is a file for."""
    files = resources.files("identity_core.store.migrations.versions").iterdir()
    return frozenset(file.name[:4] for file in files if file.name[:4].isdigit())


def engine_for(url: str | None, path: Path) -> Engine:
    """An SQLAlchemy engine on the server or the file, whose transactions cover DDL."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    if url is not None:
        import psycopg

        # By libpq and not by SQLAlchemy, whose URLs have one host.
        return create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url), poolclass=NullPool)
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": 30})

    # The driver would commit before every CREATE TABLE; a migration that breaks must leave nothing behind.
    @event.listens_for(engine, "connect")
    def _(connection: object, _record: object) -> None:
        connection.isolation_level = None  # type: ignore[attr-defined]

    @event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def alembic_config(connection: Connection) -> Config:
    """The configuration that Alembic's commands want, without a file."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "identity_core.store:migrations")
    config.attributes["connection"] = connection
    return config


def _revision(database: Database) -> str | None:
    try:
        row = database.read_now(lambda transaction: transaction.execute(_REVISION).fetchone())
    except (DatabaseUnavailable, DatabaseMismatch):
        raise
    except DatabaseError:
        return None
    return None if row is None else str(row[0])


def upgrade(engine: Engine) -> None:
    """Runs every missing migration. Raises ``MigrationFailed``."""
    from alembic import command
    from alembic.util import CommandError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with engine.connect() as connection:
            command.upgrade(alembic_config(connection), "head")
            connection.commit()
    except CommandError as error:
        raise MigrationFailed(f"store: {error}; was the database made by a newer version?") from error
    except SQLAlchemyError as error:
        raise MigrationFailed(f"store: {error}") from error
