"""Operators and their API keys."""

from __future__ import annotations

from pytest_bdd import given, parsers, when

from features.world import World

SCOPES = {"list DIDs": "dids:list", "create DIDs": "dids:create", "read the state of the service": "service:read"}


@given(parsers.parse("{name} has an API key that may only {what}"))
def scoped(world: World, name: str, what: str) -> None:
    body = world.model("CreateApiKeyRequest", {"name": name, "scopes": [SCOPES[what]]})
    answer = world.call("createApiKey", headers=world.key_header(), body=body)
    assert answer.status_code == 201, answer.content
    world.notes[name] = (answer.parsed.api_key, answer.parsed.record.id)


@given(parsers.parse("the key of {name} was revoked"))
def revoked(world: World, name: str) -> None:
    answer = world.call("revokeApiKey", headers=world.key_header(), key_id=world.notes[name][1])
    assert answer.status_code == 200, answer.content


@given(parsers.parse("the key of {name} was rotated with an hour of grace"))
def rotated(world: World, name: str) -> None:
    body = world.model("RotateApiKeyRequest", {"graceSeconds": 3600})
    answer = world.call("rotateApiKey", headers=world.key_header(), key_id=world.notes[name][1], body=body)
    assert answer.status_code == 201, answer.content


@when(parsers.parse("{name} sends {operation_id} with it"))
def sends(world: World, name: str, operation_id: str) -> None:
    draft = world.draft(operation_id)
    draft.headers["Authorization"] = f"ApiKey {world.notes[name][0]}"
    world.send(draft)


@when(parsers.parse("{operation_id} is asked for an unknown key"))
def unknown(world: World, operation_id: str) -> None:
    draft = world.draft(operation_id)
    draft.path = draft.operation.path.replace("{keyId}", "key_nobody")
    world.send(draft)
