"""``/mcp``, where the settings want it. The protocol comes with the extra ``mcp``, whose distribution names it as the entry point ``mcp``
of the group ``identity.applications``: a context manager that gives an ASGI application."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from typing import Final

from identity_core.api.agents import AgentEndpoint
from identity_core.api.promises import Run
from identity_core.api.request import Admission
from identity_core.bootstrap.ports import origin_of
from identity_core.domain.tokens import AGENTS
from identity_core.settings import Settings, StartError

ENTRY_POINTS: Final = "identity.applications"
NAME: Final = "mcp"


async def agent_endpoints(
    settings: Settings, gate: Admission, operations: Mapping[str, Run], stack: AsyncExitStack
) -> dict[str, Run]:
    """By path; ``stack`` ends the application of the protocol. Raises ``StartError`` where the extra is missing."""
    if not settings.mcp.enabled:
        return {}
    found = entry_points(group=ENTRY_POINTS, name=NAME)
    if not found:
        raise StartError(
            "Nothing that is installed speaks the Model Context Protocol.",
            settings.origin("mcp.enabled").place,
            "pip install 'identity-service[mcp]', or set mcp.enabled to false.",
        )
    open_application = next(iter(found)).load()
    return {
        AGENTS: AgentEndpoint(
            gate=gate,
            operations=operations,
            application=await stack.enter_async_context(open_application()),
            origin=origin_of(settings),
            max_body=settings.server.max_body_bytes,
            body_seconds=settings.server.body_timeout_seconds,
        )
    }
