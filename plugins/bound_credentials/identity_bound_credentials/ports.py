"""The ports of suite 2: the rows of handles, published lists and holders' secrets, and the prover. Every write is durable on return.

Which handles are listed follows from the status of their credentials: ``Credentials.set_status`` changes both in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.presentation import (
    Acceptance,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
)
from identity_bound_credentials.domain.presented import PresentedPresentation
from identity_core.domain.activity import EventRecord
from identity_core.errors import ProofInvalid
from identity_core.ports.prover import Prover
from identity_core.values import value_class


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


@value_class
class BoundCredential:
    """A credential and the name of the secret that it is bound to (``domain/credentials/holder_secret.py``)."""

    id: str
    issuer: str
    secret: str


@value_class
class SecretRotation:
    """The present ``generation``, and the credentials in force that are bound to another one, the oldest first; ``is_last``: those are
    all."""

    generation: int
    credentials: Sequence[BoundCredential]
    is_last: bool


Tell = Callable[[SecretRotation], EventRecord]
"""The event of a change; its rows are stored with it, or neither is."""


class HolderSecretGenerations(Protocol):
    """The generation of each holder's secret, 1 for a holder who never rotated. It never becomes less."""

    async def generation(self, holder: str) -> int:
        """That of the credentials that are issued now."""
        ...

    async def rotate(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
        """The next generation, and at most ``limit`` of the credentials that stay bound to former ones, or to secrets that follow from
        another key of the custodian's than the present ``root``."""
        ...

    async def forget(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
        """Nothing is proved any more with what is bound to former generations. What that is, at most ``limit``; it is all forgotten."""
        ...


@runtime_checkable
class PresentingProver(Prover, Protocol):
    """A prover that also proves with credentials of suite 2, which are bound to their holder (PROTOCOL-2.md)."""

    def present(
        self, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
    ) -> str:
        """The text of a presentation. Raises as ``prove`` does, ``PredicateNotSatisfied`` also for a credential that is not valid on the
        day or is revoked."""
        ...

    def read_presentation(self, text: str) -> PresentedPresentation:
        """What a presentation says about itself. Nothing is verified; raises ``ProofInvalid`` when it cannot be read."""
        ...

    def verify_presentation(
        self, statement: PresentationStatement, text: str, *, bound: PresentationContext, acceptance: Acceptance
    ) -> None:
        """Accepts a presentation of exactly this statement in exactly this context; both are the verifier's own. Raises
        ``ProofInvalid``."""
        ...


@runtime_checkable
class PresentingBatchVerifier(PresentingProver, Protocol):
    """A prover that checks many presentations in less time together, as ``BatchVerifier`` does proofs of suite 1."""

    def verify_presentations(
        self, asked: Sequence[tuple[PresentationStatement, str, PresentationContext, Acceptance]]
    ) -> Sequence[ProofInvalid | None]:
        """``verify_presentation`` of each: statement, text, context and acceptance."""
        ...
