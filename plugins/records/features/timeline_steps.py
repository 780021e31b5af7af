"""Steps about the items of the timeline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pytest_bdd import parsers, then, when

from features.formats import printed
from features.signing import call
from features.steps.answers import body_of
from features.steps.verifications.answers import no_value_in, read_pages
from features.world import World

# When


@when(parsers.parse("{name:w} reads the timeline"))
def reads_timeline(world: World, name: str) -> None:
    call(world, name, "getDashboardTimeline")


@when(parsers.parse("{name:w} reads the {noun:w} in the timeline"))
def reads_kind(world: World, name: str, noun: str) -> None:
    call(world, name, "getDashboardTimeline", kind=noun.removesuffix("s"))


@when(parsers.parse("{name:w} reads the timeline one by one"))
def reads_timeline_in_pages(world: World, name: str) -> None:
    read_pages(world, name, "getDashboardTimeline")


@when(parsers.parse("{name:w} reads the timeline of tomorrow"))
def reads_future(world: World, name: str) -> None:
    call(world, name, "getDashboardTimeline", after=printed(datetime.now(UTC) + timedelta(days=1)))


# Then


@then(parsers.parse("the timeline tells {kinds}"))
def check_kinds(world: World, kinds: str) -> None:
    items = body_of(world.answer)["items"]
    assert [item["kind"] for item in items] == kinds.split(", ")
    assert no_value_in(world.answer.content)
