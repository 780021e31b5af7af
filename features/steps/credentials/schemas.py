"""Issuers say which attributes their credentials have."""

from __future__ import annotations

import json
import uuid
from typing import Any

from pytest_bdd import parsers, then, when

from features.credentialing import ABSENT, ATTRIBUTES, schema
from features.signing import call
from features.world import World

LONG = {f"de-x-{number}": "t" * 80 for number in range(16)}
BAD_SCHEMAS: dict[str, Any] = {
    "two attributes of one name": {"attributes": [ATTRIBUTES[0], ATTRIBUTES[0]]},
    "an attribute called id": {"attributes": [{"name": "id", "type": "string"}]},
    "an unknown type": {"attributes": [{"name": "a", "type": "float"}]},
    "a threshold outside the domain": {"attributes": [ATTRIBUTES[0] | {"allowedThresholds": [151]}]},
    "an id that is not a URI": {"id": "person", "attributes": ATTRIBUTES},
    "a title that turns the text around": {"title": "Person\u202e", "attributes": ATTRIBUTES},
    "titles of too many characters": {"attributes": [one | {"title": "t" * 80, "titles": LONG} for one in ATTRIBUTES]},
}


# When


@when(parsers.parse("{name:w} registers a schema"))
def registers(world: World, name: str) -> None:
    call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", {"attributes": ATTRIBUTES})


@when(parsers.parse("{name:w} registers a titled schema"))
def registers_titled(world: World, name: str) -> None:
    attributes = [ATTRIBUTES[0] | {"title": "Age", "titles": {"de": "Alter"}}, *ATTRIBUTES[1:]]
    body = {"title": "Person", "titles": {"pt-BR": "Pessoa"}, "attributes": attributes}
    call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", body)


@then("everybody reads the titles")
def titles_are_shown(world: World) -> None:
    titled = json.loads(world.answer.content)
    read = world.http().get(f"/api/v1/credential-schemas/{titled['id']}").json()
    assert (read["title"], read["titles"]) == ("Person", {"pt-BR": "Pessoa"})
    assert (read["attributes"][0]["title"], read["attributes"][0]["titles"]) == ("Age", {"de": "Alter"})
    assert "title" not in read["attributes"][1]


@when(parsers.parse("{name:w} registers a schema with {what}"))
def registers_bad(world: World, name: str, what: str) -> None:
    call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", BAD_SCHEMAS[what])


@when(parsers.parse("{name:w} registers the schema again"))
def registers_again(world: World, name: str) -> None:
    body = {"id": f"urn:uuid:{uuid.uuid4()}", "attributes": ATTRIBUTES}
    for _ in range(2):
        call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", body)


@when(parsers.parse("{name:w} registers a schema named by {what}"))
def registers_named(world: World, name: str, what: str) -> None:
    place = f"{world.server.url}/api/v1/dids"
    mine = "" if name == "Olu" else world.person(name).did
    ivo = world.people["Ivo"].did if "Ivo" in world.people else ""
    ids = {
        "a URL of his DID": f"{mine}#person",
        "a place of his at this service": f"{place}/{mine}/person",
        "a UUID": f"urn:uuid:{uuid.uuid4()}",
        "an address of a third party": f"https://schemas.example/{uuid.uuid4()}",
        "a URL of the DID of Ivo": f"{ivo}#person",
        "the service itself": f"{world.server.url}/schemas/person",
        "Ivo's place at this service": f"{place}/{ivo}/person",
        "a path that leaves her place": f"{place}/{mine}/../{ivo}/person",
    }
    body = {"id": ids[what], "attributes": ATTRIBUTES}
    if name == "Olu":
        made = world.model("CreateCredentialSchemaRequest", body)
        world.call("createCredentialSchema", headers=world.key_header(), body=made)
    else:
        call(world, name, "createCredentialSchema", "CreateCredentialSchemaRequest", body)


@when("Vera reads the schema")
def reads_schema(world: World) -> None:
    world.call("getCredentialSchema", schema_id=schema(world))


@when("Vera reads an unregistered schema")
def reads_no_schema(world: World) -> None:
    world.call("getCredentialSchema", schema_id=ABSENT)


@when("Vera reads the schemas one by one")
def reads_schemas(world: World) -> None:
    schema(world, ATTRIBUTES)
    schema(world, ATTRIBUTES)
    first = world.call("listCredentialSchemas", limit=1)
    world.notes["first"] = first.parsed
    world.call("listCredentialSchemas", limit=1, cursor=first.parsed.next_cursor)
