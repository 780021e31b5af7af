"""The DID of the service, whose log lists the generations of the log key."""

from __future__ import annotations

from identity_core.database import Transaction
from identity_core.store.records import Repository

_SERVICE = "SELECT service_did FROM transparency_head WHERE id = 1"
_BEGIN_SERVICE = "UPDATE transparency_head SET service_did = :did WHERE id = 1 AND service_did IS NULL"


class StoredServiceDid(Repository):
    """The port ``ServiceName`` on a row that the tree of the log shares."""

    async def service_did(self) -> str | None:
        """Return the DID; None before the first rotation of the log key."""
        return await self._database.read(_service_did)

    async def begin_service(self, did: str) -> str:
        """Return the same, from now on ``did`` if there was none. Raises ``PluginUnavailable``, ``Overloaded``."""
        return await self._database.write(lambda writing: _begun(writing, did))


def _service_did(transaction: Transaction) -> str | None:
    found: str | None = transaction.execute(_SERVICE).fetchone()[0]
    return found


def _begun(transaction: Transaction, did: str) -> str:
    transaction.execute(_BEGIN_SERVICE, {"did": did})
    found = _service_did(transaction)
    return did if found is None else found
