"""The scope that a challenge names (RFC 6750 §3), against the one that a token without it is refused for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from identity_core.api.contract import dereference, operations
from tests.attack.conftest import Target
from tests.attack.raw_http import Response, exchange, request
from tests.attack.stranger import PREFIX
from tests.reference import DOCUMENT

ID: Final = "urn:uuid:11111111-1111-4111-8111-111111111111"
SCOPE: Final = re.compile(r'Bearer realm="identity", resource_metadata="[^"]+", scope="([^"]+)"')


def scoped() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the operations that take a bearer token, but for those that only an admin key may call, and one that anyone may call."""
    for path, method, declared in operations(DOCUMENT):
        required = declared.get("security", DOCUMENT.get("security", []))
        excepted = declared["operationId"] == "getVerifierRequest" or path.startswith("/admin/")
        if not excepted and any("BearerAuth" in one for one in required):
            yield path, method.upper(), declared


OPERATIONS: Final = {declared["operationId"]: (path, method, declared) for path, method, declared in scoped()}


def call(target: Target, operation_id: str, *headers: bytes) -> Response:
    """Call the operation with the first example of its body that the document has."""
    path, method, declared = OPERATIONS[operation_id]
    body = b""
    if "requestBody" in declared:
        content = dereference(DOCUMENT, declared["requestBody"])["content"]["application/json"]
        example = dereference(DOCUMENT, next(iter(content["examples"].values())))
        # An API key names the holder before it is asked for a scope.
        holder = {"holderDid": target.stranger.holder().did} if operation_id == "eraseRecords" else {}
        body, headers = json.dumps(example["value"] | holder).encode(), (*headers, b"Content-Type: application/json")
    parameters = (dereference(DOCUMENT, one) for one in declared.get("parameters", ()))
    required = [one["name"] for one in parameters if one["in"] == "query" and one.get("required")]
    query = (
        "?" + "&".join(f"{name}=did:ids:QmSQdE7kRbgMzsSxPyKgUq7tgwJKmocZUDn5UyUHVFAY94" for name in required)
        if required
        else ""
    )
    target_path = PREFIX + re.sub(r"\{[A-Za-z]+\}", ID, path) + query
    return exchange(target.wire.address, request(method, target_path, *headers, body=body))


@pytest.fixture(scope="module")
def narrow_key(targets: Any) -> bytes:
    """A header with an API key whose only scope opens none of these operations."""
    stranger = targets(1).stranger
    named = {"name": "narrow", "scopes": ["service:read"]}
    made = targets(1).wire.call("POST", f"{PREFIX}/admin/api-keys", named, {"X-API-Key": stranger.api_key})
    text = next(value for value in made.json.values() if isinstance(value, str) and value.startswith("idk_live_"))
    return f"Authorization: Bearer {text}".encode()


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_challenge_names_the_scope_that_is_missing(target: Target, narrow_key: bytes, operation_id: str) -> None:
    forbidden = call(target, operation_id, narrow_key)
    assert forbidden.status == 403, forbidden.body
    lacking = json.loads(forbidden.body)["error"]["details"]["scope"]
    assert f'error="insufficient_scope", scope="{lacking}"' in forbidden.headers["www-authenticate"]
    assert forbidden.headers["www-authenticate"].count("scope=") == 1
    refused = call(target, operation_id, b"Authorization: Bearer nothing")
    assert refused.status == 401, refused.body
    challenge = refused.headers["www-authenticate"]
    assert 'error="invalid_token"' in challenge
    found = SCOPE.search(challenge.replace(', error="invalid_token"', ""))
    assert found is not None, challenge
    assert found[1] == lacking


@pytest.mark.parametrize("operation_id", ["listDelegations", "verifyProof"])
def test_challenge_without_a_token_names_the_scope(target: Target, operation_id: str) -> None:
    refused = call(target, operation_id, *([b"X-API-Key: idk_live_no"] if operation_id == "verifyProof" else []))
    assert refused.status == 401
    assert SCOPE.search(refused.headers["www-authenticate"]) is not None


@pytest.mark.parametrize(
    ("path", "body"),
    [("/dids", {"method": "ids"}), ("/admin/api-keys", {"name": "second", "scopes": ["dids:create"]})],
    ids=["createDid", "createApiKey"],
)
def test_token_of_a_key_gets_no_stored_answer(target: Target, path: str, body: Mapping[str, Any]) -> None:
    """The token has the identity of its API key and fewer scopes. The answer has private keys, or an API key."""
    key, repeated = {"X-API-Key": target.stranger.api_key}, {"Idempotency-Key": f"stored {path}".replace(" ", "-")}
    assert target.wire.call("POST", PREFIX + path, body, key | repeated).status == 201
    issued = target.wire.call("POST", f"{PREFIX}/auth/token", {"scope": "zkp:verify"}, key)
    token = next(value for value in issued.json.values() if isinstance(value, str) and value.count(".") == 2)
    refused = target.wire.call("POST", PREFIX + path, body, {"Authorization": f"Bearer {token}"} | repeated)
    assert (refused.status, refused.json["error"]["code"]) == (403, "FORBIDDEN")
    again = target.wire.call("POST", PREFIX + path, body, key | repeated)
    assert (again.status, again.headers["idempotent-replayed"]) == (201, "true")
