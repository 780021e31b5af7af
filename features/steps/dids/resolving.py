"""Anybody resolves a DID, and is told when there is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from pytest_bdd import parsers, then, when

from features.approving import WITNESSES, approval
from features.document import operation
from features.steps.answers import body_of
from features.steps.dids import UNKNOWN
from features.world import Draft, World

# When


@when(parsers.parse("Vera resolves the DID of {name}"))
def resolves(world: World, name: str) -> None:
    world.call("resolveDid", did=world.person(name).did)


@when(parsers.parse("Vera resolves version {version:d} of the DID of {name}"))
def resolves_version(world: World, version: int, name: str) -> None:
    world.call("resolveDid", did=world.person(name).did, version_id=version)


@when(parsers.parse("Vera resolves the DID of {name} as {media}"))
def resolves_as(world: World, name: str, media: str) -> None:
    did = quote(world.person(name).did, safe="")
    world.send(Draft(operation("resolveDid"), f"/dids/{did}", headers={"Accept": media}))


@when(parsers.parse("Vera resolves the DID of {name} at its first second"))
def resolves_at(world: World, name: str) -> None:
    person = world.person(name)
    created = world.call("resolveDid", did=person.did).parsed.did_document_metadata.created
    world.call("resolveDid", did=person.did, version_time=created)


@when(parsers.parse("Vera resolves the DID of {name} a year before it was made"))
def resolves_before(world: World, name: str) -> None:
    world.call("resolveDid", did=world.person(name).did, version_time=datetime.now(UTC) - timedelta(days=366))


@when(parsers.parse("Vera resolves the DID of {name} again with the tag that she got"))
def resolves_again(world: World, name: str) -> None:
    did = world.person(name).did
    tag = world.call("resolveDid", did=did).headers["etag"]
    world.call("resolveDid", did=did, if_none_match=tag)


@when(parsers.re(r"(?P<operation_id>\w+) is asked for (?P<which>the DID did:\S+|an unregistered DID)"))
def asked_for(world: World, operation_id: str, which: str) -> None:
    did = UNKNOWN if which == "an unregistered DID" else which.removeprefix("the DID ")
    found = operation(operation_id)
    path = found.path.replace("{identifier}", "{did}")
    draft = Draft(found, path.replace("{did}", quote(did, safe="")))
    if operation_id == "getDidAuthChallenge":
        draft.query["did"] = did
    if found.has_body:
        draft.body = {"confirm": True} if operation_id == "deactivateDid" else world.body_for(
            operation_id, world.person("Hana")
        )  # fmt: skip
    if operation_id == "approveDidVersion":
        draft.body = approval("1-Qm", WITNESSES["Wendy"])
    world.send(draft)


@when(parsers.re(r"(?P<operation_id>\w+) is asked for the DID of (?P<name>\w+)"))
def asked_for_person(world: World, operation_id: str, name: str) -> None:
    asked_for(world, operation_id, world.person(name).did)


# Then


@then(parsers.parse("the document is version {version:d}"))
def is_version(world: World, version: int) -> None:
    body = body_of(world.answer)
    found = body.get("versionId") or body["didDocumentMetadata"]["versionId"]
    assert int(found) == version


@then(parsers.parse("the document has {count:d} services"))
def services(world: World, count: int) -> None:
    assert len(body_of(world.answer)["didDocument"].get("service", [])) == count


@then(parsers.parse("the bare document comes back as {media}"))
def bare(world: World, media: str) -> None:
    assert body_of(world.answer)["id"].startswith("did:ids:")
    assert world.answer.headers["content-type"] == media


@then("a W3C resolution result comes back")
def w3c(world: World) -> None:
    body = body_of(world.answer)
    assert body["didResolutionMetadata"]["contentType"] == "application/did"
    assert body["didDocumentMetadata"]["versionId"] == "1"


@then("the refusal carries the document of that version")
def gone_with_document(world: World) -> None:
    body = body_of(world.answer)
    assert body["didDocument"]["verificationMethod"]
    assert body["didDocumentMetadata"]["deactivated"] is True
