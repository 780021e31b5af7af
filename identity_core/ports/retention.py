"""How long records about people are kept, and how they go: by age, or because their holder wants it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, get_args

from identity_core.errors import JsonValue

RecordKind = Literal["credentials", "proofs", "timeline", "verifications"]
KINDS: Final[tuple[RecordKind, ...]] = get_args(RecordKind)

ERASED_HOLDER: Final = "did:erased:holder"
"""Stands in the place of the holder of an erased credential: its row keeps the issuer's place in the status list."""


class RecordRetention(Protocol):
    """Records by kind. *Erased* is

    - a credential without its values, signature and holder; issuer, schema, status and its place in the status list stay, because what
      is revoked must stay revoked, and what may be revoked too;
    - a proof that is gone. One whose anchor is on its way waits until that is decided; the salted commitment in the outbox stays;
    - an event of the timeline that is gone;
    - a verification without its holder and the id of the proof: the rest is the verifier's own record.
    """

    async def forget(self, kind: RecordKind, until: datetime, *, limit: int) -> int:
        """Erases at most ``limit`` of a kind, the oldest first, and says how many: credentials and proofs that had expired by ``until``,
        events that are older; verifications that are older are gone as a whole."""
        ...

    async def erase(self, kind: RecordKind, holder: str, *, limit: int) -> int:
        """Erases at most ``limit`` of the holder's, durably, and says how many. Fewer than ``limit``: no more can be erased now."""
        ...

    async def waiting(self, holder: str) -> int:
        """How many proofs of the holder cannot be erased yet."""
        ...

    async def page(
        self, kind: RecordKind, did: str, *, after: str, limit: int
    ) -> Sequence[tuple[str, dict[str, JsonValue]]]:
        """Records about the DID as holder, agent, issuer or verifier, by id behind ``after``, without what is sealed."""
        ...
