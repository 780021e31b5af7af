"""Hana gives nicknames."""

from __future__ import annotations

from urllib.parse import quote

from pytest_bdd import parsers, then, when

from features.document import Operation
from features.signing import call
from features.steps.answers import body_of
from features.world import DRAFTS, Draft, World

SHOP = "did:web:shop.example"


def _drafted(world: World, operation: Operation) -> Draft:
    """Hana signs."""
    hana = world.new_person("Hana")
    draft = Draft(operation, operation.path.replace("{namedDid}", quote(SHOP, safe="")))
    draft.body = {"label": "The shop"} if operation.has_body else None
    draft.headers = world.signed(hana, operation.operation_id, draft.body)
    return draft


DRAFTS |= dict.fromkeys(("listLabels", "setLabel", "deleteLabel"), _drafted)


@when(parsers.parse('{name:w} sends setLabel with "{text}" for {whom:w}'))
def gives(world: World, name: str, text: str, whom: str) -> None:
    call(world, name, "setLabel", "SetLabelRequest", {"label": text}, named_did=world.person(whom).did)


@when(parsers.parse("{name:w} sends setLabel with a text that turns around for {whom:w}"))
def turns(world: World, name: str, whom: str) -> None:
    gives(world, name, "Helper\u202e", whom)


@when(parsers.parse("{name:w} sends listLabels"))
def reads(world: World, name: str) -> None:
    call(world, name, "listLabels")


@when(parsers.parse("{name:w} sends deleteLabel for {whom:w}"))
def takes_back(world: World, name: str, whom: str) -> None:
    call(world, name, "deleteLabel", named_did=world.person(whom).did)


@when(parsers.parse("{name:w} sends {operation:w} for what is not a DID"))
def misnames(world: World, name: str, operation: str) -> None:
    body = ("SetLabelRequest", {"label": "Helper"}) if operation == "setLabel" else ()
    call(world, name, operation, *body, named_did="shop.example")


@then(parsers.parse('{whom:w} has the nickname "{text}"'))
def has_nickname(world: World, whom: str, text: str) -> None:
    assert [(one["did"], one["label"]) for one in body_of(world.answer)["items"]] == [(world.person(whom).did, text)]


@then("there is no nickname")
def has_none(world: World) -> None:
    assert body_of(world.answer) == {"items": []}
