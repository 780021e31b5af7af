"""Runs migrations on the connection that ``store.schema`` (or a test) hands over."""

from alembic import context
from sqlalchemy import Connection, text

from identity_core.store.tables import metadata_of_store


def run(connection: Connection) -> None:
    """Everything in one transaction, the second of two starting processes waiting for the first."""
    context.configure(
        connection=connection,
        target_metadata=metadata_of_store,
        version_table="store_migrations",
        render_as_batch=True,
        transactional_ddl=True,
        include_object=_is_ours,
    )
    with context.begin_transaction():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('identity store migrations'))"))
        context.run_migrations()


def _is_ours(_item: object, name: str | None, kind: str, reflected: bool, _compare_to: object) -> bool:
    """Ledger, key store and others keep their own tables in the same server database."""
    return not (kind == "table" and reflected and name not in metadata_of_store.tables)


run(context.config.attributes["connection"])
