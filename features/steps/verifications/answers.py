"""What stories about verification look for in lists."""

from __future__ import annotations

from typing import Any

from pytest_bdd import then

from features.proving import VALUES
from features.signing import call
from features.steps.answers import body_of
from features.world import World


def no_value_in(data: bytes) -> bool:
    """Whether the holder's country is not in it; her age is too short a text to look for."""
    return f'"{VALUES["country"]}"'.encode() not in data


def read_pages(world: World, name: str, operation_id: str) -> None:
    """Pages of one, until they end; the first page of all of them is kept beside."""
    whole = body_of(call(world, name, operation_id))["items"]
    pages: list[Any] = []
    more: dict[str, Any] = {}
    while more is not None:
        page = body_of(call(world, name, operation_id, limit=1, **more))
        pages += page["items"]
        following = page["nextCursor"]
        if following is None:
            break
        more = {"cursor": following}
    world.notes["pages"], world.notes["whole"] = pages, whole


# Then


@then("the pages are the list")
def paged(world: World) -> None:
    assert world.notes["pages"] == world.notes["whole"]
    assert len(world.notes["pages"]) > 1
