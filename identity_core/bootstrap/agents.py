"""``/mcp``, where the settings want it. The protocol comes with the extra ``mcp``, whose distribution names it as the entry point ``mcp``
of the group ``identity.applications``: a context manager that gives an ASGI application."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from typing import Final

from identity_core.api.agents import AgentEndpoint, AskHolder
from identity_core.api.promises import Run
from identity_core.api.request import Admission
from identity_core.bootstrap.ports import consents_secret, origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.tokens import AGENTS
from identity_core.settings import Settings, StartError
from identity_core.ui.consent import read_request
from identity_core.use_cases.consents import HolderConsents

ENTRY_POINTS: Final = "identity.applications"
NAME: Final = "mcp"


async def open_consents(opened: Runtime) -> HolderConsents:
    """What agents ask holders on their pages."""
    secret = await consents_secret(opened.custodian)
    return HolderConsents(opened.store.consent_replies, opened.clock, secret, secrets.token_bytes)


async def agent_endpoints(
    settings: Settings,
    gate: Admission,
    operations: Mapping[str, Run],
    consents: HolderConsents,
    stack: AsyncExitStack,
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
            holders=AskHolder(consents, origin_of(settings), read_request) if settings.ui.enabled else None,
            origin=origin_of(settings),
            max_body=settings.server.max_body_bytes,
            body_seconds=settings.server.body_timeout_seconds,
        )
    }
