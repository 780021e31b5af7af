"""Clients of the DIF Universal Resolver, which know nothing of this service but the paths under ``/1.0``."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pytest_bdd import parsers, then, when

from features.document import Operation, operation
from features.steps.answers import body_of
from features.world import DRAFTS, Draft, World

RESOLVE = "resolveIdentifier"
WITH_OPTIONS = "resolveIdentifierWithOptions"


def draft(world: World, found: Operation) -> Draft:
    return asking(world.new_person("Hana").did)


def posting_draft(world: World, found: Operation) -> Draft:
    return posting(world.new_person("Hana").did, {"noCache": True})


def posting(identifier: str, options: dict[str, Any]) -> Draft:
    found = operation(WITH_OPTIONS)
    path = found.path.replace("{identifier}", quote(identifier, safe=""))
    return Draft(found, path, body=options)


def asking(identifier: str, accept: str = "*/*") -> Draft:
    found = operation(RESOLVE)
    path = found.path.replace("{identifier}", quote(identifier, safe=""))
    return Draft(found, path, headers={"Accept": accept})


DRAFTS[RESOLVE] = draft
DRAFTS[WITH_OPTIONS] = posting_draft


@when(parsers.parse("a stock resolver asks for the DID of {name}"))
def stock(world: World, name: str) -> None:
    profile = 'application/ld+json;profile="https://w3id.org/did-resolution"'
    did = world.person(name).did
    world.answer = world.http().get(f"/1.0/identifiers/{did}", headers={"Accept": profile})
    assert world.answer.headers["content-type"] == profile


@when(parsers.parse("the DID of {name} is looked up as {media}"))
def looked_up(world: World, name: str, media: str) -> None:
    world.send(asking(world.person(name).did, media))


@when(parsers.parse("the DID of {name} is looked up past every cache"))
def uncached(world: World, name: str) -> None:
    wanted = asking(world.person(name).did)
    wanted.query["noCache"] = "true"
    world.send(wanted)


@when(parsers.parse("the authentication key of {name} is looked up"))
def key(world: World, name: str) -> None:
    world.send(asking(world.person(name).created["keys"]["authentication"]["keyId"]))


@when(parsers.re(r"what follows the DID of (?P<name>\w+) is (?P<after>\S+)"))
def follows(world: World, name: str, after: str) -> None:
    world.send(asking(world.person(name).did + after))


@when(parsers.parse("the DID of {name} is looked up again with the tag that came"))
def again(world: World, name: str) -> None:
    wanted = asking(world.person(name).did)
    wanted.headers["If-None-Match"] = world.send(wanted).headers["etag"]
    world.send(wanted)


@when(parsers.re(r"the DID of (?P<name>\w+) is posted with (?P<options>(accept|service) \S+( and relativeRef \S+)?)"))
def posted(world: World, name: str, options: str) -> None:
    chosen = dict(option.split(" ") for option in options.split(" and "))
    world.send(posting(world.person(name).did, chosen))


@when(parsers.parse("the DID of {name} is posted with {after} behind it"))
def posted_url(world: World, name: str, after: str) -> None:
    world.send(posting(world.person(name).did + after, {}))


@when(parsers.parse("the DID of {name} is posted with a number for versionId"))
def posted_number(world: World, name: str) -> None:
    world.send(posting(world.person(name).did, {"versionId": 1}))


@when(parsers.parse("a stock resolver posts the DID of {name} with versionId 1"))
def stock_post(world: World, name: str) -> None:
    path = f"/1.0/identifiers/{world.person(name).did}"
    world.answer = world.http().post(path, json={"versionId": "1"})
    assert world.answer.json()["didDocumentMetadata"]["versionId"] == "1"


@when(parsers.re(r"(?P<operation_id>list\w+) is asked"))
def listed(world: World, operation_id: str) -> None:
    world.call(operation_id)


@then(parsers.re(r"it is (?P<what>a result|the document|the content) as (?P<media>\S+)"))
def form(world: World, what: str, media: str) -> None:
    assert world.answer.headers["content-type"] == media
    members = {"a result": "didDocument", "the content": "contentStream"}
    body = body_of(world.answer)
    found = body[members[what]] if what in members else body
    assert found["id"].startswith(world.person("Hana").did)


@then(parsers.parse("it leads to the service of {name}"))
def leads(world: World, name: str) -> None:
    (service,) = world.person(name).created["didDocument"]["service"]
    assert world.answer.headers["location"].startswith(service["serviceEndpoint"].rpartition("/")[0])
    assert world.answer.headers["location"].endswith("/box")
    assert world.answer.content == b""


@then("the answer lists ids and key")
def methods(world: World) -> None:
    assert {"ids", "key"} <= set(body_of(world.answer))


@then("the answer says that DIDs of ids change here")
def change(world: World) -> None:
    assert body_of(world.answer)["ids"]["mutable"] is True


@then("the answer says that did:ids supports updates")
def updates(world: World) -> None:
    traits = body_of(world.answer)["ids"]
    assert (traits["name"], traits["supportsUpdate"], traits["historySigned"]) == ("ids", True, True)


@then("each of the DIDs resolves")
def resolves(world: World) -> None:
    dids = [did for listed in body_of(world.answer).values() for did in listed]
    assert dids
    for did in dids:
        assert world.send(asking(did)).status_code == 200
