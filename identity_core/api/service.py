"""The handlers of the tag ``service``: is it alive, is it ready, what has it done, which version is it.

Alive means that the event loop turns; nothing is asked. Ready means that every dependency answered its probe. A
balancer takes a replica out that is not ready, and restarts one that is not alive: that is why the two differ.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from identity_core.api import metrics
from identity_core.api.request import Answer, Request
from identity_core.domain.caller import Caller
from identity_core.errors import AuthRequired, JsonValue
from identity_core.plugin.inventory import InUse

PROBE_SECONDS: Final = 2.0
OK: Final = "ok"
SCOPE: Final = "service:read"
NO_STORE: Final = (("cache-control", "no-store"),)

Probe = Callable[[], Awaitable[str]]

log = logging.getLogger("identity.api")


@dataclass(frozen=True, slots=True)
class ServiceHandlers:
    """getHealth, getReadiness, getMetrics, getVersion.

    ``probes``: name of a dependency → its state in one word: ``ok``, ``degraded`` (it still answers), or anything else
    for a dependency that must be up before requests can be served. A probe that raises or takes longer than
    ``PROBE_SECONDS`` counts as ``down``. ``plugins`` tells how everything does that the core calls, and ``version`` is what
    getVersion shows. Unless ``is_public``, states and measurements are for API keys with the scope ``service:read``: they tell an
    attacker what is installed, how loaded it is, and whether an attack works.
    """

    version: Mapping[str, str]
    probes: Mapping[str, Probe]
    plugins: Callable[[], Mapping[str, InUse]]
    measured: metrics.Metrics
    is_public: bool

    async def get_health(self, request: Request) -> Answer:
        """200 as long as the process turns."""
        return Answer(200, b'{"status":"ok"}', headers=NO_STORE)

    async def get_readiness(self, request: Request) -> Answer:
        """200, or 503 with the state of every dependency."""
        states = await self._states()
        ready = all(state in (OK, "degraded") for state in states.values())
        body: dict[str, JsonValue] = {"status": "ready" if ready else "unavailable"}
        if self.is_public or _may_observe(request.caller):
            body["dependencies"] = dict(states)
            body["plugins"] = {name: _rendered(one) for name, one in self.plugins().items()}
        return Answer(200 if ready else 503, body, headers=NO_STORE if ready else (*NO_STORE, ("retry-after", "1")))

    async def get_metrics(self, request: Request) -> Answer:
        """The Prometheus text of all workers. Raises ``AuthRequired`` and ``Forbidden`` where it is not public."""
        if not self.is_public:
            if request.caller is None:
                raise AuthRequired
            request.caller.require_key(SCOPE)
        return Answer(
            200, self.measured.render(await self._states()), media_type=metrics.CONTENT_TYPE, headers=NO_STORE
        )

    async def get_version(self, request: Request) -> Answer:
        """Versions of the service and its parts."""
        return Answer(200, dict(self.version), headers=(("cache-control", "public, max-age=60"),))

    async def _states(self) -> dict[str, str]:
        states = await asyncio.gather(*(_ask(name, probe) for name, probe in self.probes.items()))
        return dict(zip(self.probes, states, strict=True))


def _may_observe(caller: Caller | None) -> bool:
    key = None if caller is None else caller.api_key
    return key is not None and (key.scopes is None or SCOPE in key.scopes)


def _rendered(one: InUse) -> JsonValue:
    """The state, and no reason: those are in the log, for who may read it."""
    if one.worker_table is None:
        return {"state": one.state}
    worker_table = one.worker_table
    return {
        "state": one.state,
        "processes": {"wanted": worker_table.wanted, "ready": worker_table.up, "restarts": worker_table.restarts},
    }


async def _ask(name: str, probe: Probe) -> str:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await probe()
    except Exception as error:  # noqa: BLE001 - whatever a probe raises means that its dependency is down
        log.warning("the readiness probe of %s failed: %s", name, type(error).__qualname__)
        return "down"
