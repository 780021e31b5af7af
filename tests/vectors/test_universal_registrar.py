"""The Universal Registrar's OpenAPI file: what a client sends by it is taken, and every answer is one that it describes.

The order is that of a client that keeps its keys: create, what is to be signed, update, deactivate, and refusals between them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator
from nacl.signing import SigningKey

from tests.attack.stranger import GENEROUS, Answer, Wire, multikey
from tests.servers import local_server
from tests.vectors.files import vector

OWN = {"clientSecretMode": True}
NO_DID = "did:ids:Qm" + "a" * 44


@pytest.fixture(scope="module")
def registrar() -> dict[str, Any]:
    document = yaml.safe_load(vector("universal-registrar/openapi.yaml").read_text("utf-8"))
    words: dict[str, Any] = _words(document)
    return words


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[Wire, dict[str, str]]]:
    with local_server(environment=GENEROUS) as server:
        wire = Wire(server.url)
        yield wire, {"X-API-Key": server.api_key}
        wire.close()


def _words(part: Any) -> Any:
    """Its types with the word ``null``, where the file has YAML's null, and ``anyOf`` for its ``oneOf``: a key with a private half fits its
    schema of a public one as well, so that nothing would fit exactly one."""
    if isinstance(part, list):
        return [_words(item) for item in part]
    if not isinstance(part, dict):
        return part
    words = {{"oneOf": "anyOf"}.get(name, name): _words(value) for name, value in part.items()}
    return words | ({"type": _typed(part["type"])} if "type" in part and not isinstance(part["type"], dict) else {})


def _typed(kind: Any) -> Any:
    return [_typed(one) for one in kind] if isinstance(kind, list) else "null" if kind is None else kind


class Client:
    """Sends what the file describes and takes what it describes."""

    def __init__(self, document: dict[str, Any], wire: Wire, headers: dict[str, str]) -> None:
        self._document, self._wire, self._headers = document, wire, headers

    def call(self, operation: str, body: dict[str, Any], query: str = "") -> Answer:
        declared = self._document["paths"][f"/{operation}"]["post"]
        self._check(declared["requestBody"]["content"]["application/json"]["schema"], body)
        answer = self._wire.call("POST", f"/1.0/{operation}{query}", body, self._headers)
        assert answer.headers["content-type"] == "application/json"
        described = declared["responses"].get(str(answer.status), declared["responses"]["400"])
        self._check(described["content"]["application/json"]["schema"], answer.json)
        self._check(
            {"$ref": f"#/components/schemas/DidState{answer.json['didState']['state'].title()}"},
            answer.json["didState"],
        )
        assert (answer.json["jobId"] is None) == (answer.json["didState"]["state"] in ("finished", "failed"))
        return answer

    def _check(self, schema: dict[str, Any], value: Any) -> None:
        whole = {**schema, "components": self._document["components"]}
        assert [error.message for error in Draft202012Validator(whole).iter_errors(value)] == []

    def signed(self, operation: str, first: dict[str, Any], key: SigningKey) -> dict[str, Any]:
        """The second request of the job, with everything of the first one, as stock clients repeat it."""
        state = self.call(operation, first).json
        responses = {}
        for name, wanted in state["didState"]["signingRequest"].items():
            self._check({"$ref": "#/components/schemas/SigningRequest"}, wanted)
            signature = base64.b64encode(key.sign(base64.b64decode(wanted["serializedPayload"])).signature).decode()
            responses[name] = {"signature": signature, "kid": wanted["kid"], "alg": wanted["alg"]}
        return first | {"jobId": state["jobId"], "secret": {"signingResponse": responses}}


@pytest.fixture(scope="module")
def client(registrar: dict[str, Any], service: tuple[Wire, dict[str, str]]) -> Client:
    return Client(registrar, *service)


def test_the_life_of_a_did_whose_keys_the_client_keeps(client: Client) -> None:
    key = SigningKey.generate()
    wanted = client.call("create", {"jobId": None, "options": OWN, "secret": {}}, "?method=ids")
    assert (wanted.status, wanted.json["didState"]["action"]) == (200, "getVerificationMethod")
    (template,) = wanted.json["didState"]["verificationMethodTemplate"]
    method = {**template, "publicKeyMultibase": multikey(bytes(key.verify_key))}
    brought = {"jobId": wanted.json["jobId"], "options": OWN, "secret": {"verificationMethod": [method]}}
    created = client.call("create", brought, "?method=ids")
    state = created.json["didState"]
    assert (created.status, state["state"], "secret" in state) == (201, "finished", False)
    did, document = state["did"], state["didDocument"]

    service = {"id": "#files", "type": "LinkedDomains", "serviceEndpoint": "https://files.example/"}
    whole = {"did": did, "options": OWN, "didDocumentOperation": ["setDidDocument"]}
    changed = {**whole, "didDocument": [{**document, "service": [service]}]}
    updated = client.call("update", client.signed("update", changed, key))
    assert (updated.status, updated.json["didState"]["state"]) == (200, "finished")
    assert updated.json["didState"]["didDocument"]["service"] == [{**service, "id": f"{did}#files"}]

    removed = {
        **whole,
        "didDocumentOperation": ["removeFromDidDocument"],
        "didDocument": [{"service": [{"id": "#files"}]}],
    }
    assert client.call("update", client.signed("update", removed, key)).status == 200

    ended = client.call("deactivate", client.signed("deactivate", {"did": did, "options": OWN}, key))
    assert (ended.status, ended.json["didDocumentMetadata"]) == (200, {"deactivated": True})
    gone = client.call("update", changed)
    assert (gone.status, gone.json["didState"]["state"]) == (410, "failed")


def test_the_service_makes_the_keys(client: Client) -> None:
    template = {"type": "Ed25519VerificationKey2020", "purpose": ["authentication"]}
    options = {"storeSecrets": False, "returnSecrets": True, "requestVerificationMethod": [template]}
    created = client.call("create", {"options": options, "secret": {}, "didDocument": {"service": []}}, "?method=ids")
    (key,) = created.json["didState"]["secret"]["verificationMethod"]
    assert key["id"] in created.json["didState"]["didDocument"]["authentication"]
    assert "authentication" in key["purpose"]


@pytest.mark.parametrize(
    ("operation", "body", "query", "status", "error"),
    [
        ("create", {}, "?method=unknown", 400, "INVALID_DID"),
        ("create", {"options": {"network": "testnet"}}, "?method=ids", 400, "INVALID_OPTIONS"),
        ("create", {"didDocument": {"id": "did:ids:x"}}, "?method=ids", 422, "INVALID_DID_DOCUMENT"),
        ("update", {"did": "nothing", "options": OWN}, "", 400, "INVALID_DID"),
        ("update", {"did": NO_DID, "options": OWN}, "", 404, "NOT_FOUND"),
        ("deactivate", {"did": NO_DID, "options": OWN}, "", 404, "NOT_FOUND"),
        ("deactivate", {"did": NO_DID}, "", 400, "INVALID_OPTIONS"),
    ],
)
def test_a_refusal(client: Client, operation: str, body: dict[str, Any], query: str, status: int, error: str) -> None:
    answer = client.call(operation, body, query)
    assert (answer.status, answer.json["didState"]["error"]) == (status, error)
    assert answer.json["didState"]["reason"]
