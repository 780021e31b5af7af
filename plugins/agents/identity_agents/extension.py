"""The extension ``agents``: the endpoints that the settings ``mcp.enabled`` and ``a2a.enabled`` serve.

The protocol of ``/mcp`` comes with another distribution, which names a context manager of an ASGI application as the entry point ``mcp`` of
the group ``identity.applications``.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import entry_points
from typing import Final

import orjson
from identity_oauth.use_cases.token_keys import TokenKeys

from identity_agents.card import CARD_PATH, EXTENSION_PATH, AgentCardPage, request_schema
from identity_agents.endpoints import A2A, AGENTS, MCP, TASKS, AgentEndpoint, Application, agent_gate
from identity_agents.tasks import SealedTasks, TaskEndpoint
from identity_core import __version__
from identity_core.api.pages import static_page
from identity_core.api.request import Handler
from identity_core.api.transport import Run
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.files import install_command
from identity_core.plugin import hookimpl
from identity_core.settings import Settings, StartError

SERVED_BY: Final = {AGENTS: "mcp.enabled", TASKS: "a2a.enabled"}


@contextlib.asynccontextmanager
async def open_agents(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension. Raises ``StartError``: when ``/mcp`` is to be served and its protocol is not installed."""
    settings, pages, endpoints = kernel.settings, dict[str, Handler](), dict[str, Run]()
    async with contextlib.AsyncExitStack() as stack:
        if settings.mcp.enabled:
            application = await stack.enter_async_context(_application(settings)())
            endpoints[AGENTS] = AgentEndpoint(agent_gate(AGENTS, MCP, kernel), application)
        if settings.a2a.enabled:
            tasks = SealedTasks(kernel.clock, kernel.secret("tasks"), kernel.random)
            endpoints[TASKS] = TaskEndpoint(agent_gate(TASKS, A2A, kernel), tasks)
            pages[CARD_PATH] = AgentCardPage(kernel.origin, __version__, kernel.need(TokenKeys))
            schema = orjson.dumps(request_schema(kernel.origin))
            pages[EXTENSION_PATH] = static_page(schema, "application/schema+json", ())
        yield Contribution(pages=pages, endpoints=endpoints)


def _application(settings: Settings) -> Callable[[], AbstractAsyncContextManager[Application]]:
    try:
        opening: Callable[[], AbstractAsyncContextManager[Application]]
        opening = next(iter(entry_points(group="identity.applications", name="mcp"))).load()
    except (StopIteration, ImportError) as error:
        raise StartError(
            "The Model Context Protocol is not installed.",
            settings.origin("mcp.enabled").place,
            f"{install_command('identity-service[mcp]')}, or set mcp.enabled to false.",
        ) from error
    return opening


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="agents",
        kernel=">=1,<2",
        requires=("oauth", "verification"),
        open=open_agents,
        vital=True,
        default=False,
        resources=SERVED_BY,
        paths=(CARD_PATH, EXTENSION_PATH),
    )
