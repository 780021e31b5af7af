"""``/mcp`` and ``/a2a``, where the settings want them. The protocol of ``/mcp`` comes with the extra ``mcp``, whose
distribution names it as the entry point ``mcp`` of the group ``identity.applications``: a context manager of an ASGI application."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib.metadata import entry_points
from typing import Final

import orjson

from identity_core import __version__
from identity_core.api.agent_card import CARD_PATH, EXTENSION_PATH, AgentCardPage, request_schema
from identity_core.api.agent_requests import read_request
from identity_core.api.agent_tasks import SealedTasks, TaskEndpoint
from identity_core.api.agents import A2A, MCP, AgentDoor, AgentEndpoint, Application, AskHolder
from identity_core.api.pages import static_page
from identity_core.api.promises import Run
from identity_core.api.request import Admission, Handler
from identity_core.api.security import Gate
from identity_core.bootstrap.ports import consents_secret, origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.crypto.sealing import derive_key
from identity_core.domain.tokens import AGENTS, TASKS
from identity_core.extension.declaration import Contribution
from identity_core.extension.opening import OpenKernel
from identity_core.settings import Settings, StartError
from identity_core.use_cases.auth.token_keys import TokenKeys
from identity_core.use_cases.consents import HolderConsents

ENTRY_POINTS: Final = "identity.applications"
NAME: Final = "mcp"


async def open_consents(opened: Runtime) -> HolderConsents:
    """What agents ask holders on their pages."""
    secret = await consents_secret(opened.custodian)
    return HolderConsents(opened.store.consent_replies, opened.clock, secret, secrets.token_bytes)


def agent_places(settings: Settings) -> list[str]:
    """The paths where agents call, each a resource of its own."""
    return [place for place, chosen in ((AGENTS, settings.mcp), (TASKS, settings.a2a)) if chosen.enabled]


def agent_pages(opened: Runtime, keys: TokenKeys) -> dict[str, Handler]:
    """What agents read before they call, by path."""
    if not opened.settings.a2a.enabled:
        return {}
    origin = origin_of(opened.settings)
    schema = static_page(orjson.dumps(request_schema(origin)), "application/schema+json", ())
    return {CARD_PATH: AgentCardPage(origin, __version__, keys), EXTENSION_PATH: schema}


async def agent_endpoints(
    opened: Runtime, gate: Admission, operations: Mapping[str, Run], consents: HolderConsents, stack: AsyncExitStack
) -> dict[str, Run]:
    """By path; ``stack`` ends the application of the protocol. Raises ``StartError`` where the extra is missing."""
    settings, endpoints = opened.settings, dict[str, Run]()

    def door(name: str, place: str) -> AgentDoor:
        return AgentDoor(
            name=name,
            place=place,
            gate=gate,
            operations=operations,
            holders=AskHolder(consents, origin_of(settings), read_request) if opened.has_pages else None,
            origin=origin_of(settings),
            max_body=settings.server.max_body_bytes,
        )

    if settings.mcp.enabled:
        application = await stack.enter_async_context(_application(settings)())
        endpoints[AGENTS] = AgentEndpoint(door(MCP, AGENTS), application)
    if settings.a2a.enabled:
        secret = derive_key(await consents_secret(opened.custodian), info=b"identity: tasks of agents, v1")
        endpoints[TASKS] = TaskEndpoint(door(A2A, TASKS), SealedTasks(opened.clock, secret, secrets.token_bytes))
    return endpoints


def _application(settings: Settings) -> Callable[[], AbstractAsyncContextManager[Application]]:
    try:
        opening: Callable[[], AbstractAsyncContextManager[Application]]
        opening = next(iter(entry_points(group=ENTRY_POINTS, name=NAME))).load()
    except (StopIteration, ImportError) as error:
        raise StartError(
            "Nothing that is installed speaks the Model Context Protocol.",
            settings.origin("mcp.enabled").place,
            "pip install 'identity-service[mcp]', or set mcp.enabled to false.",
        ) from error
    return opening


async def open_agents(opened: Runtime, kernel: OpenKernel, stack: AsyncExitStack) -> Contribution:
    """Open the endpoints of agents."""
    endpoints = await agent_endpoints(opened, kernel.need(Gate), kernel.operations, kernel.need(HolderConsents), stack)
    return Contribution(pages=agent_pages(opened, kernel.need(TokenKeys)), endpoints=endpoints)
