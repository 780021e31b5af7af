"""The compiled dispatch and stock Connexion, held against each other: for valid requests they must agree."""

import warnings
from typing import Any

import pytest

from identity_core.api.contract import parse_document
from tests.contract.stock import build_stock_app
from tests.toy_document import DOCUMENT, KEY, SCHEMES, ToyGate, ToyHandlers, ask, build_toy, no_lifespan

orjson = pytest.importorskip("orjson")
AUTHENTIC = [("x-api-key", KEY)]
JSON = ("content-type", "application/json")


@pytest.fixture(scope="module")
def stock() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = parse_document(orjson.dumps(DOCUMENT))
        return build_stock_app(document, [ToyHandlers()], gate=ToyGate(), schemes=SCHEMES, lifespan=no_lifespan)


@pytest.mark.parametrize(
    ("method", "target", "headers", "body"),
    [
        ("GET", "/api/v1/health", [], b""),
        ("HEAD", "/api/v1/health", [], b""),
        ("GET", "/api/v1/dids/did:toy:abc", [], b""),
        ("GET", "/api/v1/dids/did%3Atoy%3Aabc", [], b""),
        ("GET", "/api/v1/dids/did:toy:abc?versionId=7", [], b""),
        ("GET", "/api/v1/dids/did:toy:abc?versionTime=2030-01-01T00%3A00%3A00Z", [], b""),
        ("GET", "/api/v1/dids", AUTHENTIC, b""),
        ("GET", "/api/v1/dids", [("authorization", f"ApiKey {KEY}")], b""),
        ("GET", "/api/v1/dids?limit=3&cursor=a%20b+c&includeDocument=true&order=desc", AUTHENTIC, b""),
        ("POST", "/api/v1/dids", [*AUTHENTIC, JSON], b'{"method":"toy"}'),
        ("POST", "/api/v1/dids", [*AUTHENTIC, JSON], '{"method":"tøy","note":null,"count":3}'.encode()),
        ("POST", "/api/v1/dids", [*AUTHENTIC, JSON], b'{"method":"toy","tree":{"children":[{"children":[]},{}]}}'),
        ("DELETE", "/api/v1/dids/did:toy:abc", [("authorization", f"DIDAuth {KEY}"), JSON], b'{"reason":"done"}'),
        ("GET", "/api/v1/keys/abc", [], b""),
    ],
)
def test_valid_requests_are_answered_alike(
    stock: Any, method: str, target: str, headers: list[tuple[str, str]], body: bytes
) -> None:
    theirs = ask(stock, method, target, headers=headers, body=body)
    ours = ask(build_toy(), method, target, headers=headers, body=body)
    assert ours.status == theirs.status == 200
    if method != "HEAD":
        assert ours.json == theirs.json
    assert ours.headers["content-type"].partition(";")[0] == theirs.headers["content-type"].partition(";")[0]


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "status"),
    [
        ("GET", "/api/v1/nowhere", [], b"", 404),
        ("PUT", "/api/v1/dids", AUTHENTIC, b"", 405),
        ("GET", "/api/v1/dids", [], b"", 401),
        ("GET", "/api/v1/dids?unknown=1", AUTHENTIC, b"", 400),
        ("GET", "/api/v1/dids?limit=0", AUTHENTIC, b"", 400),
        ("GET", "/api/v1/dids?order=up", AUTHENTIC, b"", 400),
        ("POST", "/api/v1/dids", [*AUTHENTIC, JSON], b"", 400),
        ("POST", "/api/v1/dids", [*AUTHENTIC, JSON], b"{}", 400),
        ("POST", "/api/v1/dids", [*AUTHENTIC, JSON], b'{"method":"toy","extra":1}', 400),
        ("POST", "/api/v1/dids", [*AUTHENTIC, JSON], b'{"method":"toy","count":0}', 400),
        ("POST", "/api/v1/dids", [*AUTHENTIC, ("content-type", "text/plain")], b"{}", 415),
    ],
)
def test_plain_refusals_have_the_same_status(
    stock: Any, method: str, target: str, headers: list[tuple[str, str]], body: bytes, status: int
) -> None:
    theirs = ask(stock, method, target, headers=headers, body=body)
    ours = ask(build_toy(), method, target, headers=headers, body=body)
    assert (ours.status, theirs.status) == (status, status)
    assert ours.error["code"]
