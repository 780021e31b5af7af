"""getHealth: the process answers; no dependency is checked.

getReadiness: every dependency answered its probe. A load balancer removes a replica that is not ready, and an orchestrator restarts one
that is not alive; so there are two operations.

getVersion: the version of the service.

Unless they are public, states are for API keys with the scope ``service:read``: an attacker could learn from them which parts are
installed, and whether an attack works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from identity_codec.structs import UNSET
from identity_core.domain.callers import Caller
from identity_core.wire import Health, PluginCondition, Readiness

OK: Final = "ok"
SCOPE: Final = "service:read"

Probe = Callable[[], Awaitable[str]]


class Dependencies(Struct, frozen=True):
    """The dependencies of the service. ``probes``: name of a dependency → its state in one word: ``ok``, ``degraded`` (it still answers),
    or any other word if the service cannot serve requests without it. Probes raise nothing and end in time."""

    probes: dict[str, Probe]

    async def states(self) -> dict[str, str]:
        """Return the state of each dependency."""
        states = await asyncio.gather(*(probe() for probe in self.probes.values()))
        return dict(zip(self.probes, states, strict=True))


class GetHealth(Struct, frozen=True):
    """Use case getHealth: the answer itself shows that the process is alive."""

    async def __call__(self) -> Health:
        return Health(status="ok")


class GetReadiness(Struct, frozen=True):
    """Use case getReadiness. ``plugins`` returns the states of all plugins that the core calls."""

    dependencies: Dependencies
    plugins: Callable[[], dict[str, PluginCondition]]
    is_public: bool

    async def __call__(self, caller: Caller | None) -> Readiness:
        """Return the readiness, with the states only if the caller may see them."""
        states = await self.dependencies.states()
        key = None if caller is None else caller.api_key
        sees = self.is_public or (key is not None and (key.scopes is None or SCOPE in key.scopes))
        return Readiness(
            status="ready" if all(state in (OK, "degraded") for state in states.values()) else "unavailable",
            dependencies=states if sees else UNSET,
            plugins=self.plugins() if sees else UNSET,
        )


class GetVersion(Struct, frozen=True):
    """Use case getVersion: versions of the service and its parts; ``build`` reads files at its first call."""

    version: dict[str, str]
    build: Callable[[], str]

    async def __call__(self) -> dict[str, str]:
        return {**self.version, "build": await asyncio.to_thread(self.build)}
