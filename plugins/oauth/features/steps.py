"""Access tokens: the clients that get one, its content, and the operations that it permits."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from nacl.signing import VerifyKey
from pytest_bdd import given, parsers, then, when

from features.world import PREFIX, World
from identity_client import hash_body


def part(token: str, place: int) -> bytes:
    """A decoded part of a compact JWT."""
    text = token.split(".")[place]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def ask(world: World, headers: dict[str, str], body: dict[str, Any]) -> Any:
    return world.call("issueToken", headers=headers, body=world.model("IssueTokenRequest", body))


def with_key(world: World, name: str) -> dict[str, str]:
    return {"Authorization": f"ApiKey {world.notes[name][0]}"}


@given(parsers.parse("{name} has a token"))
def has_token(world: World, name: str) -> None:
    signs(world, name)
    world.notes[f"token of {name}"] = world.answer.parsed.access_token


@given(parsers.parse("{name} has a token of the key"))
def has_key_token(world: World, name: str) -> None:
    answer = ask(world, with_key(world, name), {})
    world.notes[f"token of {name}"] = answer.parsed.access_token


@when(parsers.parse("{name} signs for a token"))
def signs(world: World, name: str) -> None:
    ask(world, world.signed(world.person(name), "issueToken", {}), {})


@when(parsers.parse("{name} asks for two challenges that she will name and signs for a token with the second"))
def signs_by_name(world: World, name: str) -> None:
    person, digest = world.person(name), hash_body({})
    asked = [world.challenge(person.did, purpose="token", body_hash=digest, named=True) for _ in range(2)]
    assert asked[0] != asked[1]
    ask(world, {"Authorization": person.signer().header(asked[1], purpose="token", digest=digest, named=True)}, {})


@when(parsers.parse("{name} signs for a token with a challenge for the target {target}"))
def signs_for_a_target(world: World, name: str, target: str) -> None:
    person, digest = world.person(name), hash_body({})
    text = world.challenge(person.did, purpose="token", body_hash=digest, target=target, named=True)
    bound = {"purpose": "token", "digest": digest, "target": target, "named": True}
    ask(world, {"Authorization": person.signer().header(text, **bound)}, {})


@when(parsers.parse("{name} sends one signature for a token twice"))
def signs_twice(world: World, name: str) -> None:
    signed = world.signed(world.person(name), "issueToken", {})
    ask(world, signed, {})
    ask(world, signed, {})


@when(parsers.parse("a token is asked for with the API key as {form}"))
def asks_as(world: World, form: str) -> None:
    key = world.server.api_key
    ask(world, {form: key} if form == "X-API-Key" else {"Authorization": f"{form} {key}"}, {})


@when(parsers.parse("{name} asks with an admin key for a token that acts for {whom}"))
def asks_for_whom(world: World, name: str, whom: str) -> None:
    ask(world, world.key_header(), {"grant_type": "client_credentials", "subject": world.person(whom).did})


@when(parsers.parse("{name} asks with it for a token with the scope {scope}"))
def asks_scope(world: World, name: str, scope: str) -> None:
    ask(world, with_key(world, name), {"scope": scope})


@when(parsers.parse("{name} asks with it for a token that acts for {whom}"))
def asks_with_it(world: World, name: str, whom: str) -> None:
    ask(world, with_key(world, name), {"subject": world.person(whom).did})


@when(parsers.re(r'a token is asked for with (?P<member>\w+) "(?P<value>[^"]*)"'))
def asks_member(world: World, member: str, value: str) -> None:
    draft = world.draft("issueToken")
    draft.body = {member: value}
    world.send(draft)


@when(parsers.parse("{operation_id} is sent with the token of {name}"))
def sent_with_token(world: World, operation_id: str, name: str) -> None:
    draft = world.draft(operation_id)
    draft.headers["Authorization"] = f"Bearer {world.notes[f'token of {name}']}"
    world.send(draft)


@when("the keys of the tokens are asked for")
def keys(world: World) -> None:
    world.call("getJwks")


@then(parsers.parse("the token is about the DID of {name} and ends in ten minutes"))
def about(world: World, name: str) -> None:
    said = json.loads(part(world.answer.parsed.access_token, 1))
    did = world.person(name).did
    assert (said["sub"], said["client_id"]) == (did, did)
    assert said["iss"] == said["aud"] == world.server.url
    assert said["exp"] - said["iat"] == world.answer.parsed.expires_in == 600
    assert "act" not in said


@then(parsers.parse("the token is about the DID of {name} and names {operator} as the actor"))
def acts(world: World, name: str, operator: str) -> None:
    said = json.loads(part(world.answer.parsed.access_token, 1))
    assert said["sub"] == world.person(name).did
    assert said["act"] == {"sub": said["client_id"]}
    assert said["client_id"].startswith("key:")


@then("the token verifies with a key of the service")
def verifies(world: World) -> None:
    token = world.answer.parsed.access_token
    header = json.loads(part(token, 0))
    assert header["typ"] == "at+jwt"
    jwks = world.http().get("/.well-known/jwks.json").json()
    (key,) = [one for one in jwks["keys"] if one["kid"] == header["kid"]]
    public = base64.urlsafe_b64decode(key["x"] + "=")
    VerifyKey(public).verify(token.rpartition(".")[0].encode(), part(token, 2))


@then("there are two Ed25519 keys")
def two_keys(world: World) -> None:
    shown = world.answer.parsed.to_dict()["keys"]
    assert [(key["kty"], key["crv"], key["use"]) for key in shown] == [("OKP", "Ed25519", "sig")] * 2
    assert len({key["kid"] for key in shown}) == 2
    assert not any("d" in key for key in shown)


@then(parsers.re(r"the same keys stand at (?P<path>\S+)"))
def same_keys(world: World, path: str) -> None:
    assert world.http().get(path).json() == world.answer.parsed.to_dict()
    assert world.answer.headers["cache-control"] == "public, max-age=300"


@then(parsers.re(r"(?P<path>\S+) names the origin of the service as (?P<member>\w+)"))
def names_origin(world: World, path: str, member: str) -> None:
    # Whatever the Host header says: who could choose the issuer could choose the keys.
    found = world.http().get(path, headers={"Host": "evil.example"}).json()
    assert found[member] == world.server.url
    assert "evil" not in json.dumps(found)
    if "jwks_uri" in found:
        assert found["jwks_uri"] == world.server.url + "/.well-known/jwks.json"
        assert found["token_endpoint"] == f"{world.server.url}/oauth/token"


@then("the challenge of an operation that takes tokens leads to the metadata of the interface")
def leads_to_metadata(world: World) -> None:
    refused = world.http().get(f"{PREFIX}/delegations")
    assert refused.status_code == 401
    place = re.search(r'Bearer realm="identity", resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
    assert place is not None
    assert place[1] == f"{world.server.url}/.well-known/oauth-protected-resource{PREFIX}"
    found = world.http().get(place[1]).json()
    assert found["resource"] == world.server.url + PREFIX
    assert found["authorization_servers"] == [world.server.url]
