"""The tree over the ledger as it is stored: a projection that anybody can make again from the ledger's entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from identity_codec.values import value_class
from identity_tlog.tiles import TileKey
from identity_tlog.tree import Frontier


@value_class
class Growth:
    """The next leaves: their hashes, and the transaction hashes (32 octets each) by which they are looked up."""

    leaves: Sequence[bytes]
    transactions: Sequence[bytes]


class ServiceName(Protocol):
    """The DID of the service, whose log lists the generations of the log key."""

    async def service_did(self) -> str | None:
        """The DID; None before the first rotation of the log key."""
        ...

    async def begin_service(self, did: str) -> str:
        """The same, which is ``did`` from now on where there was none. Durable on return."""
        ...


class StoredTree(Protocol):
    """Tiles, frontier, and places by transaction hash. Several processes may append; each growth counts once."""

    async def frontier(self) -> Frontier:
        """The tree as it is."""
        ...

    async def append(self, size: int, growth: Growth) -> Frontier:
        """Appends to a tree of ``size``, whole or not at all, and returns the tree. One that has another size already, because
        somebody else was faster, is left alone and returned. It need not be durable: the ledger is."""
        ...

    async def tiles(self, wanted: Collection[TileKey]) -> Mapping[TileKey, bytes]:
        """Those of the wanted tiles that are there, each as wide as it is now."""
        ...

    async def places(self, transaction: bytes) -> Sequence[int]:
        """The sequences at which this transaction hash may be, few and mostly one: the ledger says which is right."""
        ...
