"""``/1.0/identifiers`` by raw bytes: what DID Resolution's binding says of every ``Accept``, and whatever else may stand in the path.

W3C DID Resolution §4, §5 and §10.1; RFC 9457.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.attack.conftest import Target
from tests.attack.raw_http import Response, exchange, request
from tests.attack.stranger import LEAVE, Holder, base64url, service

PATH = "/1.0/identifiers/"
PROFILED = 'application/ld+json;profile="https://w3id.org/did-resolution"'
W3C = "https://www.w3.org/ns/did#"
RESULT = {"didDocument", "didDocumentMetadata", "didResolutionMetadata"}
ABSENT = "did:ids:Qm" + "a" * 44


@pytest.fixture(scope="module")
def hana(targets: Callable[[int], Target]) -> Holder:
    """Version 2 has the service ``files``."""
    made = targets(1).stranger.holder()
    assert made.act("update", service("files", "https://hana.example/base/x?y=1")).status == 200
    return made


def get(target: Target, identifier: str | bytes, accept: str | None = None, method: str = "GET") -> Response:
    data = identifier if isinstance(identifier, bytes) else identifier.encode()
    headers = [] if accept is None else [b"Accept: " + accept.encode()]
    return exchange(target.wire.address, request(method, PATH.encode() + data, *headers), head=method == "HEAD")


def post(target: Target, identifier: str, body: bytes, *headers: bytes, media: bytes = b"application/json") -> Response:
    fields = (b"Content-Type: " + media, *headers)
    return exchange(target.wire.address, request("POST", PATH.encode() + identifier.encode(), *fields, body=body))


def problem(response: Response) -> str:
    """The type of the problem. Whatever was asked for, a refusal is a result of both kinds."""
    body = json.loads(response.body)
    assert response.headers["content-type"] == "application/did-resolution"
    assert (body["didDocument"], body["didDocumentMetadata"]) == (None, {})
    assert (body["content"], body["contentStream"], body["contentMetadata"]) == (None, None, {})
    found = body["didResolutionMetadata"]["error"]
    assert body["dereferencingMetadata"]["error"] == found
    assert set(found) == {"type", "title", "detail"}
    assert body["error"]["details"]["requestId"] == response.headers["x-request-id"]
    return str(found["type"]).removeprefix(W3C)


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/did-resolution"),
        ("*/*", PROFILED),
        ("application/json", "application/json"),
        ("application/did-resolution", "application/did-resolution"),
        ("application/json, text/plain, */*", "application/json"),
        (PROFILED, PROFILED),
        (PROFILED + ", application/did+ld+json;q=0.5", PROFILED),
    ],
)
def test_a_resolution_result(target: Target, hana: Holder, accept: str | None, media: str) -> None:
    response = get(target, hana.did, accept)
    assert (response.status, response.headers["content-type"]) == (200, media)
    body = json.loads(response.body)
    assert set(body) == RESULT
    assert body["didDocument"]["id"] == hana.did
    assert body["didDocumentMetadata"]["versionId"] == "2"
    assert body["didResolutionMetadata"]["contentType"] == "application/did"


@pytest.mark.parametrize(
    "media", ["application/did", "application/did+json", "application/did+ld+json", "application/ld+json"]
)
def test_the_bare_document(target: Target, hana: Holder, media: str) -> None:
    response = get(target, hana.did, media)
    assert (response.status, response.headers["content-type"]) == (200, media)
    assert json.loads(response.body)["id"] == hana.did


def test_keys_as_multikeys(target: Target, hana: Holder) -> None:
    def request_with(suffix: str, **headers: str) -> Any:
        answer = target.wire.call("GET", PATH + suffix, None, {"Accept": "application/did", **headers})
        assert answer.status == 200, answer.body
        return answer.json

    plain, found = request_with(hana.did), request_with(f"{hana.did}?publicKeyFormat=Multikey")
    assert {one["type"] for one in found["verificationMethod"]} == {"Multikey"}
    assert "https://w3id.org/security/multikey/v1" in found["@context"]
    assert [one | {"type": ""} for one in found["verificationMethod"]] == [
        one | {"type": ""} for one in plain["verificationMethod"]
    ]
    assert found["service"] == plain["service"]
    key = request_with(f"{hana.key_id.replace('#', '%23')}?publicKeyFormat=Multikey")
    assert (key["id"], key["type"]) == (hana.key_id, "Multikey")
    posted = post(target, hana.did, b'{"publicKeyFormat":"Multikey"}', b"Accept: application/did")
    assert json.loads(posted.body) == found
    # What is remembered is the document as it is.
    assert request_with(hana.did) == plain
    for text in ("multikey", "JsonWebKey", "", "Multikey&publicKeyFormat=Multikey"):
        assert get(target, f"{hana.did}?publicKeyFormat={text}").status == 400


def test_each_form_has_an_entity_tag_of_its_own(target: Target, hana: Holder) -> None:
    forms = (
        "application/did-resolution",
        "application/did",
        "application/ld+json",
        "application/did-url-dereferencing",
    )
    tags = [get(target, hana.did, media).headers["etag"] for media in (*forms, PROFILED)]
    # The profile is another name of the same bytes.
    assert len(set(tags)) == len(forms)
    assert tags[-1] == tags[0]
    again = b"If-None-Match: " + tags[1].encode()
    raw = request("GET", PATH + hana.did, b"Accept: application/did", again)
    assert exchange(target.wire.address, raw, head=True).status == 304


def test_the_dereferencing_result(target: Target, hana: Holder) -> None:
    response = get(target, hana.did, "application/did-url-dereferencing")
    body = json.loads(response.body)
    assert (response.status, response.headers["content-type"]) == (200, "application/did-url-dereferencing")
    assert body["content"] == body["contentStream"]
    assert body["content"]["id"] == hana.did
    assert body["dereferencingMetadata"] == {"contentType": "application/did"}


@pytest.mark.parametrize("accept", [None, "application/did-url-dereferencing", "application/did-resolution"])
def test_a_fragment_is_dereferenced(target: Target, hana: Holder, accept: str | None) -> None:
    response = get(target, quote(hana.key_id, safe=""), accept)
    assert (response.status, response.headers["content-type"]) == (200, "application/did-url-dereferencing")
    assert json.loads(response.body)["content"]["id"] == hana.key_id


@pytest.mark.parametrize("accept", ["application/json", "application/did", "application/did+ld+json"])
def test_a_fragment_alone(target: Target, hana: Holder, accept: str) -> None:
    response = get(target, quote(f"{hana.did}#files", safe=""), accept)
    assert (response.status, response.headers["content-type"]) == (200, accept)
    assert json.loads(response.body)["type"] == "LinkedDomains"


@pytest.mark.parametrize(
    ("after", "place"),
    [
        ("?service=files", "https://hana.example/base/x?y=1"),
        ("?service=files&relativeRef=%2Fz", "https://hana.example/z"),
        ("?service=files&relativeRef=z%3Fa%3Db", "https://hana.example/base/z?a=b"),
        ("?service=files&relativeRef=..%2Fz#part", "https://hana.example/z#part"),
        ("?service=files&relativeRef=%2Fr%C3%A9sum%C3%A9.pdf", "https://hana.example/r%C3%A9sum%C3%A9.pdf"),
        ("?service=files&relativeRef=%2F..%2F%2Fthief.example", "https://hana.example//thief.example"),
        ("?service=files&relativeRef=", "https://hana.example/base/x?y=1"),
        ("?versionId=2&service=files", "https://hana.example/base/x?y=1"),
    ],
)
def test_a_service_is_a_place_to_go_on(target: Target, hana: Holder, after: str, place: str) -> None:
    response = get(target, quote(hana.did + after, safe=""))
    assert (response.status, response.headers["location"], response.body) == (303, place, b"")


def test_two_fragments_of_a_service_are_refused(target: Target) -> None:
    """The fragment of the endpoint must not replace that of the DID URL (DID Resolution §5.2)."""
    holder = target.stranger.holder()
    assert holder.act("update", service("frag", "https://ex.example/p#own")).status == 200
    assert get(target, quote(f"{holder.did}?service=frag#x", safe="")).status == 400
    alone = get(target, quote(f"{holder.did}?service=frag", safe=""))
    assert (alone.status, alone.headers["location"]) == (303, "https://ex.example/p#own")


@pytest.mark.parametrize(
    "host", ["[1:2:3:4:5:6:7:8:9]", "[:::]", "[1.2.3.4]", "[::1.2.3.400]", "[12345::]", "[::%25eth0]"]
)
def test_a_malformed_address_is_refused_when_it_is_added(target: Target, host: str) -> None:
    """RFC 3986 §3.2.2: what brackets hold is an IPv6 address."""
    holder = target.stranger.holder()
    refused = holder.act("update", service("files", f"https://{host}/"))
    assert (refused.status, json.loads(refused.body)["error"]["code"]) == (422, "INVALID_DOCUMENT")
    assert holder.act("update", service("files", "https://[2001:db8::1]:8443/a/")).status == 200
    found = get(target, quote(f"{holder.did}?service=files&relativeRef=b", safe=""))
    assert found.headers["location"] == "https://[2001:db8::1]:8443/a/b"


def test_a_version_is_revalidated_after_the_next_one(target: Target) -> None:
    """RFC 9110 §8.8.1: a validator changes with the representation; ``nextVersionId`` is part of it."""
    holder = target.stranger.holder()
    tags = {}
    media = ("application/did-resolution", "application/did+ld+json", "application/did")
    paths = [(path, one) for path in (PATH, "/api/v1/dids/") for one in media]
    for path, accept in paths:
        tags[path, accept] = target.wire.call(
            "GET", f"{path}{holder.did}?versionId=1", None, {"Accept": accept}
        ).headers
    assert holder.act("update", service("files", "https://hana.example/")).status == 200
    for path, accept in paths:
        headers = {"Accept": accept, "If-None-Match": tags[path, accept]["etag"]}
        answer = target.wire.call("GET", f"{path}{holder.did}?versionId=1", None, headers)
        is_bare = accept == "application/did" or (path == PATH and accept == "application/did+ld+json")
        assert answer.status == (304 if is_bare else 200), (path, accept)
        assert ("immutable" in tags[path, accept]["cache-control"]) == is_bare


def test_options_stand_in_the_did_url_or_beside_it(target: Target, hana: Holder) -> None:
    inside = get(target, quote(f"{hana.did}?versionId=1", safe=""))
    beside = get(target, f"{hana.did}?versionId=1")
    assert json.loads(inside.body)["didDocumentMetadata"] == json.loads(beside.body)["didDocumentMetadata"]
    assert json.loads(inside.body)["didDocumentMetadata"]["versionId"] == "1"
    assert inside.headers["cache-control"] == beside.headers["cache-control"] == "public, max-age=5"
    assert get(target, f"{hana.did}?service=files").status == 303
    both = get(target, f"{quote(hana.did + '?versionId=1', safe='')}?versionId=1")
    assert (both.status, problem(both)) == (400, "INVALID_OPTIONS")


@pytest.mark.parametrize(
    "accept", ["application/did-resolution", "application/did", "application/did-url-dereferencing"]
)
def test_a_post_answers_what_a_get_does(target: Target, hana: Holder, accept: str) -> None:
    got = get(target, f"{hana.did}?versionId=1", accept)
    by_option = post(target, hana.did, json.dumps({"versionId": "1", "accept": accept}).encode())
    by_header = post(target, hana.did + "%3FversionId%3D1", b"{}", b"Accept: " + accept.encode())
    overruled = post(target, hana.did, json.dumps({"versionId": "1", "accept": accept}).encode(), b"Accept: text/html")
    for response in (by_option, by_header, overruled):
        assert (response.status, response.headers["content-type"]) == (200, accept)
        assert _untimed(response) == _untimed(got)


def _untimed(response: Response) -> Any:
    body = json.loads(response.body)
    body.get("didResolutionMetadata", {}).pop("duration", None)
    return body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"{}"',
        b'{"versionId":1}',
        b'{"versionId":"0"}',
        b'{"versionId":"1 "}',
        b'{"versionId":"1\\n"}',
        '{"versionId":"\u0661"}'.encode(),
        b'{"versionId":"%s"}' % (b"9" * 16),
        b'{"versionId":"1","versionId":"2"}',
        b'{"versionId":"1","versionTime":"2026-01-01T00:00:00Z"}',
        b'{"versionTime":"yesterday"}',
        b'{"noCache":"true"}',
        b'{"relativeRef":"/x"}',
        b'{"surprise":1}',
        b'{"accept":null}',
        b"{" * 5000,
    ],
)
def test_options_that_are_none(target: Target, hana: Holder, body: bytes) -> None:
    response = post(target, hana.did, body)
    assert (response.status, problem(response)) == (400, "INVALID_OPTIONS")


def test_an_option_stands_in_the_did_url_or_in_the_body(target: Target, hana: Holder) -> None:
    response = post(target, hana.did + "%3FversionId%3D1", b'{"versionId":"1"}')
    assert (response.status, problem(response)) == (400, "INVALID_OPTIONS")
    response = post(target, hana.did + "?versionId=1", b"{}")
    assert (response.status, problem(response)) == (400, "INVALID_OPTIONS")


def test_options_lead_to_no_other_host(target: Target, hana: Holder) -> None:
    for reference in ("//thief.example/", "javascript:alert(1)", "/x\r\nSet-Cookie: a=b", "\t//thief.example/x"):
        response = post(target, hana.did, json.dumps({"service": "files", "relativeRef": reference}).encode())
        assert response.status == 400
        assert "location" not in response.headers
    response = post(target, hana.did, b'{"service":"files","relativeRef":"/z"}')
    assert (response.status, response.headers["location"]) == (303, "https://hana.example/z")


def test_options_come_as_json_only(target: Target, hana: Holder) -> None:
    for media in (b"application/x-www-form-urlencoded", b"text/plain"):
        assert post(target, hana.did, b"versionId=1", media=media).status == 415
    assert post(target, hana.did, b'{"accept":"%s"}' % (b"a" * 300_000)).status == 413


def test_an_old_version_has_no_service_of_later(target: Target, hana: Holder) -> None:
    response = get(target, f"{hana.did}?versionId=1&service=files")
    assert (response.status, problem(response)) == (404, "NOT_FOUND")


def test_a_deactivated_did_is_gone(target: Target) -> None:
    gone = target.stranger.holder()
    assert gone.act("deactivate", LEAVE).status == 200
    for accept in (None, "application/did", "application/did-url-dereferencing", PROFILED):
        for after in ("", "%23files", "%3Fservice%3Dfiles"):
            response = get(target, gone.did + after, accept)
            body = json.loads(response.body)
            assert (response.status, body["didDocument"]) == (410, None)
            assert body["didDocumentMetadata"]["deactivated"] is True
            assert body["error"]["code"] == "DID_DEACTIVATED"


REFUSED: list[tuple[str | bytes, int, str]] = [
    ("not-a-did", 400, "INVALID_DID"),
    ("did:example", 400, "INVALID_DID"),
    ("did:ids:short", 400, "INVALID_DID"),
    ("did:ids:", 400, "INVALID_DID"),
    ("DID:ids:abc", 400, "INVALID_DID"),
    (ABSENT, 404, "NOT_FOUND"),
    (ABSENT + "%23key", 404, "NOT_FOUND"),
    ("did:unsupported:123456789abcdefghi", 501, "METHOD_NOT_SUPPORTED"),
    ("did:unsupported:123%2Fpath", 501, "FEATURE_NOT_SUPPORTED"),
    ("did:unsupported:123/path", 501, "FEATURE_NOT_SUPPORTED"),
    (ABSENT + "%3Fhl%3Dz", 501, "FEATURE_NOT_SUPPORTED"),
    (ABSENT + "%3FversionId%3Dfirst", 400, "INVALID_DID_URL"),
    (ABSENT + "%3FversionId%3D0", 400, "INVALID_DID_URL"),
    (ABSENT + "%3FversionId%3D1%26versionId%3D2", 400, "INVALID_DID_URL"),
    (ABSENT + "%3FversionId%3D1%26versionTime%3D2026-01-01T00:00:00Z", 400, "INVALID_OPTIONS"),
    (ABSENT + "%3FversionTime%3Dyesterday", 400, "INVALID_OPTIONS"),
    (ABSENT + "%3Fservice%3D%25ff", 400, "INVALID_DID_URL"),
    (ABSENT + "%3FrelativeRef%3D%252Fx", 400, "INVALID_OPTIONS"),
    (ABSENT + "%23%3Cscript%3E", 400, "INVALID_DID_URL"),
    (ABSENT + "%23a%23b", 400, "INVALID_DID_URL"),
    (ABSENT + "%3F" + "a" * 3000, 400, "INVALID_DID_URL"),
    (ABSENT + "?versionId=first", 400, "INVALID_OPTIONS"),
    (ABSENT + "?surprise=1", 400, "INVALID_OPTIONS"),
    ("did:" + "a" * 7000 + ":x", 400, "INVALID_DID"),
    ("did%3Aids%3A%2500", 400, "INVALID_DID"),
    ("did:web:a.example?noCache=true", 404, "NOT_FOUND"),
    (ABSENT + "%3F" + "service%3Da%26" * 100, 400, "INVALID_DID_URL"),
]


@pytest.mark.parametrize(("identifier", "status", "kind"), REFUSED, ids=[str(case[0])[:60] for case in REFUSED])
def test_unresolvable_did_is_refused(target: Target, identifier: str | bytes, status: int, kind: str) -> None:
    for accept in (None, "application/did", "application/did-url-dereferencing"):
        response = get(target, identifier, accept)
        assert (response.status, problem(response)) == (status, kind)
    assert get(target, identifier, method="HEAD").status == status


@pytest.mark.parametrize(
    "reference",
    [
        "//thief.example/",
        "https://thief.example/",
        "javascript:alert(1)",
        "\\\\thief.example",
        "/\\thief.example",
        "/x\r\nSet-Cookie: a=b",
        "/\u202e",
        "x:y",
        # RFC 3986 §4.2 has none of these, and a lax reader removes them before it looks for the authority.
        "\t//thief.example/x",
        "\n//thief.example/x",
        "\r//thief.example/x",
        " //thief.example/x",
        "/\t/thief.example",
        "/\n/thief.example",
        "\x00//thief.example",
        "\x85//thief.example",
        "\ufeff//thief.example\\",
        "h\tttps://thief.example",
        "/x#a#b",
        "/%zz",
        "/[x]",
    ],
)
def test_a_relative_reference_leads_to_no_other_host(target: Target, hana: Holder, reference: str) -> None:
    """In the query, and in the DID URL, where it is encoded twice."""
    beside = get(target, f"{hana.did}?service=files&relativeRef={quote(reference, safe='')}")
    inside = get(target, quote(f"{hana.did}?service=files&relativeRef={quote(reference, safe='')}", safe=""))
    for response in (beside, inside):
        assert response.status == 400, response.headers
        assert "location" not in response.headers
        assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 400),
        (b"%", 400),
        (b"%ff%fe", 400),
        (b"%00", 400),
        (b"did:ids:%0d%0aX-Evil:%201", 400),
        (b"../../api/v1/keys", 400),
        (b"..%2f..%2fapi%2fv1%2fkeys", 400),
        (b"\xff\xfe", 400),
        (b"did:ids:" + b"a" * 20_000, 400),
        # More than a head may have, so that the connection refuses it.
        (b"did:ids:" + b"a" * 100_000, 431),
        (b"%64" * 2000, 400),
        (b"/" * 4000, 400),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_octets_that_are_no_identifier(target: Target, data: bytes, status: int) -> None:
    response = get(target, data)
    assert response.status == status
    body = json.loads(response.body)
    assert body["error"]["details"]["requestId"] == response.headers["x-request-id"]
    assert "x-evil" not in response.headers


@pytest.mark.parametrize(
    "accept",
    ["text/html", "application/did;q=0", "application/x-unknown", "*/*;q=0"],
)
def test_a_representation_that_no_one_serves(target: Target, hana: Holder, accept: str) -> None:
    response = get(target, hana.did, accept)
    assert (response.status, problem(response)) == (406, "REPRESENTATION_NOT_SUPPORTED")


def test_a_bomb_of_accepts_costs_nothing(target: Target, hana: Holder) -> None:
    many = ",".join(f"application/x-{number};q=0.{number % 1000:03}" for number in range(700))
    assert get(target, hana.did, many).status == 200
    fields = [b"Accept: application/did;x=" + b"y" * 20_000] * 2
    raw = request("GET", PATH + hana.did, *fields)
    assert exchange(target.wire.address, raw).status == 431


def test_the_refusal_repeats_no_secret(target: Target, hana: Holder) -> None:
    secret = "z3u2en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq"
    for after in (f"%23{secret}", f"%3F{secret}%3D1", f"%3FversionId%3D{secret}", f"%3Fservice%3D{secret}"):
        assert secret.encode() not in get(target, hana.did + after).body
    for did in ("did:ids:{}", "did:key:{}", "did:web:{}", "did:web:host.example:{}", "did:absent:{}"):
        response = get(target, did.format(secret))
        assert response.status in (400, 404, 501, 503)
        assert secret.encode() not in response.body


def test_resolvable_did_is_described(target: Target) -> None:
    def describe(name: str) -> Any:
        response = exchange(target.wire.address, request("GET", f"/1.0/{name}"))
        assert (response.status, response.headers["content-type"]) == (200, "application/json")
        return json.loads(response.body)

    assert describe("methods") == sorted(describe("traits")) == sorted(describe("properties"))
    assert {"ids", "key", "web"} <= set(describe("methods"))
    assert describe("properties")["ids"]["mutable"] is True
    for name, traits in describe("traits").items():
        assert traits.pop("name") == name
        assert set(map(type, traits.values())) == {bool}
    for dids in describe("testIdentifiers").values():
        for did in dids:
            assert get(target, did).status == 200


@pytest.mark.parametrize("did", ["did:web:127.0.0.1%3A1", "did:web:host.example%3A8443:user"])
def test_a_port_may_stand_as_it_stands_in_the_did(target: Target, did: str) -> None:
    """The same DID, as it is and percent-encoded; what has no port is another DID."""
    as_it_is, encoded = get(target, did), get(target, quote(did, safe=""))
    assert json.loads(as_it_is.body)["error"]["details"].get("did") == did
    assert json.loads(encoded.body)["error"]["details"].get("did") == did


JWK = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


def jwk_did(key: dict[str, str]) -> str:
    return f"did:jwk:{base64url(json.dumps(key).encode())}"


@pytest.mark.parametrize("media", [None, "application/did", "application/did+ld+json"])
def test_a_did_jwk_says_itself_what_its_document_is(target: Target, media: str | None) -> None:
    did = jwk_did(JWK)
    response = get(target, did, media)
    assert response.status == 200
    body = json.loads(response.body)
    (method,) = (body if media else body["didDocument"])["verificationMethod"]
    assert method == {"id": f"{did}#0", "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": JWK}
    assert target.wire.call("GET", f"/api/v1/dids/{did}").json["didDocument"]["verificationMethod"] == [method]


def test_a_did_jwk_of_a_private_key_does_not_come_back(target: Target) -> None:
    private = jwk_did(JWK | {"d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"})
    response = get(target, private)
    assert (response.status, problem(response)) == (400, "INVALID_DID")
    assert private.removeprefix("did:jwk:").encode() not in response.body


def test_nobody_signs_in_as_a_did_jwk(target: Target) -> None:
    """Anybody can make one, and none is registered."""
    did = jwk_did(JWK)
    assert target.wire.call("GET", f"/api/v1/auth/challenge?did={did}").outcome == (404, "DID_NOT_FOUND")
    made = target.stranger.create({"method": "jwk"})
    assert made.outcome == (422, "INVALID_DOCUMENT")
