"""DIDs that are published elsewhere."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from pytest_bdd import given, parsers, then

from features.servers import Servers
from features.steps.answers import body_of
from features.web.host import WebHost
from features.world import Person, World
from tests.foreign_documents import ALLOWED, REFUSED, document_of, named


@pytest.fixture(scope="session")
def web_host(servers: Servers) -> Iterator[WebHost]:
    """The host, beside the service that trusts it."""
    host = WebHost(servers["web"].fault.with_name("web.pem"))
    yield host
    host.close()


def publish(world: World, web_host: WebHost, name: str, **how: object) -> None:
    # Answers are kept for a minute, so each story has a place of its own.
    place = world.notes["place"] = uuid.uuid4().hex
    world.kind = "web"
    world.people[name] = Person(web_host.publish(place, **how), {}, {})  # type: ignore[arg-type]


@given(parsers.parse("{name} publishes a DID on the web"))
def publishes(world: World, web_host: WebHost, name: str) -> None:
    publish(world, web_host, name)


@given(parsers.parse("{name} publishes a DID on the web with {form}"))
def publishes_form(world: World, web_host: WebHost, name: str, form: str) -> None:
    publish(world, web_host, name)
    did = world.person(name).did
    web_host.pages[f"/{world.notes['place']}/did.json"] = (200, document_of(did, (ALLOWED | REFUSED)[form]))


@then(parsers.parse("it is what {name} publishes as {fragment}"))
def as_published_part(world: World, web_host: WebHost, name: str, fragment: str) -> None:
    assert body_of(world.answer)["content"] == named(web_host.document(world.notes["place"]))[fragment]


@given(parsers.parse("{name} published a DID on the web and has taken it down"))
def took_down(world: World, web_host: WebHost, name: str) -> None:
    publish(world, web_host, name)
    web_host.take_down(world.notes["place"])


@given(parsers.parse("{name} publishes a DID at a host that is out of order"))
def out_of_order(world: World, web_host: WebHost, name: str) -> None:
    publish(world, web_host, name, status=503)


@given(parsers.parse("{name} publishes a document in the name of another DID"))
def impostor(world: World, web_host: WebHost, name: str) -> None:
    publish(world, web_host, name, id="did:web:another.example")


@then(parsers.parse("the document is the one that {name} publishes"))
def as_published(world: World, web_host: WebHost, name: str) -> None:
    assert body_of(world.answer)["didDocument"] == web_host.document(world.notes["place"])
    assert world.person(name).did == body_of(world.answer)["didDocument"]["id"]
