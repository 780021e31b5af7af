import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import connexion
import pytest

from identity_core.api.app import placed
from identity_core.api.request import Answer, Request
from tests.toy_document import DOCUMENT, ToyHandlers, ask, build_toy


def test_connexion_is_the_one_that_was_read() -> None:
    from importlib.metadata import version

    assert version("connexion") == "3.3.0", "the dispatch uses parts of Connexion that are not a documented API"
    assert connexion.AsyncApp


def test_the_stack_is_there_before_the_first_request() -> None:
    guard = build_toy()
    stack: Any = guard.app
    assert stack.middleware_stack is not None


async def lifespan_of(app: Any) -> list[str]:
    sent: list[str] = []
    incoming = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> Any:
        return {"type": next(incoming)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan", "state": {}, "app": None}, receive, send)
    return sent


def test_the_lifespan_is_run() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        seen.append("up")
        yield
        seen.append("down")

    sent = asyncio.run(lifespan_of(build_toy(lifespan=lifespan)))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert seen == ["up", "down"]


def test_a_lifespan_that_fails_stops_the_start() -> None:
    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        raise RuntimeError("no ledger")
        yield

    app = build_toy(lifespan=lifespan)
    with pytest.raises(RuntimeError, match="no ledger"):
        asyncio.run(lifespan_of(app))


def test_pages_of_the_caller() -> None:
    async def keys(request: Request) -> Answer:
        return Answer(200, {"keys": []})

    app = build_toy(pages={"/.well-known/jwks.json": keys})
    assert ask(app, target="/.well-known/jwks.json").json == {"keys": []}
    assert ask(app, "POST", "/.well-known/jwks.json").status == 405


def test_health_is_exempt_under_every_path() -> None:
    places = placed(DOCUMENT)
    assert {place for place, one in places if one["operationId"] == "getHealth"} == {b"/health", b"/api/v1/health"}


def test_two_applications_do_not_mix() -> None:
    first, second = ToyHandlers(), ToyHandlers()
    one, _ = build_toy(first), build_toy(second)
    ask(one, target="/api/v1/dids/did:toy:a")
    assert (len(first.calls), len(second.calls)) == (1, 0)
