"""The store, on the core's database room: look-ups read by key, writes are durable and go through its one writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from identity_core.database import (
    ConstraintViolated,
    Database,
    DatabaseMismatch,
    DatabaseOverloaded,
    DatabaseUnavailable,
    Transaction,
)
from identity_core.domain.callers import ApiKey
from identity_core.errors import ApiKeyNotFound, Overloaded, PluginUnavailable, VersionConflict
from identity_keys_sql.record import read_row, to_record

_INSERT = "INSERT INTO keys_api_keys (id, digest, record) VALUES (:id, :digest, :record)"
_BY_DIGEST = "SELECT id, digest, record FROM keys_api_keys WHERE digest = :digest"
_BY_ID = "SELECT id, digest, record FROM keys_api_keys WHERE id = :id"
_PAGE = "SELECT id, digest, record FROM keys_api_keys WHERE id > :after ORDER BY id LIMIT :limit"
_REPLACE = "UPDATE keys_api_keys SET digest = :digest, record = :record WHERE id = :id AND record = :expected"


class SqlKeys:
    """A ``WritableKeyStore``. Raises ``PluginUnavailable`` when the database is out of reach, ``Overloaded`` when too
    many writes wait."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, digest: str) -> ApiKey | None:
        return await self._one(_BY_DIGEST, {"digest": digest})

    async def get(self, key_id: str) -> ApiKey | None:
        return await self._one(_BY_ID, {"id": key_id})

    async def list(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        parameters = {"after": (after or "").replace("\0", "\1"), "limit": limit}
        with _translated():
            rows = await self._database.read(lambda transaction: transaction.execute(_PAGE, parameters).fetchall())
        return [read_row(*row) for row in rows]

    async def create(self, key: ApiKey) -> None:
        parameters = {"id": key.id, "digest": key.digest, "record": to_record(key)}
        with _translated():
            await self._database.write(lambda transaction: transaction.execute(_INSERT, parameters).rowcount)

    async def replace(self, key: ApiKey, *, expected: ApiKey) -> None:
        parameters = {"id": key.id, "digest": key.digest, "record": to_record(key), "expected": to_record(expected)}

        def swap(transaction: Transaction) -> None:
            if transaction.execute(_REPLACE, parameters).rowcount:
                return
            if transaction.execute(_BY_ID, {"id": key.id}).fetchone() is None:
                raise ApiKeyNotFound(details={"id": key.id})
            raise VersionConflict("The API key has been changed meanwhile.")

        with _translated():
            await self._database.write(swap)

    async def close(self) -> None:
        """Finish the queued work and close the database."""
        await self._database.close()

    async def _one(self, sql: str, parameters: dict[str, str]) -> ApiKey | None:
        # PostgreSQL has no text with a NUL in it, so there is no key by such a name either.
        if any("\0" in value for value in parameters.values()):
            return None
        with _translated():
            rows = await self._database.look_up(sql, parameters)
        return read_row(*rows[0]) if rows else None


@contextmanager
def _translated() -> Iterator[None]:
    """Translate the database's errors to those of the port."""
    try:
        yield
    except ConstraintViolated as error:
        raise VersionConflict("An API key with this identifier or this text exists.") from error
    except DatabaseOverloaded as error:
        raise Overloaded from error
    except (DatabaseUnavailable, DatabaseMismatch) as error:
        raise PluginUnavailable(details={"plugin": "identity-keys-sql"}) from error
