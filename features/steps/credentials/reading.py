"""Who reads which credentials, and what of them."""

from __future__ import annotations

from pytest_bdd import given, parsers, then, when

from features.credentialing import ABSENT, ATTRIBUTES
from features.signing import call
from features.steps.answers import body_of
from features.world import World


def operator(world: World, name: str, targets: list[str] | None, scopes: list[str]) -> None:
    """A key for the stories; ``targets`` None may act for anybody."""
    wanted = {"name": name, "scopes": scopes, "allowedTargets": targets}
    body = world.model("CreateApiKeyRequest", wanted)
    made = world.call("createApiKey", headers=world.key_header(), body=body)
    world.notes[name] = (made.parsed.api_key, made.parsed.record.id)


# Given


@given(parsers.parse("{name:w} has an API key for the DID of {whom:w}"))
def key_for(world: World, name: str, whom: str) -> None:
    operator(world, name, [world.person(whom).did], ["credentials:read", "credentials:write"])


@given(parsers.parse("{name:w} has an API key for anybody"))
def key_for_all(world: World, name: str) -> None:
    operator(world, name, None, ["credentials:read", "credentials:write"])


# When


@when(parsers.parse("{name:w} reads the credential"))
def reads(world: World, name: str) -> None:
    call(world, name, "getCredential", credential_id=world.notes["credential"]["id"])


@when(parsers.parse("{name:w} reads an unknown credential"))
def reads_nothing(world: World, name: str) -> None:
    call(world, name, "getCredential", credential_id=ABSENT)


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


# Then


@then(parsers.re(r"the signature (?P<there>is|is not) in it"))
def signature_shown(world: World, there: str) -> None:
    assert ("proofValue" in body_of(world.answer)["credential"]["proof"]) is (there == "is")


@then(parsers.re(r"the holder's commitment (?P<there>is|is not) in it"))
def commitment_shown(world: World, there: str) -> None:
    assert ("commitment" in body_of(world.answer)["credential"]["proof"]) is (there == "is")


@then("the record is there and the values are not")
def metadata(world: World) -> None:
    body = body_of(world.answer)
    assert body["credential"] is None
    assert body["attributeNames"] == [attribute["name"] for attribute in ATTRIBUTES]
    no_value(world)


@then("no value is in it")
def no_value(world: World) -> None:
    assert b"Wakanda" not in world.answer.content
    assert b"41250" not in world.answer.content
