"""Equivalent spellings of HTTP requests, and headers of every response, by raw bytes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.attack.conftest import Target
from tests.attack.raw_http import Response, exchange, request
from tests.attack.stranger import PREFIX

KEYED = "X-API-Key: "


def got(target: Target, path: str, *headers: bytes, method: str = "GET", body: bytes | None = None) -> Response:
    fields = headers if body is None else (*headers, b"Content-Length: %d" % len(body))
    data = request(method, path, *fields)
    return exchange(target.wire.address, data + (body or b""), head=method == "HEAD")


def key(target: Target) -> bytes:
    return (KEYED + target.stranger.api_key).encode()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{PREFIX}/health", 200),
        ("/health", 200),
        (f"{PREFIX}/dids/did:ids:absent", 400),
        (f"{PREFIX}/dids/%00", 400),
        ("/1.0/identifiers/did:ids:absent", 400),
        (f"{PREFIX}/no-such-place", 404),
        (f"{PREFIX}/delegations", 401),
        ("/openapi.json", 200),
        ("/docs", 200),
        ("/ui", 200),
        ("/.well-known/jwks.json", 200),
        ("/oauth/token", 405),
    ],
)
def test_every_answer_forbids_sniffing(target: Target, path: str, status: int) -> None:
    for method in ("GET", "HEAD"):
        answer = got(target, path, method=method)
        assert answer.status == status, path
        assert answer.headers["x-content-type-options"] == "nosniff", path


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        (b"application/json;", 201),
        (b"application/json ; ", 201),
        (b"application/json;;charset=utf-8", 201),
        (b"application/json;charset=utf-8;", 201),
        (b"application/json;charset=latin-1;", 415),
        (b"application/json;charset", 415),
        (b";", 415),
        (b"text/plain;", 415),
    ],
)
def test_empty_parameters_of_a_media_type_are_none(target: Target, media_type: bytes, status: int) -> None:
    """RFC 9110 §5.6.6: ``parameters = *( OWS ";" OWS [ parameter ] )``."""
    body = b'{"method":"ids","keyType":"Ed25519"}'
    answer = got(target, f"{PREFIX}/dids", key(target), b"Content-Type: " + media_type, method="POST", body=body)
    assert answer.status == status, answer.body


def test_token_endpoint_names_the_form_type_it_wants(target: Target) -> None:
    answer = got(target, "/oauth/token", b"Content-Type: application/json", method="POST", body=b"{}")
    assert answer.status == 415
    told = json.loads(answer.body)
    assert "application/x-www-form-urlencoded" in told["error_description"]
    assert "json" not in told["error_description"]
    assert told["details"]["supported"] == ["application/x-www-form-urlencoded"]


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/docs/start.js"])
def test_static_pages_compare_entity_tags_as_lists(target: Target, path: str) -> None:
    """RFC 9110 §13.1.2: a list, compared weakly, or ``*``."""
    tag = got(target, path).headers["etag"].encode()
    for value in (tag, b"W/" + tag, b'"x", ' + tag, b'W/"y",W/' + tag + b' , "z"', b"*"):
        answer = got(target, path, b"If-None-Match: " + value)
        assert (answer.status, answer.body) == (304, b""), value
        assert answer.headers["etag"].encode() == tag
    for value in (b'"x"', tag.strip(b'"'), b'"*"', b""):
        assert got(target, path, b"If-None-Match: " + value).status == 200, value


LISTS = ["/dids", "/admin/api-keys", "/credential-schemas", "/credentials", "/delegations", "/verifications/history"]


def test_cursor_of_one_list_is_refused_by_the_others(target: Target) -> None:
    for number in range(3):
        attributes = [{"name": "age", "type": "integer"}]
        body = {"id": f"https://schemas.example/cursor-{number}", "attributes": attributes}
        target.wire.call("POST", f"{PREFIX}/credential-schemas", body, {"X-API-Key": target.stranger.api_key})
        target.stranger.holder()
        named = {"name": f"key {number}", "scopes": ["dids:list"]}
        target.wire.call("POST", f"{PREFIX}/admin/api-keys", named, {"X-API-Key": target.stranger.api_key})
    shared = ["/dids", "/admin/api-keys", "/credential-schemas", "/dashboard/timeline"]
    cursors = {}
    for path in shared:
        page = json.loads(got(target, f"{PREFIX}{path}?limit=1", key(target)).body)
        if page["nextCursor"] is not None:
            cursors[path] = page["nextCursor"]
    assert {"/dids", "/admin/api-keys", "/credential-schemas"} <= cursors.keys()
    for path, cursor in cursors.items():
        for other in [*LISTS, "/dashboard/timeline"]:
            status = got(target, f"{PREFIX}{other}?cursor={cursor}", key(target)).status
            assert status == (200 if other == path else 400), (path, other)


FORMS = {
    "a broken escape": ("{}%zz", ()),
    "a NUL": ("{}%00", ()),
    "no UTF-8": ("{}%ff", ()),
    "headers that are too large": ("{}did:ids:a", (b"X-Big: " + b"x" * 33_000,)),
    "a header past ASCII": ("{}did:ids:a", (b"Accept: \xe4",)),
    "a target of more than 8 KiB": ("{}" + "0" * 9_000, ()),
    "a target of more than 32 KiB": ("{}" + "0" * 70_000, ()),
    "headers that the connection refuses": ("{}did:ids:a", (b"X-Big: " + b"x" * 70_000,)),
    "two media types": ("{}did:ids:a", (b"Content-Type: a/b", b"Content-Type: c/d")),
}


@pytest.mark.parametrize("name", FORMS)
def test_early_refusals_of_identifiers_have_their_form(target: Target, name: str) -> None:
    """The path and the header fields are refused before there is an operation; the document promises one form for it."""
    path, headers = FORMS[name]
    for prefix in ("/1.0/identifiers/", f"{PREFIX}/identifiers/"):
        for method in ("GET", "POST"):
            answer = exchange(target.wire.address, request(method, path.format(prefix), *headers))
            assert 400 <= answer.status < 500
            assert answer.headers["content-type"] == "application/did-resolution", answer.body
            told = json.loads(answer.body)
            assert set(told) >= {"didDocument", "didResolutionMetadata", "dereferencingMetadata", "error"}


@pytest.mark.parametrize("place", ["create", "update", "deactivate"])
def test_early_refusals_of_the_registrar_have_their_form(target: Target, place: str) -> None:
    for prefix in ("/1.0/", f"{PREFIX}/registrar/"):
        data = request("POST", f"{prefix}{place}", b"Accept: \xe4", b"Content-Type: application/json", body=b"{}")
        answer = exchange(target.wire.address, data)
        assert answer.status == 400
        told = json.loads(answer.body)
        assert told["didState"]["state"] == "failed"
        assert told["error"]["code"] == "INVALID_REQUEST"


@pytest.mark.parametrize("length", [9_000, 70_000])
def test_long_targets_have_the_form_of_their_operation(target: Target, length: int) -> None:
    for path, member in (
        ("/1.0/create", "didState"),
        ("/1.0/deactivate", "didState"),
        ("/oauth/token", "error_description"),
    ):
        answer = exchange(target.wire.address, request("POST", f"{path}?a={'0' * length}", body=b""))
        assert answer.status == (400 if length < 32_768 else 431)
        assert member in json.loads(answer.body), path


@pytest.mark.parametrize("character", "!$&'()*+,;=@~")
def test_encoded_characters_of_a_did_stay_encoded(target: Target, character: str) -> None:
    """A path segment may have the character as it is, a DID has it percent-encoded only: decoding it would make another text."""
    escape = f"%{ord(character):02X}"
    did = f"did:web:host.example:a{escape}b"
    for path in (f"/1.0/identifiers/{did}", f"/1.0/identifiers/{did.replace('%', '%25')}"):
        answer = got(target, path)
        assert answer.status != 400, answer.body
        assert json.loads(answer.body)["error"]["details"]["did"] == did
    for path in (f"{PREFIX}/dids/{did}", f"{PREFIX}/dids/did:web:host.example:a{character}b"):
        answer = got(target, path)
        error = json.loads(answer.body)["error"]
        assert (answer.status, error["code"]) == (400, "INVALID_DID")
        assert "%2540 for %40" in error["details"]["remedy"]
    answer = got(target, f"{PREFIX}/dids/{did.replace('%', '%25')}")
    assert json.loads(answer.body)["error"]["details"]["did"] == did


@pytest.mark.parametrize("escape", ["%41", "%2D", "%2E", "%5F", "%37"])
def test_needless_escapes_in_a_did_are_decoded(target: Target, escape: str) -> None:
    """RFC 3986 §6.2.2.2: an unreserved character is the same with an escape."""
    did = f"did:web:host.example:a{bytes.fromhex(escape[1:]).decode()}b"
    for path in (f"/1.0/identifiers/did:web:host.example:a{escape}b", f"{PREFIX}/dids/did:web:host.example:a{escape}b"):
        assert json.loads(got(target, path).body)["error"]["details"]["did"] == did


def registrar(target: Target, place: str, body: Any) -> Response:
    fields = (key(target), b"Content-Type: application/json")
    return got(target, f"/1.0/{place}", *fields, method="POST", body=json.dumps(body).encode())


NO_KEYS: dict[str, Any] = {
    "clientSecretMode": None,
    "storeSecrets": None,
    "returnSecrets": None,
    "requestVerificationMethod": None,
}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"jobId": None, "options": None, "secret": None, "didDocument": None},
        {"options": NO_KEYS, "secret": {"verificationMethod": None}},
    ],
)
def test_registrar_creates_with_null_members(target: Target, body: Any) -> None:
    answer = registrar(target, "create?method=ids", body)
    assert answer.status == 201, answer.body
    state = json.loads(answer.body)["didState"]
    assert state["state"] == "finished"
    assert len(state["secret"]["verificationMethod"]) == 1


@pytest.mark.parametrize("place", ["update", "deactivate"])
def test_registrar_changes_with_null_members(target: Target, place: str) -> None:
    holder = target.stranger.holder()
    added = {"service": [{"id": "#n", "type": "LinkedDomains", "serviceEndpoint": "https://null.example/"}]}
    update = {"didDocumentOperation": ["addToDidDocument"], "didDocument": [added]}
    documents: dict[str, Any] = update if place == "update" else {}
    body = {"did": holder.did, "jobId": None, "options": {"clientSecretMode": True}, "secret": None, **documents}
    unnamed: dict[str, Any] = {"didDocumentOperation": None} if documents else {}
    others: list[dict[str, Any]] = [unnamed, {"secret": {}}]
    for other in others:
        first = registrar(target, place, {**body, **other})
        assert first.status == 200, first.body
    state = json.loads(first.body)
    signing = state["didState"]["signingRequest"]["signingRequest0"]
    data = base64.b64decode(signing["serializedPayload"])
    signature = base64.b64encode(holder.key.sign(data).signature).decode()
    secret = {"signingResponse": {"signingRequest0": {"signature": signature}}}
    repeated = dict.fromkeys(documents)
    answer = registrar(target, place, {**body, **repeated, "jobId": state["jobId"], "secret": secret})
    assert answer.status == 200, answer.body
    assert json.loads(answer.body)["didState"]["state"] == "finished"


@pytest.mark.parametrize(("place", "status"), [("create", 201), ("update", 400), ("deactivate", 400)])
def test_registrar_refuses_nulls_as_their_absence(target: Target, place: str, status: int) -> None:
    """Options of which the needed one is null are options without it, and null inside of a document stays a fault."""
    named = {"did": target.stranger.holder().did} if place != "create" else {}
    answer = registrar(target, place, {**named, "options": {"clientSecretMode": None}})
    assert answer.status == status, answer.body
    if place == "create":
        nothing = registrar(target, "create", {"didDocument": {"service": None}})
        assert nothing.status == 422, nothing.body
