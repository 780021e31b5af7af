"""Issuers say what holders are; verifiers check it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_bdd import given, parsers, then, when

from features.credentialing import ATTRIBUTES, NOBODY, VALUES, issued, issuer, list_name, schema, signed, wish
from features.delegating import remember
from features.signing import call
from features.steps.answers import body_of
from features.steps.dids import UNKNOWN
from features.world import World
from identity_core.codec import multibase
from identity_core.domain import status_list, times
from identity_core.domain.log import entry

MALFORMED: dict[str, dict[str, Any]] = {
    "a fraction for an integer": {"age": 24.5},
    "a text for an integer": {"age": "24"},
    "an age beyond the schema": {"age": 151},
    "more digits than the scale": {"income": "1.505"},
    "no value for an attribute": {"age": ...},
    "an attribute that the schema does not have": {"height": 180},
}
BAD_SCHEMAS: dict[str, Any] = {
    "two attributes of one name": {"attributes": [ATTRIBUTES[0], ATTRIBUTES[0]]},
    "an attribute called id": {"attributes": [{"name": "id", "type": "string"}]},
    "an unknown type": {"attributes": [{"name": "a", "type": "float"}]},
    "a threshold outside the domain": {"attributes": [ATTRIBUTES[0] | {"allowedThresholds": [151]}]},
    "an id that is no URI": {"id": "person", "attributes": ATTRIBUTES},
}
STATUS = {"revokes": ("revocation", True), "suspends": ("suspension", True), "resumes": ("suspension", False)}
PAST = {"revoked": "revokes", "suspended": "suspends"}
UNREVOKES = ("revocation", False)


def values(**changed: Any) -> dict[str, Any]:
    return {name: value for name, value in (VALUES | changed).items() if value is not ...}


def change(world: World, name: str, verb: str, credential_id: str = "") -> Any:
    purpose, value = UNREVOKES if verb == "unrevokes" else STATUS[verb]
    body = {"purpose": purpose, "value": value, "reason": "a story"}
    one = credential_id or world.notes["credential"]["id"]
    return call(world, name, "setCredentialStatus", "SetCredentialStatusRequest", body, credential_id=one)


def verify(world: World, credential: dict[str, Any]) -> None:
    body = world.model("VerifyCredentialRequest", {"credential": credential})
    world.call("verifyCredential", body=body)


def in_days(days: float) -> str:
    return times.printed(datetime.now(UTC) + timedelta(days=days))


def operator(world: World, name: str, targets: list[str] | None, scopes: list[str]) -> None:
    """A key for the stories; ``targets`` None may act for anybody."""
    wanted = {"name": name, "scopes": scopes, "allowedTargets": targets}
    body = world.model("CreateApiKeyRequest", wanted)
    made = world.call("createApiKey", headers=world.key_header(), body=body)
    world.notes[name] = (made.parsed.api_key, made.parsed.record.id)


# Given


@given(parsers.parse("{by:w} has issued a credential to {of:w}"))
def has_issued(world: World, by: str, of: str) -> None:
    issued(world, by, of)


@given(parsers.parse("{name:w} has {done:w} the credential"))
def has_changed(world: World, name: str, done: str) -> None:
    assert change(world, name, PAST[done]).status_code == 200


@given(parsers.parse("{name:w} keeps her keys to herself"))
def keeps(world: World, name: str) -> None:
    issuer(world, name, held=False)


@given(parsers.parse("{holder:w} lets {agent:w} act at level {level:d}"))
def delegates(world: World, holder: str, agent: str, level: int) -> None:
    remember(world, holder, agent, autonomyLevel=level)


@given(parsers.parse("{name:w} has an API key for the DID of {whom:w}"))
def key_for(world: World, name: str, whom: str) -> None:
    operator(world, name, [world.person(whom).did], ["credentials:read", "credentials:write"])


@given(parsers.parse("{name:w} has an API key for anybody"))
def key_for_all(world: World, name: str) -> None:
    operator(world, name, None, ["credentials:read", "credentials:write"])


# When


@when(parsers.parse("{name:w} registers a schema"))
def registers(world: World, name: str) -> None:
    call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", {"attributes": ATTRIBUTES})


@when(parsers.parse("{name:w} registers a schema with {what}"))
def registers_bad(world: World, name: str, what: str) -> None:
    call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", BAD_SCHEMAS[what])


@when(parsers.parse("{name:w} registers the schema again"))
def registers_again(world: World, name: str) -> None:
    body = {"id": schema(world), "attributes": ATTRIBUTES}
    call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", body)


@when("Vera reads the schema")
def reads_schema(world: World) -> None:
    world.call("getCredentialSchema", schema_id=schema(world))


@when("Vera reads a schema that nobody registered")
def reads_no_schema(world: World) -> None:
    world.call("getCredentialSchema", schema_id=NOBODY)


@when("Vera reads the schemas one by one")
def reads_schemas(world: World) -> None:
    schema(world, ATTRIBUTES)
    schema(world, ATTRIBUTES)
    first = world.call("listCredentialSchemas", limit=1)
    world.notes["first"] = first.parsed
    world.call("listCredentialSchemas", limit=1, cursor=first.parsed.next_cursor)


@when(parsers.parse("{by:w} issues a credential to {of:w}"))
def issues(world: World, by: str, of: str) -> None:
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of))


@when(parsers.parse("{by:w} issues a credential to {of:w} with {what}"))
def issues_bad(world: World, by: str, of: str, what: str) -> None:
    changed: dict[str, Any]
    if what in MALFORMED:
        changed = {"attributes": values(**MALFORMED[what])}
    else:
        changed = {
            "a schema that nobody registered": {"schemaId": NOBODY},
            "an end in the past": {"validUntil": in_days(-1)},
        }[what]
    call(world, by, "issueCredential", "IssueCredentialRequest", wish(world, by, of, **changed))


@when(parsers.parse("{by:w} imports a credential of {of:w} that she signed at home"))
@when(parsers.parse("{by:w} imports a credential of {of:w} that he signed at home"))
def imports(world: World, by: str, of: str) -> None:
    call(world, by, "importCredential", "ImportCredentialRequest", signed(world, by, of))


@when(parsers.parse("{by:w} imports a credential of {of:w} with {what}"))
def imports_bad(world: World, by: str, of: str, what: str) -> None:
    changed: dict[str, dict[str, Any]] = {
        "values that were not signed": {"attributes": values(age=25)},
        "a signature of nobody": {"signature": multibase.base64url_encode(bytes(80))},
        "a key of somebody else": {
            "verificationMethod": issuer(world, "Mallory").created["keys"]["assertionMethod"]["keyId"]
        },
        "a schema that nobody registered": {"schemaId": NOBODY},
    }
    body = signed(world, by, of) | changed[what]
    call(world, by, "importCredential", "ImportCredentialRequest", body)


@when(parsers.re(r"(?P<operation_id>issueCredential|importCredential) names (?P<what>.+) as (?P<role>holder|issuer)"))
def names(world: World, operation_id: str, what: str, role: str) -> None:
    draft = world.draft(operation_id)
    if what == "a DID that is deactivated":
        person = world.new_person("Late")
        body = {"confirm": True, "reason": "over"}
        headers = world.signed(person, "deactivateDid", body)
        world.call("deactivateDid", headers=headers, did=person.did, body=world.model("DeactivateDidRequest", body))
        did = person.did
    else:
        did = {"no DID": "did:ids:short", "a DID that nobody has": UNKNOWN}[what]
    draft.body[f"{role}Did"] = did
    world.send(draft)


@when(parsers.parse("{name:w} reads the credential"))
def reads(world: World, name: str) -> None:
    call(world, name, "getCredential", credential_id=world.notes["credential"]["id"])


@when(parsers.parse("{name:w} reads a credential that nobody has"))
def reads_nothing(world: World, name: str) -> None:
    call(world, name, "getCredential", credential_id=NOBODY)


@when(parsers.parse("{name:w} reads the credential with the key"))
def reads_with_key(world: World, name: str) -> None:
    headers = {"Authorization": f"ApiKey {world.notes[name][0]}"}
    world.call("getCredential", headers=headers, credential_id=world.notes["credential"]["id"])


@when(parsers.parse("{name:w} lists credentials"))
def lists(world: World, name: str) -> None:
    call(world, name, "listCredentials")


@when(parsers.parse("{name:w} lists credentials one by one"))
def lists_pages(world: World, name: str) -> None:
    first = call(world, name, "listCredentials", limit=1)
    world.notes["first"] = first.parsed
    call(world, name, "listCredentials", limit=1, cursor=first.parsed.next_cursor)


@when(parsers.parse("{name:w} lists the credentials of {whom:w} with the key"))
def lists_with_key(world: World, name: str, whom: str) -> None:
    headers = {"Authorization": f"ApiKey {world.notes[name][0]}"}
    world.call("listCredentials", headers=headers, holder_did=world.person(whom).did)


@when(parsers.parse("listCredentials is asked for {what}"))
def lists_strangely(world: World, what: str) -> None:
    draft = world.draft("listCredentials")
    draft.query = {"everybody's": {}, "no DID": {"holderDid": "hana"}, "a made-up page": {"cursor": "bm93aGVyZQ"}}[what]
    world.send(draft)


@when(parsers.re(r"(?P<name>\w+) (?P<verb>revokes|suspends|resumes|unrevokes) the credential"))
def changes(world: World, name: str, verb: str) -> None:
    change(world, name, verb)


@when(parsers.parse("{name:w} revokes a credential that nobody has"))
def revokes_nothing(world: World, name: str) -> None:
    change(world, name, "revokes", NOBODY)


@when(parsers.parse("the purpose of a status is {purpose:w}"))
def strange_purpose(world: World, purpose: str) -> None:
    draft = world.draft("setCredentialStatus")
    draft.body["purpose"] = purpose
    world.send(draft)


@when("Vera verifies the credential")
def verifies(world: World) -> None:
    verify(world, world.notes["credential"]["credential"])


@when(parsers.parse("Vera verifies the credential with another {member:w}"))
def verifies_changed(world: World, member: str) -> None:
    shown = world.notes["credential"]["credential"]
    subject = shown["credentialSubject"]
    changed = {
        "age": {"credentialSubject": subject | {"age": 25}},
        "holder": {"credentialSubject": subject | {"id": world.person("Mallory").did}},
        "id": {"id": NOBODY},
        "member": {"evidence": "none"},
    }[member]
    verify(world, shown | changed)


@when("Vera reads the status list")
def reads_list(world: World) -> None:
    world.call("getStatusList", status_list_id=list_name(world.notes["credential"]))


@when("Vera reads the status list again with the tag that she got")
def reads_list_again(world: World) -> None:
    name = list_name(world.notes["credential"])
    tag = world.call("getStatusList", status_list_id=name).headers["etag"]
    world.call("getStatusList", status_list_id=name, if_none_match=tag)


@when(parsers.parse("Vera asks for the status list {name}"))
def reads_no_list(world: World, name: str) -> None:
    world.call("getStatusList", status_list_id=name)


# Then


@then("the credential says what was asked for")
def says(world: World) -> None:
    shown = body_of(world.answer)["credential"]
    assert shown["credentialSubject"] == {"id": world.people["Hana"].did, **VALUES}
    assert [one["statusPurpose"] for one in shown["credentialStatus"]] == ["revocation", "suspension"]
    world.notes["credential"] = body_of(world.answer)


@then("no value is in it")
def no_value(world: World) -> None:
    assert b"Wakanda" not in world.answer.content
    assert b"41250" not in world.answer.content


@then("the record is there and the values are not")
def metadata(world: World) -> None:
    body = body_of(world.answer)
    assert body["credential"] is None
    assert body["attributeNames"] == [attribute["name"] for attribute in ATTRIBUTES]
    no_value(world)


@then(parsers.parse("the status is {status:w}"))
def has_status(world: World, status: str) -> None:
    assert body_of(world.answer)["status"] == status


@then(parsers.parse("the verdict is {outcome} by {check:w}"))
def verdict(world: World, outcome: str, check: str) -> None:
    body = body_of(world.answer)
    last = body["checks"][-1]
    assert (body["verified"], last["check"], last["ok"]) == (False, check, False)
    assert last["code"] == outcome
    no_value(world)


@then("the verdict is good")
def good(world: World) -> None:
    body = body_of(world.answer)
    assert body["verified"] is True
    assert [check["ok"] for check in body["checks"]] == [True] * 7


@then(parsers.parse("{count:d} bits of the list are set, that of the credential among them"))
@then(parsers.parse("{count:d} bit of the list is set, that of the credential"))
def bits(world: World, count: int) -> None:
    places = status_list.decoded(body_of(world.answer)["credentialSubject"]["encodedList"])
    place = int(world.notes["credential"]["credential"]["credentialStatus"][0]["statusListIndex"])
    assert len(places) == count
    assert count == 0 or place in places


@then("the list is signed by the key that DID logs name")
def list_signed(world: World) -> None:
    document = body_of(world.answer)
    log = world.call("getDidLog", did=world.people["Ivo"].did)
    (key,) = entry.parse(log.content.splitlines()[0]).parameters["updateKeys"]
    proof = document.pop("proof")
    assert entry.check_proof(proof, document, [key]) == key
    assert document["issuer"] == f"did:key:{key}"
