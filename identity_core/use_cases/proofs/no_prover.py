"""An installation without a prover: whatever is asked of it is refused in words."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from identity_core.errors import PluginUnavailable


class NoProver:
    """The port ``ProofWorkers`` in an installation that has no prover: every call raises ``PluginUnavailable``."""

    suite: Final = ""
    predicate_types: Final = frozenset[str]()
    extensions: Final = frozenset[str]()

    async def ask(self, *asked: Any, **named: Any) -> NoReturn:
        """Raises ``PluginUnavailable``."""
        raise PluginUnavailable("No prover is installed.")

    prove = read = verify = ask
