"""What stands where a prover would, in an installation that has none: the operations are there and say so."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NoReturn

from identity_core.domain.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import PluginUnavailable


class NoProver:
    """See ``ProofWorkers``. Every call raises ``PluginUnavailable``."""

    suite: Final = ""
    predicate_types: Final = frozenset[str]()

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def read(self, proof: str) -> PresentedProof:
        """Raises ``PluginUnavailable``."""
        _refuse()

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Raises ``PluginUnavailable``."""
        _refuse()


def _refuse() -> NoReturn:
    raise PluginUnavailable("No prover is installed.")
