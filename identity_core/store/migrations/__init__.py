"""Migration of the store's tables to the state that this release needs, at every startup: by the numbered SQL files of this folder.

Alembic migrated older databases; its thirteen revisions are the first thirteen steps. Such a database is adopted up to its revision.
"""

from __future__ import annotations

from typing import Final

from identity_core.database import Database, Dialect, MigrationFailed, MigrationPending, Transaction, migrate

ADOPTED: Final = 13
"""The newest revision of Alembic."""

_ALEMBIC: Final = {
    "sqlite": "SELECT 1 FROM pragma_table_info('store_migrations') WHERE name = 'version_num'",
    "postgresql": """
SELECT 1 FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = 'store_migrations' AND column_name = 'version_num'
""",
}


def bring_up(database: Database) -> None:
    """Run the missing migrations. Raises ``MigrationFailed``, ``DatabaseUnavailable``; for a database that is opened read-only also
    ``DatabaseAbsent`` and ``MigrationPending``."""
    if database.read_only and (revision := database.read_now(lambda reading: _revision(reading, database.dialect))):
        raise MigrationPending(f"store: the tables are those of revision {revision:04}")
    migrate(
        database,
        "identity_core.store.migrations",
        "store_",
        adopt=lambda transaction: _adopt(transaction, database.dialect),
    )


def _revision(transaction: Transaction, dialect: Dialect) -> int:
    """Return the revision that Alembic has recorded, or 0."""
    if transaction.execute(_ALEMBIC[dialect]).fetchone() is None:
        return 0
    (revision,) = transaction.execute("SELECT version_num FROM store_migrations").fetchone() or ("0000",)
    if not revision.isdecimal() or int(revision) > ADOPTED:
        raise MigrationFailed(f"store: the database was made by a newer version (revision {revision})")
    return int(revision)


def _adopt(transaction: Transaction, dialect: Dialect) -> int:
    revision = _revision(transaction, dialect)
    if transaction.execute(_ALEMBIC[dialect]).fetchone() is not None:
        transaction.execute("DROP TABLE store_migrations")
    return revision
