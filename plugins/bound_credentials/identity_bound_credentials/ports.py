"""The ports of suite 2: the rows of handles, published lists and holders' secrets, and the prover. Every write is durable on
return.

The listed handles follow from the status of their credentials: ``Credentials.set_status`` changes both in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from identity_bound_credentials.domain.presentation import (
    Acceptance,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
)
from identity_bound_credentials.domain.presented import PresentedPresentation
from identity_codec.values import Hidden
from identity_core.domain.activity import EventRecord
from identity_core.errors import ProofInvalid
from identity_core.ports.prover import Prover


class GapList(Struct, frozen=True):
    """A list of an issuer. ``method`` is the DID URL of the BBS key that signs it, and ``period`` the length of its epochs in
    seconds. ``version`` changes with every change of the listed handles."""

    id: str
    issuer: str
    method: str
    period: int
    version: int = 1


class Published(Struct, frozen=True):
    """The last publication of an epoch, and the version of the list from which it was made."""

    version: int
    manifest: bytes


class BoundCredential(Hidden, Struct, frozen=True):
    """A credential and the name of the secret that it is bound to (``identity_bbs/holders.py``)."""

    id: str
    issuer: str
    secret: str


class SecretRotation(Struct, frozen=True):
    """The current ``generation``, and the credentials in force that are bound to another one, oldest first. ``is_last``: there are
    no more of them."""

    generation: int
    credentials: Sequence[BoundCredential]
    is_last: bool


Tell = Callable[[SecretRotation], EventRecord]
"""The event of a change; its rows are stored with it, or neither is."""


@runtime_checkable
class PresentingProver(Prover, Protocol):
    """A prover that also proves with credentials of suite 2, which are bound to their holder (PROTOCOL-2.md)."""

    def present(
        self, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
    ) -> str:
        """Return the text of a presentation. Raises as ``prove`` does. Raises ``PredicateNotSatisfied``: also for a credential that
        is not valid on the day or is revoked."""

    def read_presentation(self, text: str) -> PresentedPresentation:
        """Return the claims of a presentation, unverified. Raises ``ProofInvalid``: when it cannot be read."""

    def verify_presentation(
        self, statement: PresentationStatement, text: str, *, bound: PresentationContext, acceptance: Acceptance
    ) -> None:
        """Accept a presentation of exactly this statement in exactly this context; both are the verifier's own. Raises
        ``ProofInvalid``."""


@runtime_checkable
class PresentingBatchVerifier(PresentingProver, Protocol):
    """A prover that checks many presentations in less time together, as ``BatchVerifier`` does proofs of suite 1."""

    def verify_presentations(
        self, asked: Sequence[tuple[PresentationStatement, str, PresentationContext, Acceptance]]
    ) -> Sequence[ProofInvalid | None]:
        """Verify each as ``verify_presentation`` does: statement, text, context and acceptance."""
