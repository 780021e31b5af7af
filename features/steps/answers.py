"""What an answer must be."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from pytest_bdd import parsers, then

from features.world import World


def body_of(answer: Any) -> Any:
    """The JSON of an answer, from the client's detailed response or from httpx."""
    return json.loads(answer.content)


@then(parsers.re(r"the answer is (?P<status>\d{3}) (?P<code>[A-Z_]+)"))
def refused(world: World, status: str, code: str) -> None:
    answer = world.answer
    assert int(answer.status_code) == int(status), answer.content
    error = body_of(answer)["error"]
    assert error["code"] == code, error
    assert isinstance(error["message"], str)
    assert error["details"]["requestId"] == answer.headers["x-request-id"]
    if int(status) == 401:
        assert "realm=" in answer.headers["www-authenticate"]
    if int(status) in (429, 503) or code == "REQUEST_IN_PROGRESS":
        assert int(answer.headers["retry-after"]) >= 1
    if code == "REQUEST_IN_PROGRESS":
        assert "same key" in error["details"]["remedy"]
    if int(status) == 405:
        assert answer.headers["allow"]


@then(parsers.re(r"the answer is (?P<status>\d{3})"))
def answered(world: World, status: str) -> None:
    assert int(world.answer.status_code) == int(status), world.answer.content
    if not isinstance(world.answer, httpx.Response) and int(status) in (200, 201):
        # The generated client could read it, so it has the shape that the document promises.
        assert world.answer.parsed is not None


@then("the answer must not be cached")
def no_store(world: World) -> None:
    assert world.answer.headers["cache-control"] == "no-store"


@then("the answer tells the build")
def tells_the_build(world: World) -> None:
    assert re.fullmatch(r"[0-9]+\.[0-9a-f]{8}", body_of(world.answer)["build"])


@then(parsers.parse("the answer has only the member {name}"))
def only_member(world: World, name: str) -> None:
    assert set(body_of(world.answer)) == {name}


@then("the refusal's body has nothing but the error")
def only_error(world: World) -> None:
    assert set(body_of(world.answer)) == {"error"}


@then("the pages do not overlap")
def pages(world: World) -> None:
    first, second = world.notes["first"].items, world.answer.parsed.items
    assert len(first) == len(second) == 1
    assert first[0].to_dict() != second[0].to_dict()
