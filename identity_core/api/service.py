"""The handlers of the tag ``service``: health, readiness and version."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from msgspec import Struct

from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.use_cases.service import GetHealth, GetReadiness, GetVersion, Probe

PROBE_SECONDS: Final = 2.0

log = logging.getLogger("identity.api")


class ServiceHandlers(Struct, frozen=True):
    """Handlers of getHealth, getReadiness, getVersion."""

    health: GetHealth
    readiness: GetReadiness
    version: GetVersion

    async def get_health(self, request: Request) -> Answer:
        """Return 200 as long as the event loop runs."""
        return Answer(200, await self.health(), headers=[NO_STORE])

    async def get_readiness(self, request: Request) -> Answer:
        """Return 200, or 503 with the state of every dependency."""
        found = await self.readiness(request.caller)
        later = [] if found.status == "ready" else [("retry-after", "1")]
        return Answer(503 if later else 200, found, headers=[NO_STORE, *later])

    async def get_version(self, request: Request) -> Answer:
        """Return versions of the service and its parts."""
        return Answer(200, await self.version(), headers=[("cache-control", "public, max-age=60")])


def bounded(name: str, probe: Probe) -> Probe:
    """Return a probe that reports ``down`` if ``probe`` raises or takes longer than ``PROBE_SECONDS``."""

    async def ask() -> str:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                return await probe()
        except Exception as error:  # noqa: BLE001 - whatever a probe raises means that its dependency is down
            log.warning("the readiness probe of %s failed: %s", name, type(error).__qualname__)
            return "down"

    return ask
