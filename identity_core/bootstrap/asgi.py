"""The ASGI application that a worker runs, around an installation."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from identity_core.bootstrap.installation import Asgi, Installation, open_installation
from identity_core.settings import Settings, StartError, load


class Application:
    """The ASGI application that a worker runs: opens the installation at start-up, closes it at shutdown, passes requests on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._installation: Installation | None = None

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Lives through the lifespan; passes every request on."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._installation is not None:
            await self._installation.app(scope, receive, send)

    async def _live(self, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                self._installation = await stack.enter_async_context(open_installation(self._settings))
            except StartError as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def application() -> Asgi:
    """The factory that the server calls in each worker; the environment says everything."""
    return Application(load())
