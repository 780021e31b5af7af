"""``/oauth/token`` by raw bytes: no token without a fresh assertion that a current key of the DID has signed.

RFC 6749 §5.2, RFC 7523 §3, draft-ietf-oauth-rfc7523bis, RFC 8707 §2.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from nacl.signing import SigningKey

from tests.attack.conftest import Target
from tests.attack.raw_http import exchange
from tests.attack.stranger import PREFIX, Answer, Holder, at_once, base64url, multikey, public, rotation

FORM = "application/x-www-form-urlencoded"
TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
DESCRIPTION = set(range(0x20, 0x7F)) - set(b'"\\')
CLIENT = (400, "invalid_client")
REQUEST = (400, "invalid_request")


@pytest.fixture(scope="module")
def aki(targets: Callable[[int], Target]) -> Holder:
    return targets(1).stranger.holder()


@pytest.fixture(scope="module")
def mallory(targets: Callable[[int], Target]) -> Holder:
    return targets(1).stranger.holder()


def claims(holder: Holder, **other: Any) -> dict[str, Any]:
    now = int(time.time())
    said = {"iss": holder.did, "sub": holder.did, "aud": holder.wire.url, "iat": now, "exp": now + 60}
    return said | {"jti": str(uuid.uuid4())} | other


def jwt(head: Any, said: Any, key: SigningKey) -> str:
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (head, said)]
    text = ".".join(map(base64url, parts))
    return f"{text}.{base64url(key.sign(text.encode()).signature)}"


def assertion(holder: Holder, head: dict[str, Any] | None = None, key: SigningKey | None = None, **other: Any) -> str:
    return jwt({"alg": "EdDSA", **(head or {})}, claims(holder, **other), key or holder.key)


def form(text: str, **other: str | None) -> list[tuple[str, str]]:
    fields = {"grant_type": "client_credentials", "client_assertion_type": TYPE, "client_assertion": text, **other}
    return [(name, value) for name, value in fields.items() if value is not None]


def post(target: Target, fields: list[tuple[str, str]] | bytes, **headers: str) -> Answer:
    data = fields if isinstance(fields, bytes) else urlencode(fields).encode()
    sent = {"Content-Type": FORM} | {name.replace("_", "-"): value for name, value in headers.items()}
    return target.wire.call("POST", "/oauth/token", data, sent)


def refusal(answer: Answer) -> tuple[int, str]:
    """Status and error of a refusal that has OAuth's shape."""
    body = answer.json
    assert set(body) == {"error", "error_description", "code", "details"}
    assert set(body["error_description"].encode()) <= DESCRIPTION
    assert body["details"]["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    assert ("www-authenticate" in answer.headers) == (answer.status == 401)
    return answer.status, body["error"]


def claims_of(token: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return said


def test_valid_assertion_gets_token_of_did(target: Target, aki: Holder) -> None:
    fields = form(assertion(aki), scope="zkp:prove delegations:read", resource=target.wire.url + PREFIX)
    answer = post(target, fields)
    assert answer.status == 200, answer.body
    assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
    assert set(answer.json) == {"access_token", "token_type", "expires_in", "scope"}
    assert answer.json["scope"] == "delegations:read zkp:prove"
    said = claims_of(answer.json["access_token"])
    assert (said["sub"], said["client_id"], said["iss"]) == (aki.did, aki.did, target.wire.url)
    assert (said["aud"], said["exp"] - said["iat"]) == (target.wire.url + PREFIX, answer.json["expires_in"])
    bearer = {"Authorization": f"Bearer {answer.json['access_token']}"}
    assert target.wire.call("GET", f"{PREFIX}/delegations", None, bearer).status == 200
    assert target.wire.call("GET", f"{PREFIX}/credentials", None, bearer).outcome == (403, "FORBIDDEN")


GOOD: dict[str, Callable[[Holder], str]] = {
    "kid and typ JWT": lambda one: assertion(one, {"kid": one.key_id, "typ": "JWT"}),
    "the name of RFC 9864": lambda one: assertion(one, {"alg": "Ed25519"}),
    "typ of rfc7523bis": lambda one: assertion(one, {"typ": "client-authentication+jwt"}),
    "the token endpoint as audience": lambda one: assertion(one, aud=f"{one.wire.url}/oauth/token"),
    "a list of one audience": lambda one: assertion(one, aud=[one.wire.url]),
    "an hour": lambda one: assertion(one, exp=int(time.time()) + 3600),
    "claims of its own": lambda one: assertion(one, nbf=int(time.time()), tenant="x"),
}


@pytest.mark.parametrize("name", GOOD)
def test_requests_of_other_clients_are_accepted(target: Target, aki: Holder, name: str) -> None:
    answer = post(target, form(GOOD[name](aki), client_id=aki.did, resource=f"{target.wire.url}/"))
    assert answer.status == 200, answer.body
    assert "scope" not in answer.json
    assert claims_of(answer.json["access_token"])["aud"] == target.wire.url


def symmetric(holder: Holder, alg: str, secret: bytes) -> str:
    text = ".".join(base64url(json.dumps(part).encode()) for part in ({"alg": alg}, claims(holder)))
    return f"{text}.{base64url(hmac.digest(secret, text.encode(), hashlib.sha256))}"


def twice(holder: Holder) -> str:
    said = json.dumps(claims(holder))[:-1].encode() + b',"sub":"did:ids:x"}'
    return jwt({"alg": "EdDSA"}, said, holder.key)


Hostile = Callable[[Holder, Holder], str]
HOSTILE: dict[str, Hostile] = {
    "no signature": lambda one, _: assertion(one, {"alg": "none"}).rpartition(".")[0] + ".",
    "alg none with a signature": lambda one, _: assertion(one, {"alg": "none"}),
    "HS256 by the public key": lambda one, _: symmetric(one, "HS256", bytes(one.key.verify_key)),
    "HS256 by the multikey": lambda one, _: symmetric(one, "HS256", public(one.key).encode()),
    "EdDSA by an HMAC": lambda one, _: symmetric(one, "EdDSA", bytes(one.key.verify_key)),
    "alg ES256": lambda one, _: assertion(one, {"alg": "ES256"}),
    "alg as a list": lambda one, _: assertion(one, {"alg": ["EdDSA"]}),
    "a key in the header": lambda one, other: assertion(
        one, {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": base64url(bytes(other.key.verify_key))}}, other.key
    ),
    "jku": lambda one, other: assertion(one, {"jku": "https://evil.example/jwks.json"}, other.key),
    "crit": lambda one, _: assertion(one, {"crit": ["exp"], "exp": 1}),
    "typ of an access token": lambda one, _: assertion(one, {"typ": "at+jwt"}),
    "signed by another": lambda one, other: assertion(one, key=other.key),
    "kid of another, signed by another": lambda one, other: assertion(one, {"kid": other.key_id}, other.key),
    "kid of another, signed by the client": lambda one, other: assertion(one, {"kid": other.key_id}),
    "kid that is a fragment of another DID": lambda one, other: assertion(
        one, {"kid": f"{other.did}#{public(one.key)}"}
    ),
    "kid of no key": lambda one, _: assertion(one, {"kid": f"{one.did}#x"}),
    "kid as a number": lambda one, _: assertion(one, {"kid": 1}),
    "kid of nothing": lambda one, _: assertion(one, {"kid": ""}),
    "sub of another": lambda one, other: assertion(one, sub=other.did),
    "iss and sub of another": lambda one, other: assertion(one, iss=other.did, sub=other.did),
    "an unknown DID": lambda one, _: assertion(one, iss=one.did[:-4] + "zzzz", sub=one.did[:-4] + "zzzz"),
    "no DID": lambda one, _: assertion(one, iss="client", sub="client"),
    "a DID as a list": lambda one, _: assertion(one, iss=[one.did], sub=[one.did]),
    "the audience of another service": lambda one, _: assertion(one, aud="https://id.example"),
    "our host in capitals and a path": lambda one, _: assertion(one, aud=f"{one.wire.url}/OAUTH/token"),
    "two audiences": lambda one, _: assertion(one, aud=[one.wire.url, "https://id.example"]),
    "the token endpoint under the explicit typ": lambda one, _: assertion(
        one, {"typ": "client-authentication+jwt"}, aud=f"{one.wire.url}/oauth/token"
    ),
    "no audience": lambda one, _: assertion(one, aud=None),
    "expired": lambda one, _: assertion(one, exp=int(time.time()) - 1),
    "expires now": lambda one, _: assertion(one, exp=int(time.time())),
    "expires in a day": lambda one, _: assertion(one, exp=int(time.time()) + 86_400),
    "exp as text": lambda one, _: assertion(one, exp=str(int(time.time()) + 60)),
    "exp as true": lambda one, _: assertion(one, exp=True),
    "not yet": lambda one, _: assertion(one, nbf=int(time.time()) + 600),
    "of tomorrow": lambda one, _: assertion(one, iat=int(time.time()) + 600),
    "no jti": lambda one, _: assertion(one, jti=None),
    "an empty jti": lambda one, _: assertion(one, jti=""),
    "a long jti": lambda one, _: assertion(one, jti="j" * 257),
    "a jti as a list": lambda one, _: assertion(one, jti=["a"]),
    "a name twice": lambda one, _: twice(one),
    "padding": lambda one, _: assertion(one) + "==",
    "four parts": lambda one, _: assertion(one) + ".e30",
    "not ASCII": lambda one, _: assertion(one) + "é",
    "too long": lambda one, _: assertion(one, filler="x" * 8_192),
    "no JWT": lambda one, _: "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nobody_else_gets_a_token(target: Target, aki: Holder, mallory: Holder, name: str) -> None:
    answer = post(target, form(HOSTILE[name](aki, mallory)))
    assert refusal(answer) == CLIENT
    assert answer.json["code"] == "AUTH_FAILED"
    # What was wrong is not said: it would tell a stranger which DIDs and keys there are.
    assert answer.json["error_description"] == post(target, form("x")).json["error_description"]


def test_times_of_an_assertion_may_have_fractions(target: Target, aki: Holder) -> None:
    """RFC 7519 §2: a NumericDate may be a non-integer value. An expired one is refused as well."""
    now = time.time()
    assert post(target, form(assertion(aki, exp=now + 60.5, iat=now - 0.5, nbf=now - 0.25))).status == 200
    assert refusal(post(target, form(assertion(aki, exp=now - 0.5)))) == CLIENT


def test_an_assertion_works_once_in_any_process_and_at_once(targets: Callable[[int], Target]) -> None:
    target = targets(2)
    text = assertion(target.stranger.holder())
    statuses = [answer.status for answer in at_once(target.wire, [lambda: post(target, form(text))] * 8)]
    assert sorted(statuses) == [200, *[400] * 7]
    assert refusal(post(target, form(text))) == CLIENT


def test_a_jti_is_the_clients_own(target: Target, aki: Holder, mallory: Holder) -> None:
    jti = str(uuid.uuid4())
    # A forgery spends nothing, and another client's jti is another one.
    assert refusal(post(target, form(assertion(aki, key=mallory.key, jti=jti)))) == CLIENT
    assert post(target, form(assertion(mallory, jti=jti))).status == 200
    assert post(target, form(assertion(aki, jti=jti))).status == 200
    # Another text with the same jti is the same assertion.
    assert refusal(post(target, form(assertion(aki, jti=jti, exp=int(time.time()) + 30)))) == CLIENT


def test_a_key_that_was_replaced_and_a_did_that_has_ended(target: Target) -> None:
    holder, new = target.stranger.holder(), SigningKey.generate()
    turn = rotation(holder.key_id, multikey(bytes(new.verify_key)))
    assert holder.act("rotate", turn).status == 200
    assert refusal(post(target, form(assertion(holder)))) == CLIENT
    assert refusal(post(target, form(assertion(holder, {"kid": holder.key_id})))) == CLIENT
    answer = post(target, form(assertion(holder, key=new)))
    assert answer.status == 200
    holder.key = new
    assert holder.act("deactivate", {"confirm": True, "reason": "over"}).status == 200
    assert refusal(post(target, form(assertion(holder, key=new)))) == CLIENT
    bearer = {"Authorization": f"Bearer {answer.json['access_token']}"}
    assert target.wire.call("GET", f"{PREFIX}/delegations", None, bearer).outcome == (401, "AUTH_FAILED")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"grant_type": None}, REQUEST),
        ({"grant_type": ""}, REQUEST),
        ({"grant_type": "refresh_token"}, (400, "unsupported_grant_type")),
        ({"grant_type": "Client_credentials"}, (400, "unsupported_grant_type")),
        ({"client_assertion": None}, CLIENT),
        ({"client_assertion_type": None}, CLIENT),
        ({"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"}, CLIENT),
        ({"client_id": "did:ids:another"}, CLIENT),
        ({"scope": "zkp:prove  zkp:verify"}, (400, "invalid_scope")),
        ({"scope": "everything"}, (400, "invalid_scope")),
        ({"scope": "audit:read"}, (400, "invalid_scope")),
        ({"scope": "dids:operate"}, (400, "invalid_scope")),
        ({"resource": "https://other.example"}, (400, "invalid_target")),
        ({"resource": "/mcp"}, (400, "invalid_target")),
        ({"resource": "x" * 9000}, (400, "invalid_target")),
    ],
)
def test_requests_that_are_refused(
    target: Target, aki: Holder, change: dict[str, str | None], expected: tuple[int, str]
) -> None:
    text = assertion(aki)
    fields = dict(form(text)) | change
    assert refusal(post(target, [(name, value) for name, value in fields.items() if value is not None])) == expected
    # Nothing was spent, and the same assertion still works where the request is right.
    assert post(target, form(text)).status == 200


