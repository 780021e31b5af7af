"""Requests on DIDs and with API keys, by the plain client."""

from __future__ import annotations

import uuid
from typing import Any

from nacl.signing import SigningKey
from pytest_bdd import given, parsers, when

from identity_kit.tests.specification.plain_client import did_path, encode_multikey
from identity_kit.tests.specification.story import SERVICE, PlainStory, format_time

UNKNOWN_DID = "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
CREATION: dict[str, Any] = {
    "method": "ids",
    "keyType": "Ed25519",
    "options": {
        "additionalKeys": [
            {"type": "X25519KeyAgreementKey2020", "purpose": ["keyAgreement"]},
            {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]},
        ],
        "serviceEndpoints": [{"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}],
        "recoveryKey": True,
    },
}
ATTEMPTS = 50


# Requests


def build_removal(plain: PlainStory) -> dict[str, Any]:
    """Add a key, so that there is one to remove, and return the request that removes it."""
    key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": encode_multikey(SigningKey.generate())}
    body = {"operation": "addVerificationMethod", "verificationMethod": key, "relationships": ["authentication"]}
    added = plain.client.send_signed("PATCH", "", body, plain.did)
    assert added.status_code == 200, added.text
    return {"operation": "removeVerificationMethod", "keyId": f"{plain.did.did}#{key['publicKeyMultibase']}"}


def build_update(plain: PlainStory, operation: str) -> dict[str, Any]:
    """Return one of the three forms of an update."""
    if operation == "addService":
        return {"operation": operation, "service": SERVICE}
    if operation == "addVerificationMethod":
        key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": encode_multikey(SigningKey.generate())}
        return {"operation": operation, "verificationMethod": key, "relationships": ["authentication"]}
    return build_removal(plain)


def build_request(plain: PlainStory, name: str) -> tuple[str, str, Any]:
    """Return method, path below the DID, and body of an operation."""
    requests: dict[str, tuple[str, str, Any]] = {
        "resolve": ("GET", "", None),
        "history": ("GET", "/history", None),
        "update": ("PATCH", "", {"operation": "addService", "service": SERVICE}),
        "deactivate": ("DELETE", "", {"confirm": True, "reason": "no longer in use"}),
        "rotate": (
            "POST",
            "/keys/rotate",
            {
                "oldKeyId": plain.subject.created["keys"]["authentication"]["keyId"] if plain.subject else "#key",
                "newKeyType": "Ed25519",
                "purpose": ["authentication"],
                "revokeOldAfter": format_time(7),
            },
        ),
        "recover": (
            "POST",
            "/recover",
            {
                "newAuthenticationKey": {
                    "type": "Ed25519VerificationKey2020",
                    "publicKeyMultibase": encode_multikey(SigningKey.generate()),
                },
                "revokeAllExistingKeys": True,
            },
        ),
    }
    return requests[name]


@given("the plain client has created a DID")
def create_did(plain: PlainStory) -> None:
    plain.subject = plain.client.create_did(CREATION)


@when("the plain client creates a DID")
def create_did_again(plain: PlainStory) -> None:
    plain.response = plain.client.request("POST", "/dids", CREATION, X_API_Key=plain.client.api_key)


@when(parsers.re(r"the plain client sends (?P<name>\w+) with DID Auth"))
def send_signed(plain: PlainStory, name: str) -> None:
    method, path, body = build_request(plain, name)
    plain.notes["sent"] = body
    plain.response = plain.client.send_signed(method, path, body, plain.did)


@when(parsers.re(r"the plain client sends the update (?P<operation>\w+) with DID Auth"))
def send_update(plain: PlainStory, operation: str) -> None:
    body = build_update(plain, operation)
    plain.notes["sent"] = body
    plain.response = plain.client.send_signed("PATCH", "", body, plain.did)


@when("the plain client removes the last authentication key with DID Auth")
def remove_last_key(plain: PlainStory) -> None:
    key_id = plain.did.created["keys"]["authentication"]["keyId"]
    body = {"operation": "removeVerificationMethod", "keyId": key_id}
    plain.response = plain.client.send_signed("PATCH", "", body, plain.did)


@when("the plain client sends recover with the recovery key")
def send_recover(plain: PlainStory) -> None:
    assert plain.did.recovery_key is not None
    key = SigningKey.generate()
    method, path, body = build_request(plain, "recover")
    body["newAuthenticationKey"]["publicKeyMultibase"] = encode_multikey(key)
    header = plain.client.authorize(plain.did.did, plain.did.recovery_key, "RecoveryKey")
    plain.response = plain.client.request(method, did_path(plain.did.did, path), body, Authorization=header)
    plain.did.key = key


@when(
    parsers.re(
        r"the plain client sends (?P<name>\w+) with the (?P<credential>signature of another key|API key|scheme DIDAuth)"
    )
)
def send_wrongly(plain: PlainStory, name: str, credential: str) -> None:
    method, path, body = build_request(plain, name)
    scheme = "RecoveryKey" if name == "recover" and credential != "scheme DIDAuth" else "DIDAuth"
    key = SigningKey.generate() if credential.startswith("signature") else plain.did.key
    header = plain.client.authorize(plain.did.did, key, scheme)
    if credential == "API key":
        header = f"ApiKey {plain.client.api_key}"
    plain.response = plain.client.request(method, did_path(plain.did.did, path), body, Authorization=header)


@when(parsers.re(r"the plain client sends (?P<name>\w+) without authentication"))
def send_unsigned(plain: PlainStory, name: str) -> None:
    method, path, body = build_request(plain, name)
    plain.response = plain.client.request(method, did_path(plain.did.did, path), body)


@when(parsers.re(r"the plain client sends (?P<name>\w+) for (?P<kind>an invalid|an unknown) DID"))
def send_for_bad_did(plain: PlainStory, name: str, kind: str) -> None:
    did = "did:ids:short" if kind == "an invalid" else UNKNOWN_DID
    if name == "challenge":
        plain.response = plain.client.get_challenge(did)
        return
    method, path, body = build_request(plain, name)
    plain.response = plain.client.request(method, did_path(did, path), body)


@when(parsers.re(r"the plain client sends (?P<name>\w+) for the deactivated DID"))
def send_after_deactivation(plain: PlainStory, name: str) -> None:
    if name == "challenge":
        plain.response = plain.client.get_challenge(plain.did.did)
        return
    method, path, body = build_request(plain, name)
    header = {}
    if method != "GET":
        scheme = "RecoveryKey" if name == "recover" else "DIDAuth"
        header["Authorization"] = f"{scheme} {plain.notes['header']}"
    plain.response = plain.client.request(method, did_path(plain.did.did, path), body, **header)


@given("a plain request that deactivated the DID")
def deactivate(plain: PlainStory) -> None:
    plain.notes["header"] = plain.client.authorize(plain.did.did, plain.did.key).split()[1]
    method, path, body = build_request(plain, "deactivate")
    response = plain.client.send_signed(method, path, body, plain.did)
    assert response.status_code == 200, response.text


@given("a plain request that added a service to the DID")
def add_service(plain: PlainStory) -> None:
    response = plain.client.send_signed("PATCH", "", {"operation": "addService", "service": SERVICE}, plain.did)
    assert response.status_code == 200, response.text


@when(parsers.re(r"the plain client resolves the DID(?: with (?P<query>\S+))?"))
def resolve(plain: PlainStory, query: str | None) -> None:
    path = did_path(plain.did.did)
    if query == "Accept":
        plain.response = plain.client.request("GET", path, Accept="application/did+ld+json")
        return
    plain.response = plain.client.request("GET", path + (f"?{query}" if query else ""))


@when("the plain client gets a challenge for the DID")
def get_challenge(plain: PlainStory) -> None:
    plain.response = plain.client.get_challenge(plain.did.did)


@when(parsers.re(r"the plain client creates a DID with (?P<header>.+)"))
def create_with(plain: PlainStory, header: str) -> None:
    name, _, value = header.partition(": ")
    sent = {} if header == "no header" else {name.replace("-", "_"): value.replace("KEY", plain.client.api_key)}
    plain.response = plain.client.request("POST", "/dids", {"method": "ids", "keyType": "Ed25519"}, **sent)


@when("the plain client creates did:key twice for one public key")
def create_twice(plain: PlainStory) -> None:
    public = encode_multikey(SigningKey.generate())
    key = {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": public, "purpose": ["authentication"]}
    body = {"method": "key", "options": {"publicKeys": [key]}}
    for _ in range(2):
        plain.response = plain.client.request("POST", "/dids", body, X_API_Key=plain.client.api_key)


@given("an operator has created an API key with a rate of its own")
def create_api_key(plain: PlainStory) -> None:
    body = {"name": f"slow-{uuid.uuid4()}", "admin": True, "requestsPerSecond": 1, "burst": 1}
    plain.notes["slow key"] = plain.client.request_as_operator("POST", "/admin/api-keys", body)["apiKey"]


@when("the plain client sends requests with that key until one is refused")
def exceed_rate(plain: PlainStory) -> None:
    for _ in range(ATTEMPTS):
        plain.response = plain.client.request("GET", "/dids", X_API_Key=plain.notes["slow key"])
        if plain.response.status_code == 429:
            return
