"""The ledger ``sql``: SQLite in the data directory, or PostgreSQL where the operator names a server."""

from __future__ import annotations

from identity_core.plugin import BuildContext, NoSettings, Provider, hookimpl
from identity_core.ports.ledger import LedgerBackend
from identity_ledger_sql.ledger import SqlLedger

__all__ = ["SqlLedger", "identity_provide_ledger_backend"]


def build(settings: NoSettings, context: BuildContext) -> SqlLedger:
    """Open the ledger and bring its tables up to date."""
    return SqlLedger.open(
        context.data_dir, context.database_url, clock=context.clock, shared=context.database, **context.opening
    )


@hookimpl
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:
    """See the hook's specification."""
    return Provider("sql", build, summary="Hash-chained ledger in SQLite or PostgreSQL", looks=True)
