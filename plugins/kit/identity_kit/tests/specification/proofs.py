"""Steps on delegated proofs and their anchors, with the plain client."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from typing import Any

from pytest_bdd import given, parsers, then, when

from identity_kit.tests.specification.plain_client import Controller, PlainClient, sign_ibct
from identity_kit.tests.specification.story import PlainStory, format_time

BLS_KEY = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
ATTRIBUTES = [{"name": "age", "type": "integer", "minimum": 0, "maximum": 150}, {"name": "country", "type": "string"}]
VALUES = {"age": 24, "country": "CZ"}
PREDICATES: dict[str, tuple[str, Any, Any]] = {
    "gte": ("age", 24, 25),
    "gt": ("age", 23, 24),
    "lte": ("age", 24, 23),
    "lt": ("age", 25, 24),
    "eq": ("country", "CZ", "SK"),
    "set_member": ("country", ["CZ", "SK"], ["DE", "FR"]),
}
"""Predicate type: attribute, a value that holds, a value that does not hold."""


@dataclass
class Parties:
    """Holder and agent of a delegated proof, with the credential and the delegation."""

    holder: Controller
    agent: Controller
    credential_id: str
    delegation_id: str


def create_parties(client: PlainClient, autonomy_level: int) -> Parties:
    """Create what a proof needs: three DIDs, a schema, a credential and a delegation."""
    plain_did = {"method": "ids", "keyType": "Ed25519"}
    issuer = client.create_did(plain_did | {"options": {"additionalKeys": [BLS_KEY], "storeSecrets": True}})
    holder, agent = client.create_did(plain_did), client.create_did(plain_did)
    schema = {"id": f"https://schemas.example/{uuid.uuid4()}", "attributes": ATTRIBUTES}
    client.request_as_operator("POST", "/credential-schemas", schema)
    credential = {"issuerDid": issuer.did, "holderDid": holder.did, "schemaId": schema["id"], "attributes": VALUES}
    credential_id = client.request_as_operator("POST", "/credentials", credential)["id"]
    delegation = {
        "holderDid": holder.did,
        "agentDid": agent.did,
        "actions": ["zkp.prove.age.*", "zkp.prove.country.*"],
        "autonomyLevel": autonomy_level,
        "expiresAt": format_time(30),
    }
    delegation_id = client.request_as_operator("POST", "/delegations", delegation)["id"]
    return Parties(holder, agent, credential_id, delegation_id)


def build_proof_request(
    parties: Parties, type_: str, *, holds: bool = True, changes: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return a request of the five required members. ``changes`` replace members of the IBCT before it is signed."""
    attribute, true_value, false_value = PREDICATES[type_]
    ibct = {
        "id": f"urn:uuid:{uuid.uuid4()}",
        "type": "InvocationBoundCapabilityToken",
        "invoker": parties.holder.did,
        "target": parties.agent.did,
        "action": f"zkp.prove.{attribute}.{type_}",
        "delegationRef": parties.delegation_id,
        "nonce": secrets.token_urlsafe(24),
        "issuedAt": format_time(-1 / 1440),
        "expiresAt": format_time(1 / 24),
    } | (changes or {})
    return {
        "holderDid": parties.holder.did,
        "agentDid": parties.agent.did,
        "credentialId": parties.credential_id,
        "predicate": {"attributeName": attribute, "type": type_, "value": true_value if holds else false_value},
        "ibct": sign_ibct(ibct, parties.holder.key),
    }


def send_proof(plain: PlainStory, body: dict[str, Any], authorization: str | None = None) -> None:
    """Send the request; by default the ``Authorization`` header is the bearer form of the API key."""
    header = authorization or f"Bearer {plain.client.api_key}"
    plain.response = plain.client.request("POST", "/zkp/delegated-proofs", body, Authorization=header)


def get_parties(plain: PlainStory) -> Parties:
    """Return the parties of the scenario."""
    parties: Parties = plain.notes["parties"]
    return parties


@given("the plain client has a credential and a delegation")
def have_parties(plain: PlainStory) -> None:
    plain.notes["parties"] = create_parties(plain.client, 5)


@given("the plain client has a delegation with autonomy level 0")
def have_low_autonomy(plain: PlainStory) -> None:
    plain.notes["parties"] = create_parties(plain.client, 0)


@when(parsers.re(r"the plain client requests a (?P<type_>\w+) proof that (?P<result>holds|does not hold)"))
def request_proof(plain: PlainStory, type_: str, result: str) -> None:
    send_proof(plain, build_proof_request(get_parties(plain), type_, holds=result == "holds"))


