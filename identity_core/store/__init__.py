"""Data outside of the ledger: document index, challenges, idempotency keys, and the rows of extensions.

One database, ``identity.sqlite`` or the operator's server; one writer a process, shared by all repositories.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from identity_core.database import MAPPED_MEBIBYTES, READERS, Database, open_database
from identity_core.database.files import FileLock
from identity_core.store import migrations
from identity_core.store.challenges import StoredSpentChallenges
from identity_core.store.credentials import StoredCredentials, StoredCredentialSchemas
from identity_core.store.delegations import StoredDelegations
from identity_core.store.documents import Documents
from identity_core.store.events import StoredEvents
from identity_core.store.index_rows import StoredIndexRows
from identity_core.store.invocations import StoredInvocations
from identity_core.store.quarantine import QuarantinedDids
from identity_core.store.requests import StoredIdempotencyKeys, StoredUsage
from identity_core.store.row_mac import ApiKeyTags, RowMac

__all__ = ["Store"]

NO_SECRET: Final = bytes(32)
WRITER_LOCK: Final = (
    "SELECT id FROM store_lock WHERE id = 1 FOR UPDATE; SELECT id FROM audit_head WHERE id = 1 FOR UPDATE"
)
"""The locks of a transaction on a server. Jobs share a transaction in order of arrival, so one lock before all of them prevents
deadlocks. The lock is ``store_lock``. A replica of the previous release locks ``audit_head`` instead, so this release locks both."""


class Store:
    """The repositories over one open database, whose rows have tags that are derived from ``secret``."""

    def __init__(self, database: Database, secret: bytes) -> None:
        self.database = database
        self.row_mac = partial(RowMac, secret)
        self.quarantine = QuarantinedDids(database)
        self.activity = StoredEvents(database)
        self.documents = Documents(database, secret, self.quarantine, self.activity)
        self.index_rows = StoredIndexRows(database, secret)
        self.spent_challenges = StoredSpentChallenges(database)
        self.usage = StoredUsage(database)
        self.idempotency = StoredIdempotencyKeys(database)
        self.credential_schemas = StoredCredentialSchemas(database)
        self.credentials = StoredCredentials(database)
        self.delegations = StoredDelegations(database)
        self.invocations = StoredInvocations(database, self.activity, secrets.token_bytes)
        self.api_key_tags = ApiKeyTags(database, secret, secrets.token_bytes)

    @classmethod
    def open(
        cls,
        data_dir: Path,
        database_url: str | None = None,
        *,
        processes: int = 1,
        secret: bytes = NO_SECRET,
        read_only: bool = False,
        mapped_mebibytes: int = MAPPED_MEBIBYTES,
        readers: int = READERS,
    ) -> Store:
        """Open ``data_dir / identity.sqlite`` or the server, and bring the tables up to date; with ``read_only`` change nothing.

        ``secret``: the key from which the tags of rows are derived. Without one, any program can compute the tags. So a process that
        serves or writes an installation passes the secret of its custodian; a private temporary database needs none.
        Raises ``DatabaseUnavailable``, ``MigrationFailed``.
        """
        database = open_database(
            database_url,
            data_dir / "identity.sqlite",
            processes=processes,
            read_only=read_only,
            mapped_mebibytes=mapped_mebibytes,
            readers=readers,
            writer_lock=WRITER_LOCK,
        )
        migrations.bring_up(database)
        return cls(database, secret)

    async def is_new(self) -> bool:
        """Return whether nothing was ever recorded in it."""
        if not await self.documents.is_empty():
            return False
        lines = "SELECT 1 FROM audit_lines LIMIT 1"
        return await self.database.read(lambda reading: reading.execute(lines).fetchone()) is None

    async def end_dead_requests(self, lock: FileLock, now: datetime) -> None:
        """End the reservations of killed processes, so that their requests can be repeated at once, unless another process serves these
        files. Every serving process shares ``lock`` until it ends."""
        if lock.try_acquire():
            await self.idempotency.release_all(now)
            await self.invocations.release_all()
        lock.acquire(shared=True)

    async def close(self) -> None:
        """Complete the queued writes and close the database. A second call does nothing."""
        await self.database.close()