@pytest.mark.parametrize("name", ["grant_type", "client_assertion", "client_assertion_type", "resource", "scope", "x"])
def test_a_parameter_that_comes_twice(target: Target, aki: Holder, name: str) -> None:
    fields = form(assertion(aki), resource=target.wire.url, scope="zkp:prove", x="1")
    again = dict(fields)[name]
    assert refusal(post(target, [*fields, (name, again)])) == REQUEST
    assert refusal(post(target, [*fields, (name, "")])) == REQUEST
    escaped = urlencode(fields).encode() + b"&%" + b"%02X" % ord(name[0]) + name[1:].encode() + b"=y"
    assert refusal(post(target, escaped)) == REQUEST


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff=\xfe", b"grant_type=%ff%fe", b"&".join(b"a%d=1" % number for number in range(40)), b"{}"],
    ids=["nothing", "bytes", "no UTF-8", "many", "JSON"],
)
def test_bodies_that_are_no_form(target: Target, data: bytes) -> None:
    assert refusal(post(target, data)) == REQUEST


def test_media_types_sizes_and_methods(target: Target, aki: Holder) -> None:
    fields = form(assertion(aki))
    assert refusal(post(target, json.dumps(dict(fields)).encode(), Content_Type="application/json"))[0] == 415
    assert refusal(post(target, b"a=" + b"x" * (32 * 1024))) == (413, "invalid_request")
    assert refusal(target.wire.call("GET", "/oauth/token")) == (405, "invalid_request")
    assert post(target, fields, Content_Type=f"{FORM};charset=UTF-8").status == 200


