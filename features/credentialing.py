"""What stories about credentials need: Ivo the issuer, a schema, a credential of Hana's, and a good request for every operation."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from features.document import Operation
from features.formats import base64url
from features.signing import call
from features.world import DRAFTS, Draft, Person, World
from tests import servers

ABSENT = "urn:uuid:00000000-0000-4000-8000-000000000000"
BLS_TYPE = {"type": "Bls12381G2Key2020"}
BLS = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
P256 = {"type": "EcdsaSecp256r1VerificationKey2019", "purpose": ["assertionMethod"]}
ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "country", "type": "string"},
    {"name": "income", "type": "decimal", "scale": 2},
]
VALUES: dict[str, Any] = {"age": 24, "country": "Wakanda", "income": "41250.50"}


def issuer(world: World, name: str, *, held: bool = True) -> Person:
    """A person who signs credentials; ``held``: with a key that the service holds too."""
    if name not in world.people:
        world.new_person(name, {"additionalKeys": [BLS], "storeSecrets": held})
    return world.people[name]


def schema(world: World, attributes: Any = None) -> str:
    """The id of a schema; the story's own unless other attributes are asked for."""
    if attributes is None and "schema" in world.notes:
        return str(world.notes["schema"])
    body = {"id": f"https://schemas.example/{uuid.uuid4()}", "attributes": attributes or ATTRIBUTES}
    made = world.call(
        "createCredentialSchema", headers=world.key_header(), body=world.model("CreateCredentialSchemaRequest", body)
    )
    assert made.status_code == 201, made.content
    world.notes["schema"] = made.parsed.id
    return str(made.parsed.id)


def wish(world: World, by: str = "Ivo", of: str = "Hana", **changed: Any) -> dict[str, Any]:
    """What the issuer says of the holder."""
    said = {
        "issuerDid": issuer(world, by).did,
        "holderDid": world.person(of).did,
        "schemaId": schema(world),
        "attributes": VALUES,
    }
    return said | changed


def signed(world: World, by: str = "Ivo", of: str = "Hana", **changed: Any) -> dict[str, Any]:
    """The same, signed by the issuer at home: with the command, which asks no service."""
    person = issuer(world, by)
    said = wish(world, by, of, **changed)
    key = {"type": BLS["type"]} | person.created["keys"]["assertionMethod"]
    with tempfile.TemporaryDirectory() as folder:
        keys, schema_, values = (Path(folder) / name for name in ("keys", "schema", "values"))
        keys.touch(0o600)
        keys.write_text(json.dumps({"did": person.did, "keys": {"assertionMethod": key}}))
        schema_.write_text(json.dumps({"id": said["schemaId"], "attributes": ATTRIBUTES}))
        values.write_text(json.dumps(said["attributes"]))
        given = ("--keys", keys, "--schema", schema_, "--values", values, "--holder", said["holderDid"])
        done = servers.run("credential", "sign", *given)
    assert done.returncode == 0, done.stderr
    return said | json.loads(done.stdout)


def signed_for_wallet(world: World, by: str = "Ivo", of: str = "Hana") -> dict[str, Any]:
    """What the issuer asks to be imported of a credential on a secret that the holder's wallet keeps: with the commands of both."""
    ivo, hana, said = issuer(world, by), world.person(of), wish(world, by, of)
    filed = {
        "ivo": {"did": ivo.did, "keys": {"assertionMethod": BLS_TYPE | ivo.created["keys"]["assertionMethod"]}},
        "hana": {"did": hana.did, "keys": {"authentication": hana.created["keys"]["authentication"]}},
        "schema": {"id": said["schemaId"], "attributes": ATTRIBUTES},
        "values": said["attributes"],
    }
    with tempfile.TemporaryDirectory() as folder:
        at = {name: Path(folder) / name for name in (*filed, "book", "held", "message")}
        for name, value in filed.items():
            at[name].touch(0o600)
            at[name].write_text(json.dumps(value))
        key = hana.created["keys"]["authentication"]["publicKey"]
        book = ("--keys", at["ivo"], "--schema", at["schema"], "--book", at["book"])
        steps: tuple[tuple[Any, ...], ...] = (
            ("offer", *book, "--holder", hana.did, "--service", "https://id.example"),
            ("request", at["message"], "--keys", at["hana"], "--held", at["held"]),
            ("sign-request", at["message"], *book, "--values", at["values"], "--holder-key", key),
        )
        for step in steps:
            done = servers.run("credential", *step, "--json")
            assert done.returncode == 0, done.stderr
            at["message"].write_text(done.stdout)
    made = json.loads(done.stdout)
    proof, (entry,) = made["proof"], made["credentialStatus"]
    bound = {"id": made["id"], "handle": int(entry["statusListIndex"])} | {
        name: proof[name] for name in ("header", "commitment")
    }
    names = {"validFrom": made["validFrom"], "verificationMethod": proof["verificationMethod"]}
    return said | names | {"signature": proof["proofValue"], "bound": bound}


