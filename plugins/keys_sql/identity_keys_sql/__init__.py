"""API keys in SQLite or PostgreSQL: the ``WritableKeyStore`` behind the admin operations (openapi/DECISIONS.md §3.3)."""

from __future__ import annotations

from identity_core.database import migrate, open_database
from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl
from identity_core.ports.key_store import KeyStore
from identity_keys_sql.store import SqlKeys

__all__ = ["SqlKeys", "identity_provide_key_store"]


def build(settings: NoSettings, context: BuildContext) -> SqlKeys:
    """Open the database and bring its tables up to date. Raises ``DatabaseUnavailable`` or ``MigrationFailed``."""
    database = open_database(context.database_url, context.data_dir / "keys.sqlite", **context.opening)
    migrate(database, "identity_keys_sql.migrations", "keys_")
    return SqlKeys(database)


@hookimpl
def identity_provide_key_store() -> Provider[KeyStore]:
    """Return the store ``sql``."""
    summary = "keys.sqlite, or tables keys_* on PostgreSQL; the admin operations write it"
    return Provider("sql", build, summary=summary, looks=True)
