"""Where the handles of credentials and the published lists of signed gaps are kept. Every write is durable on return.

Which handles are listed follows from the status of their credentials: ``Credentials.set_status`` changes both in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from identity_codec.values import value_class
from identity_core.domain.credentials.gap_shards import Manifest


@value_class
class GapList:
    """A list of an issuer's: ``method`` is the DID URL of the BBS key that signs it, ``period`` the seconds of its epochs; ``version``
    changes whenever a handle is listed or is not any more."""

    id: str
    issuer: str
    method: str
    period: int
    version: int = 1


@value_class
class Published:
    """What was published of an epoch last, and of which version of the list it was made."""

    version: int
    manifest: bytes


class StatusGaps(Protocol):
    """Lists, the handles in them, and what was published of them."""

    async def give(
        self, gap_list: GapList, credential_id: str, last_day: int, *, random: Callable[[int], bytes]
    ) -> int:
        """The handle of a credential: a free random one of the list, which is begun where it is not there, or the one that
        the credential has already. From then on the list is signed with ``gap_list.method``. ``last_day``: days since 1970-01-01. A
        handle is never given again."""
        ...

    async def take(self, gap_list: GapList, credential_id: str, handle: int, last_day: int) -> bool:
        """As ``give``, for the handle that the issuer chose and signed. False where another credential has it, or this one another; then
        nothing changed."""
        ...

    async def sign_with(self, list_id: str, method: str) -> None:
        """From now on the list is signed with this key; its version changes where that is another than before."""
        ...

    async def lists(self) -> Sequence[GapList]:
        """All lists, in the order of their ids."""
        ...

    async def listed(self, list_id: str, *, last_day: int) -> tuple[int, Sequence[int]]:
        """The version of the list, and the handles of the revoked and suspended credentials whose last day is ``last_day`` or later."""
        ...

    async def publish(
        self, manifest: Manifest, shards: Sequence[bytes], version: int, *, after: int | None = None
    ) -> bool:
        """Stores an edition with its shards, made of that version of the list, behind the edition ``after``, by default the one before
        its own. False when the stored one is another, and nothing changed."""
        ...

    async def published(self, list_id: str, epoch: int) -> Published | None:
        """The newest edition of an epoch, or None."""
        ...

    async def shard(self, list_id: str, digest: bytes) -> bytes | None:
        """A published shard of any edition, or None."""
        ...

    async def record(self, list_id: str, epoch: int, digest: bytes, sequence: int) -> None:
        """The manifest with this digest is the entry of the ledger with this sequence."""
        ...

    async def recorded(self, list_id: str, digest: bytes) -> int | None:
        """Which entry the manifest with this digest is, or None."""
        ...

    async def forget(self, list_id: str, *, before: int) -> None:
        """Deletes manifests and shards, and what is known of their entries, of epochs before this one."""
        ...
