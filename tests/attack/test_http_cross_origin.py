"""What a page of another origin gets to see through a browser: what is public, and never with a credential (Fetch, "CORS protocol")."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.attack.conftest import Target
from tests.attack.raw_http import Response, exchange, request
from tests.attack.stranger import service

ORIGIN = b"Origin: https://evil.example"
PREFIXED = "access-control-"


def ask(target: Target, method: str, path: str, *headers: bytes) -> Response:
    return exchange(target.wire.address, request(method, path, ORIGIN, *headers), head=method == "HEAD")


def cors_headers(response: Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith(PREFIXED)}


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/jwks.json",
        "/.well-known/oauth-authorization-server",
        "/openapi.json",
        "/api/v1/events",
        "/api/v1/ledger/checkpoint",
        "/api/v1/ledger/key",
        "/1.0/methods",
        "/1.0/identifiers/did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
        "/1.0/identifiers/did:unsupported:1",
        "/api/v1/dids/did:ids:absent",
    ],
)
def test_a_page_of_any_origin_reads_what_is_public(target: Target, path: str) -> None:
    """Refusals too: a script must be able to tell 404 from a host that does not answer."""
    for method in ("GET", "HEAD"):
        seen = cors_headers(ask(target, method, path))
        assert seen["access-control-allow-origin"] == "*"
        assert "ETag" in seen["access-control-expose-headers"].split(", ")
        assert "access-control-allow-credentials" not in seen


@pytest.mark.parametrize(
    "path", ["/api/v1/dids", "/api/v1/keys", "/metrics", "/api/v1/audit/lines", "/api/v1/nothing", "/nothing"]
)
def test_page_of_another_origin_reads_nothing_private(target: Target, path: str) -> None:
    for headers in ((), (b"X-API-Key: " + target.stranger.api_key.encode(),)):
        assert cors_headers(ask(target, "GET", path, *headers)) == {}
    assert cors_headers(ask(target, "OPTIONS", path, b"Access-Control-Request-Method: GET")) == {}


def test_a_preflight_allows_reading_and_no_credential(target: Target) -> None:
    wanted = b"Access-Control-Request-Headers: authorization,x-api-key,accept"
    path = "/1.0/identifiers/did:ids:x"
    answer = ask(target, "OPTIONS", path, b"Access-Control-Request-Method: GET", wanted)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-methods"] == "GET, HEAD"
    allowed = answer.headers["access-control-allow-headers"].lower().split(", ")
    assert "accept" in allowed
    assert {"authorization", "x-api-key", "idempotency-key"}.isdisjoint(allowed)
    assert int(answer.headers["access-control-max-age"]) > 0


@pytest.mark.parametrize("method", [b"PATCH", b"DELETE", b"POST", b"get", b"GET, PATCH", b""])
def test_a_preflight_for_anything_else_allows_nothing(target: Target, method: bytes) -> None:
    answer = ask(target, "OPTIONS", "/api/v1/dids/did:ids:x", b"Access-Control-Request-Method: " + method)
    assert answer.status == 204
    assert "access-control-allow-methods" not in answer.headers


def test_a_change_is_answered_to_no_page(target: Target) -> None:
    hana = target.stranger.holder()
    for method in ("PATCH", "DELETE", "POST"):
        assert cors_headers(ask(target, method, hana.path())) == {}


@pytest.mark.parametrize(("accept", "media"), [
    (None, "text/jsonl"), ("text/jsonl", "text/jsonl"), ("application/jsonl", "application/jsonl"),
    ("application/json", "text/jsonl"), ("*/*", "text/jsonl"),
])  # fmt: skip
def test_a_log_has_an_entity_tag_of_its_last_line(target: Target, accept: str | None, media: str) -> None:
    hana = target.stranger.holder()
    path, fields = f"{hana.path()}/log", [] if accept is None else [f"Accept: {accept}".encode()]
    first = ask(target, "GET", path, *fields)
    assert (first.status, first.headers["content-type"]) == (200, media)
    assert first.headers["vary"] == "Accept"
    assert first.headers["cache-control"] == "public, max-age=5"
    assert first.headers["etag"] == f'"{hashlib.sha256(first.body.splitlines(keepends=True)[-1]).hexdigest()[:32]}"'
    known = b"If-None-Match: W/" + first.headers["etag"].encode()
    assert exchange(target.wire.address, request("GET", path, *fields, known), head=True).status == 304
    assert hana.act("update", service()).status == 200
    changed = ask(target, "GET", path, *fields, known)
    assert changed.status == 200
    assert changed.body.startswith(first.body)
    assert json.loads(changed.body.splitlines()[-1])["versionId"].startswith("2-")
