"""getHealth: the process turns; nothing is asked.

getReadiness: every dependency answered its probe. A balancer takes a replica out that is not ready, and restarts one that is not
alive: that is why the two differ.

getVersion: which version it is.

Unless they are public, states are for API keys with the scope ``service:read``: they tell an attacker what is installed, and whether an
attack works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from identity_codec.structs import UNSET
from identity_codec.values import value_class
from identity_core.domain.callers import Caller
from identity_core.wire import Health, PluginCondition, Readiness

OK: Final = "ok"
SCOPE: Final = "service:read"

Probe = Callable[[], Awaitable[str]]


@value_class
class Dependencies:
    """``probes``: name of a dependency → its state in one word: ``ok``, ``degraded`` (it still answers), or anything else for one that
    must be up before requests can be served. They raise nothing and end in time."""

    probes: dict[str, Probe]

    async def states(self) -> dict[str, str]:
        """The state of each."""
        states = await asyncio.gather(*(probe() for probe in self.probes.values()))
        return dict(zip(self.probes, states, strict=True))


@value_class
class GetHealth:
    """An answer is all that it says."""

    async def __call__(self) -> Health:
        return Health(status="ok")


@value_class
class GetReadiness:
    """``plugins`` tells how everything does that the core calls."""

    dependencies: Dependencies
    plugins: Callable[[], dict[str, PluginCondition]]
    is_public: bool

    async def __call__(self, caller: Caller | None) -> Readiness:
        """The states only for who may see them."""
        states = await self.dependencies.states()
        key = None if caller is None else caller.api_key
        sees = self.is_public or (key is not None and (key.scopes is None or SCOPE in key.scopes))
        return Readiness(
            status="ready" if all(state in (OK, "degraded") for state in states.values()) else "unavailable",
            dependencies=states if sees else UNSET,
            plugins=self.plugins() if sees else UNSET,
        )


@value_class
class GetVersion:
    """Versions of the service and its parts; ``build`` reads files when it is first called."""

    version: dict[str, str]
    build: Callable[[], str]

    async def __call__(self) -> dict[str, str]:
        return {**self.version, "build": await asyncio.to_thread(self.build)}
