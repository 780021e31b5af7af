"""The MCP server as an ASGI application, for a service that has admitted the agent: Streamable HTTP, with one JSON answer a request.

Nothing is kept between requests, so any process of the service answers any of them; revisions before 2026-07-28 are served without
sessions.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp

from identity_mcp.server import AgentServer, Context, make_server
from identity_mcp.service import Service

SERVICE = "identity.service"
"""Where the scope of a request has the ``Service`` of its agent."""


@contextlib.asynccontextmanager
async def open_application(server: Server[Any] | None = None) -> AsyncIterator[ASGIApp]:
    """The application that serves ``server``, by default the tools. Each scope that it is given has a ``SERVICE``."""
    served = make_server(AgentServer(service_of)) if server is None else server
    manager = StreamableHTTPSessionManager(served, json_response=True, stateless=True)
    async with manager.run():
        yield manager.handle_request


def service_of(context: Context) -> Service:
    """The service of the agent that a request is from."""
    request: Any = context.request
    service: Service = request.scope[SERVICE]
    return service
