"""What ``identity doctor`` says of the document index: which DIDs are withheld. It only reads, and makes no table that is not there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from identity_core.cli.findings import Finding
from identity_core.database import DatabaseError, open_database
from identity_core.settings import Settings

CHECK: Final = "index"
SHOWN: Final = 5
_WITHHELD: Final = "SELECT did, reason FROM quarantined_dids ORDER BY did"
_REMEDY: Final = (
    "`identity ledger audit` says what differs, `identity ledger repair --all` writes them anew from the ledger"
)


def index(settings: Settings) -> Iterator[Finding]:
    """A warning when DIDs are withheld; nothing where there is no installation yet, or its database cannot be asked: others tell."""
    try:
        database = open_database(settings.database_url, settings.data_dir / "identity.sqlite", read_only=True)
        try:
            found = database.read_now(lambda transaction: transaction.execute(_WITHHELD).fetchall())
        finally:
            asyncio.run(database.close())
    except DatabaseError:
        return
    if not found:
        yield Finding(CHECK, "ok", "no DID is withheld")
        return
    named = "; ".join(f"{did}: {reason}" for did, reason in found[:SHOWN])
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    yield Finding(CHECK, "fail", f"{len(found)} DIDs are withheld: {named}{more}", _REMEDY)