@when(parsers.re(r"the plain client requests a proof with (?P<credential>.+) in Authorization"))
def request_with_credential(plain: PlainStory, credential: str) -> None:
    parties = get_parties(plain)
    if credential == "DIDAuth of the agent":
        header = plain.client.authorize(parties.agent.did, parties.agent.key)
    elif credential == "DIDAuth of a stranger":
        stranger = plain.client.create_did({"method": "ids", "keyType": "Ed25519"})
        header = plain.client.authorize(stranger.did, stranger.key)
    else:
        header = credential.replace("KEY", plain.client.api_key)
    send_proof(plain, build_proof_request(parties, "gte"), header)


@when("the plain client requests a proof without Authorization")
def request_unsigned(plain: PlainStory) -> None:
    body = build_proof_request(get_parties(plain), "gte")
    plain.response = plain.client.request("POST", "/zkp/delegated-proofs", body)


@when(parsers.re(r"the plain client requests a proof whose IBCT has another (?P<member>\w+)"))
def request_with_changed_ibct(plain: PlainStory, member: str) -> None:
    parties = get_parties(plain)
    others = {
        "type": "AnotherToken",
        "invoker": parties.agent.did,
        "target": parties.holder.did,
        "action": "zkp.prove.country.eq",
        "delegationRef": str(uuid.uuid4()),
    }
    body = build_proof_request(parties, "gte", changes={} if member == "proofValue" else {member: others[member]})
    if member == "proofValue":
        body["ibct"] = sign_ibct(body["ibct"], parties.agent.key)
    send_proof(plain, body)


@when(parsers.re(r"the plain client requests a proof without the member (?P<member>\w+)(?: of (?P<part>\w+))?"))
def request_without_member(plain: PlainStory, member: str, part: str | None) -> None:
    body = build_proof_request(get_parties(plain), "gte")
    del (body[part] if part else body)[member]
    send_proof(plain, body)


@when("the plain client requests a proof with an expired IBCT")
def request_with_expired(plain: PlainStory) -> None:
    times = {"issuedAt": format_time(-2), "expiresAt": format_time(-1)}
    send_proof(plain, build_proof_request(get_parties(plain), "gte", changes=times))


@when("the plain client requests a proof with a revoked IBCT")
def request_with_revoked(plain: PlainStory) -> None:
    parties = get_parties(plain)
    body = build_proof_request(parties, "gte")
    revocation = {"invoker": parties.holder.did, "id": body["ibct"]["id"]}
    plain.client.request_as_operator("POST", "/ibcts/revoke", revocation)
    send_proof(plain, body)


@when("the plain client requests a proof of an unknown credential")
def request_unknown_credential(plain: PlainStory) -> None:
    body = build_proof_request(get_parties(plain), "gte") | {"credentialId": f"urn:uuid:{uuid.uuid4()}"}
    send_proof(plain, body)


@when(parsers.re(r"the plain client requests an anchored proof(?: and waits (?P<wait>\d+) ms)?"))
def request_anchored(plain: PlainStory, wait: str | None) -> None:
    body = build_proof_request(get_parties(plain), "gte") | {"anchor": True}
    send_proof(plain, body | ({"syncWaitMs": int(wait)} if wait else {}))


@when("the plain client requests an anchored proof while anchoring is off")
def request_disabled_anchor(plain: PlainStory, unanchored_client: PlainClient) -> None:
    plain.client = unanchored_client
    plain.notes["parties"] = create_parties(plain.client, 5)
    send_proof(plain, build_proof_request(get_parties(plain), "gte") | {"anchor": True})


@then("the response is a proof without an anchor")
def check_proof(plain: PlainStory) -> None:
    check_result(plain)
    assert plain.content.get("anchor") is None


@then(parsers.re(r"the response is a proof with a (?P<status>\w+) anchor"))
def check_anchor(plain: PlainStory, status: str) -> None:
    check_result(plain)
    anchor = plain.content["anchor"]
    assert set(anchor) <= {"status", "txHash", "blockNumber", "revokedBlock"}
    assert anchor["status"] == status
    if status == "confirmed":
        assert isinstance(anchor["txHash"], str)
        assert isinstance(anchor["blockNumber"], int)
        assert anchor.get("revokedBlock") is None


def check_result(plain: PlainStory) -> None:
    """Check the members of DelegatedProofResult and ZKProof."""
    content = plain.content
    assert set(content) <= {"proofId", "delegationId", "proof", "anchor"}
    assert isinstance(content["proofId"], str)
    assert content["delegationId"] == get_parties(plain).delegation_id
    proof = content["proof"]
    assert set(proof) <= {"proof", "publicSignals", "predicateType", "proofId"}
    assert isinstance(proof["proof"], str)
    assert all(isinstance(signal, str) for signal in proof["publicSignals"])
    assert proof["predicateType"] in PREDICATES
    assert proof["proofId"] == content["proofId"]