def test_large_content_length_is_refused_early(target: Target) -> None:
    head = f"POST /oauth/token HTTP/1.1\r\nHost: h\r\nContent-Type: {FORM}\r\nContent-Length: 9999999999\r\n\r\n"
    answer = exchange(target.wire.address, head.encode())
    assert (answer.status, json.loads(answer.body)["error"]) == (413, "invalid_request")


@pytest.mark.parametrize("header", ["Basic ZGlkOng6", "Bearer x", "DIDAuth x", "ApiKey"])
def test_no_other_way_to_show_who_one_is(target: Target, aki: Holder, header: str) -> None:
    value = f"ApiKey {target.stranger.api_key}" if header == "ApiKey" else header
    answer = post(target, form(assertion(aki)), Authorization=value)
    assert refusal(answer) == (401, "invalid_client")
    assert answer.headers["www-authenticate"] == 'Basic realm="identity"'


def test_agents_find_no_tools_where_nobody_has_switched_them_on(target: Target, aki: Holder) -> None:
    assert refusal(post(target, form(assertion(aki), resource=f"{target.wire.url}/mcp"))) == (400, "invalid_target")
    assert target.wire.call("POST", "/mcp", {}).outcome == (404, "NOT_FOUND")
    assert target.wire.call("GET", "/.well-known/oauth-protected-resource/mcp").outcome == (404, "NOT_FOUND")


def test_a_token_for_one_audience_is_none_of_another_service(target: Target, aki: Holder) -> None:
    """An assertion is not a token, and a token no assertion."""
    text = assertion(aki)
    bearer = {"Authorization": f"Bearer {text}"}
    assert target.wire.call("GET", f"{PREFIX}/delegations", None, bearer).outcome == (401, "AUTH_FAILED")
    token = post(target, form(text)).json["access_token"]
    assert refusal(post(target, form(token))) == CLIENT