def issued(world: World, by: str = "Ivo", of: str = "Hana", **changed: Any) -> dict[str, Any]:
    """The record of a credential that the story is about from now on."""
    body = world.model("IssueCredentialRequest", wish(world, by, of, **changed))
    answer = world.call("issueCredential", headers=world.key_header(), body=body)
    assert answer.status_code == 201, answer.content
    record: dict[str, Any] = answer.parsed.to_dict()
    # Only its holder is shown the signature.
    read = call(world, of, "getCredential", credential_id=record["id"])
    assert read.status_code == 200, read.content
    record = read.parsed.to_dict()
    world.notes["credential"] = record
    return record


# Good requests


def _drafted(world: World, operation: Operation) -> Draft:
    """Return the draft of an operation. An operator sends it where a caller must be authenticated."""
    name = operation.operation_id
    draft = Draft(operation, operation.path, headers=world.key_header() if operation.schemes else {})
    if "{credentialId}" in operation.path:
        draft.path = operation.path.replace("{credentialId}", issued(world)["id"])
    if "{schemaId}" in operation.path:
        draft.path = operation.path.replace("{schemaId}", quote(schema(world), safe=""))
    if "{statusListId}" in operation.path:
        # A new issuer's list, which no client has requested yet.
        world.people.pop("Ivo", None)
        draft.path = operation.path.replace("{statusListId}", list_name(issued(world)))
    if "{gapListId}" in operation.path:
        list_id, epoch = gap_list(issued(world, suite=2))
        digest = ""
        if "{digest}" in operation.path:
            place = f"/api/v1/status-gaps/{list_id}/{epoch}"
            manifest = world.http().get(place, headers=world.key_header())
            digest = manifest.json()["shards"][0]
            if name == "getStatusGapsProof":
                digest = base64url(hashlib.sha256(manifest.content).digest())
        draft.path = operation.path.format(gapListId=list_id, epoch=epoch, digest=digest)
    if name == "listCredentials":
        draft.query = {"holderDid": world.person("Hana").did}
    bodies: dict[str, Callable[[], dict[str, Any]]] = {
        "createCredentialSchema": lambda: {"id": f"urn:uuid:{uuid.uuid4()}", "attributes": ATTRIBUTES},
        "issueCredential": lambda: wish(world),
        "importCredential": lambda: signed(world),
        "setCredentialStatus": lambda: {"purpose": "suspension", "value": True, "reason": "lost"},
        "verifyCredential": lambda: {"credential": issued(world)["credential"]},
    }
    if name in bodies:
        draft.body = bodies[name]()
    return draft


def list_name(record: dict[str, Any], purpose: int = 0) -> str:
    """The name of the list of a credential; 0 is revocation, 1 suspension."""
    address: str = record["credential"]["credentialStatus"][purpose]["statusListCredential"]
    return address.rpartition("/")[2]


def gap_list(record: dict[str, Any]) -> tuple[str, int]:
    """The name of a bound credential's list of signed gaps, and the epoch of today."""
    address: str = record["credential"]["credentialStatus"][-1]["statusListCredential"]
    return address.rpartition("/")[2], int(time.time()) // 86_400


for _name in (
    "createCredentialSchema", "listCredentialSchemas", "getCredentialSchema", "issueCredential", "importCredential",
    "listCredentials", "getCredential", "setCredentialStatus", "verifyCredential", "getStatusList",
    "getStatusGaps", "getStatusGapShard", "getStatusGapsProof",
):  # fmt: skip
    DRAFTS[_name] = _drafted
