"""The ASGI application that a worker runs, around the house."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from identity_core.bootstrap.house import Asgi, House, open_house
from identity_core.settings import Settings, StartError, load


class Application:
    """The ASGI application that a worker runs: opens the house at start-up, closes it at shutdown, passes requests on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._house: House | None = None

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Lives through the lifespan; passes every request to the house."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._house is not None:
            await self._house.app(scope, receive, send)

    async def _live(self, receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                self._house = await stack.enter_async_context(open_house(self._settings))
            except StartError as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def application() -> Asgi:
    """The factory that the server calls in each worker; the environment says everything."""
    return Application(load())
