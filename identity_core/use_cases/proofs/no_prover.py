"""An installation without a prover: whatever is asked of it is refused in words."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NoReturn

from identity_core.domain.proofs.presentation import (
    Acceptance,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
)
from identity_core.domain.proofs.presented import PresentedPresentation
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import PluginUnavailable


class NoProver:
    """The port ``ProofWorkers`` in an installation that has no prover: every call raises ``PluginUnavailable``."""

    suite: Final = ""
    predicate_types: Final = frozenset[str]()
    presents: Final = False

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def read(self, proof: str) -> PresentedProof:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def present(
        self, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
    ) -> str:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def read_presentation(self, text: str) -> PresentedPresentation:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def verify_presentation(
        self, statement: PresentationStatement, text: str, *, bound: PresentationContext, acceptance: Acceptance
    ) -> None:
        """Raises ``PluginUnavailable``."""
        _refuse()


def _refuse() -> NoReturn:
    raise PluginUnavailable("No prover is installed.")
