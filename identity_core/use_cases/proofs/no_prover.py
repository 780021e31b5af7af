"""An installation without a prover: whatever is asked of it is refused in words."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NoReturn

from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import PluginUnavailable
from identity_core.ports.prover import ProverCall


class NoProver:
    """The port ``ProofWorkers`` in an installation that has no prover: every call raises ``PluginUnavailable``."""

    suite: Final = ""
    predicate_types: Final = frozenset[str]()
    extensions: Final = frozenset[str]()

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def read(self, proof: str) -> PresentedProof:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def ask(self, call: ProverCall) -> NoReturn:
        """Raises ``PluginUnavailable``."""
        _refuse()


def _refuse() -> NoReturn:
    raise PluginUnavailable("No prover is installed.")
