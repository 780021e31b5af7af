"""Hostile access tokens over HTTP: openapi/DECISIONS.md §3.3, §3.5.

Every token is raw text. Those of ``insider`` carry a good signature of the service's own key, made by a custodian that is
opened on the service's files: so nothing but the check under attack can refuse them.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import identity_custodian_sealed
import pytest
from nacl.signing import SigningKey

from identity_core.plugin.sockets import BuildContext
from tests.attack.conftest import Target
from tests.attack.stranger import LEAVE, PREFIX, Answer, Holder, at_once, base64url, header, public, recovery_body

FAILED = (401, "AUTH_FAILED")
FORBIDDEN = (403, "FORBIDDEN")
AMBIGUOUS = (400, "AUTH_AMBIGUOUS")
# What a DID's token opens today is nothing: a token that is believed is 403 here, any other 401.
DIDS = f"{PREFIX}/dids"
TOKEN = f"{PREFIX}/auth/token"


class Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass
class Insider:
    """Signs whatever it is given with the key that signs the service's tokens."""

    data_dir: Path

    def sign(self, message: bytes) -> bytes:
        return asyncio.run(self._sign(message))

    async def _sign(self, message: bytes) -> bytes:
        context = BuildContext(Clock(), logging.getLogger("attack"), self.data_dir, None)
        custodian = identity_custodian_sealed.build(identity_custodian_sealed.SealedSettings(), context)
        try:
            return await custodian.sign("token-1", message)
        finally:
            await custodian.close()

    def token(self, head: Any, claims: Any) -> str:
        text = ".".join(base64url(part) for part in (encode(head), encode(claims)))
        return f"{text}.{base64url(self.sign(text.encode()))}"


def encode(part: Any) -> bytes:
    return part if isinstance(part, bytes) else json.dumps(part).encode()


def parts_of(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of a token."""
    head, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2])
    return head, claims


def use(target: Target, token: str, **more: Any) -> Answer:
    return target.wire.call("GET", DIDS, None, {"Authorization": f"Bearer {token}"}, **more)


def signed_token(hana: Holder, body: Any = None, **how: Any) -> Answer:
    """issueToken under a signature of Hana."""
    body = {} if body is None else body
    return hana.wire.call("POST", TOKEN, body, {"Authorization": hana.signed("token", body, **how)})


def key_token(target: Target, key: str, body: Any = None) -> Answer:
    return target.wire.call("POST", TOKEN, {} if body is None else body, {"X-API-Key": key})


def minted(target: Target, **body: Any) -> tuple[str, str]:
    """The text and the id of a new API key."""
    admin = {"X-API-Key": target.stranger.api_key}
    answer = target.wire.call("POST", f"{PREFIX}/admin/api-keys", {"name": "attack"} | body, admin)
    assert answer.status == 201, answer.body
    return answer.json["apiKey"], answer.json["record"]["id"]


@pytest.fixture
def insider(target: Target) -> Insider:
    return Insider(target.data_dir)


@pytest.fixture
def good(target: Target) -> str:
    """A token of a DID that works."""
    answer = signed_token(target.stranger.holder())
    assert answer.status == 200, answer.body
    assert answer.headers["cache-control"] == "no-store"
    token: str = answer.json["access_token"]
    assert use(target, token).outcome == FORBIDDEN
    return token


Change = Callable[[dict[str, Any], dict[str, Any]], tuple[Any, Any]]
# From a good token to a bad one; its times stay those of the good one, which has just been issued.
HOSTILE: dict[str, Change] = {
    "typ JWT": lambda head, said: (head | {"typ": "JWT"}, said),
    "typ of an ID token": lambda head, said: (head | {"typ": "id+jwt"}, said),
    "no typ": lambda head, said: ({"alg": "EdDSA", "kid": head["kid"]}, said),
    "no kid": lambda head, said: ({"alg": "EdDSA", "typ": "at+jwt"}, said),
    "unknown kid": lambda head, said: (head | {"kid": "token-1"}, said),
    "path as kid": lambda head, said: (head | {"kid": "../../custodian.key"}, said),
    "number as kid": lambda head, said: (head | {"kid": 1}, said),
    "alg none with a signature": lambda head, said: (head | {"alg": "none"}, said),
    "alg ES256": lambda head, said: (head | {"alg": "ES256"}, said),
    "alg as a list": lambda head, said: (head | {"alg": ["EdDSA"]}, said),
    "jku": lambda head, said: (head | {"jku": "https://evil.example/jwks.json"}, said),
    "x5u": lambda head, said: (head | {"x5u": "https://evil.example/cert"}, said),
    "crit": lambda head, said: (head | {"crit": ["exp"], "exp": 1}, said),
    "unencoded payload": lambda head, said: (head | {"b64": False, "crit": ["b64"]}, said),
    "header twice": lambda head, said: (json.dumps(head)[:-1].encode() + b',"alg":"EdDSA"}', said),
    "exp twice": lambda head, said: (head, json.dumps(said)[:-1].encode() + b',"exp":%d}' % (said["iat"] + 500)),
    "sub twice, escaped": lambda head, said: (head, json.dumps(said)[:-1].encode() + b',"\\u0073ub":"did:ids:x"}'),
    "exp as text": lambda head, said: (head, said | {"exp": str(said["exp"])}),
    "exp as NaN": lambda head, said: (head, json.dumps(said | {"exp": 0}).replace('"exp": 0', '"exp": NaN').encode()),
    "exp 1e400": lambda head, said: (head, json.dumps(said | {"exp": 0}).replace('"exp": 0', '"exp": 1e400').encode()),
    "exp as true": lambda head, said: (head, said | {"exp": True}),
    "exp missing": lambda head, said: (head, {name: said[name] for name in said if name != "exp"}),
    "exp in the past": lambda head, said: (head, said | {"iat": said["iat"] - 700, "exp": said["iat"] - 100}),
    "exp in ten years": lambda head, said: (head, said | {"exp": said["iat"] + 10 * 365 * 86_400}),
    "exp beyond 64 bits": lambda head, said: (head, said | {"exp": 10**30}),
    "iat in the future": lambda head, said: (head, said | {"iat": said["iat"] + 300, "exp": said["iat"] + 400}),
    "iat as text": lambda head, said: (head, said | {"iat": str(said["iat"])}),
    "another issuer": lambda head, said: (head, said | {"iss": "https://evil.example"}),
    "issuer with a slash": lambda head, said: (head, said | {"iss": said["iss"] + "/"}),
    "issuer as a list": lambda head, said: (head, said | {"iss": [said["iss"]]}),
    "another audience": lambda head, said: (head, said | {"aud": "https://evil.example"}),
    "one of two audiences": lambda head, said: (head, said | {"aud": [said["aud"], "https://evil.example"]}),
    "no audience": lambda head, said: (head, {name: said[name] for name in said if name != "aud"}),
    "another subject": lambda head, said: (head, said | {"sub": "did:ids:" + "Qm" + "a" * 44}),
    "number as subject": lambda head, said: (head, said | {"sub": 5}),
    "a made-up actor": lambda head, said: (head, said | {"act": {"sub": "key:admin"}}),
    "a made-up key": lambda head, said: (head, said | {"client_id": "key:admin", "sub": "key:admin"}),
    "a key of another client": lambda head, said: (
        head,
        said | {"key": "z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"},
    ),
    "an unknown claim": lambda head, said: (head, said | {"admin": True}),
    "claims as a list": lambda head, said: (head, [said]),
    "claims 40 levels deep": lambda head, said: (head, b"[" * 40 + b"]" * 40),
    "claims in UTF-16": lambda head, said: (head, json.dumps(said).encode("utf-16")),
    "oversize": lambda head, said: (head, said | {"jti": "j" * 20_000}),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_good_signature_does_not_help_a_bad_token(target: Target, insider: Insider, good: str, name: str) -> None:
    assert use(target, insider.token(*HOSTILE[name](*parts_of(good)))).outcome == FAILED


def test_the_insider_can_make_a_good_one(target: Target, insider: Insider, good: str) -> None:
    head, said = parts_of(good)
    assert use(target, insider.token(head, said)).outcome == FORBIDDEN
    assert use(target, insider.token(head | {"alg": "Ed25519"}, said | {"jti": "another"})).outcome == FORBIDDEN


def test_other_forms_that_the_standards_allow(target: Target, insider: Insider, good: str) -> None:
    """RFC 7515 §4.1.9: media types are compared without regard to case. RFC 7519 §2: a NumericDate may have a fraction."""
    head, said = parts_of(good)
    assert use(target, insider.token(head | {"typ": "AT+JWT"}, said)).outcome == FORBIDDEN
    assert use(target, insider.token(head, said | {"exp": said["exp"] - 0.5})).outcome == FORBIDDEN
    assert (
        use(target, insider.token(head, said | {"iat": said["iat"] - 700, "exp": said["iat"] - 100.5})).outcome
        == FAILED
    )


def test_no_algorithm_but_the_key_s_own(target: Target, good: str) -> None:
    """alg none, and the public key as the secret of a MAC."""
    head, said = parts_of(good)
    jwks = target.wire.call("GET", "/.well-known/jwks.json").json
    (key,) = [one for one in jwks["keys"] if one["kid"] == head["kid"]]
    raw = base64.urlsafe_b64decode(key["x"] + "=")
    for spelling in ("none", "None", "NONE", ""):
        text = ".".join(base64url(encode(part)) for part in (head | {"alg": spelling}, said))
        assert use(target, text + ".").outcome == FAILED
        assert use(target, text + "." + good.rpartition(".")[2]).outcome == FAILED
    for secret in (raw, key["x"].encode(), json.dumps(key).encode(), json.dumps(jwks).encode(), b""):
        text = ".".join(base64url(encode(part)) for part in (head | {"alg": "HS256"}, said))
        mac = hmac.digest(secret, text.encode(), hashlib.sha256)
        assert use(target, f"{text}.{base64url(mac)}").outcome == FAILED


def test_a_key_that_the_token_brings_along_is_not_used(target: Target, good: str) -> None:
    head, said = parts_of(good)
    mine = SigningKey.generate()
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": base64url(bytes(mine.verify_key)), "kid": head["kid"]}
    for more in ({}, {"jwk": jwk}, {"jwk": jwk, "kid": "mine"}, {"x5c": ["AAAA"]}, {"kid": "mine"}):
        text = ".".join(base64url(encode(part)) for part in (head | more, said))
        assert use(target, f"{text}.{base64url(mine.sign(text.encode()).signature)}").outcome == FAILED


def test_one_spelling_of_a_token(target: Target, good: str) -> None:
    """Padding, the other alphabet, blanks, surplus parts, and every single character changed."""
    first, second, third = good.split(".")
    for text in (
        f"{first}.{second}=.{third}",
        f"{first}=.{second}.{third}",
        f"{first}.{second}.{third}=",
        f"{first}.{second}.{third}==",
        f"{first}.{second}.{third}.",
        f".{first}.{second}.{third}",
        f"{first}..{third}",
        f"{first}.{second}.",
        f"{first}. {second}.{third}",
        f'"{good}"',
        good.swapcase(),
        good + "A",
        good[:-1],
        f"{third}.{second}.{first}",
    ):
        assert use(target, text).outcome == FAILED, text
    last = third[-1]
    for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        if other != last:
            assert use(target, good[:-1] + other).outcome == FAILED
    for place in range(0, len(good), 7):
        changed = good[:place] + ("A" if good[place] != "A" else "B") + good[place + 1 :]
        assert use(target, changed).outcome == FAILED, place


def test_parts_of_two_good_tokens_make_no_third(target: Target) -> None:
    one, two = (signed_token(target.stranger.holder()).json["access_token"] for _ in range(2))
    head, first, _ = one.split(".")
    _, second, signature = two.split(".")
    assert use(target, f"{head}.{first}.{signature}").outcome == FAILED
    assert use(target, f"{head}.{second}.{signature}").outcome == FORBIDDEN


def test_a_token_is_no_other_credential(target: Target, good: str) -> None:
    for scheme in ("DIDAuth", "RecoveryKey", "ApiKey"):
        answer = target.wire.call("POST", TOKEN, {}, {"Authorization": f"{scheme} {good}"})
        assert answer.status == 401, scheme
    assert target.wire.call("GET", DIDS, None, {"X-API-Key": good}).outcome == FAILED
    assert target.wire.call("POST", TOKEN, {}, {"Authorization": f"Bearer {good}"}).outcome == FAILED
    both = {"Authorization": f"Bearer {good}", "X-API-Key": target.stranger.api_key}
    assert target.wire.call("GET", DIDS, None, both).outcome == AMBIGUOUS
    hana = target.stranger.holder()
    assert hana.send("update", LEAVE, f"Bearer {good}").outcome in (FAILED, (401, "AUTH_REQUIRED"))


def test_a_signature_for_something_else_gets_no_token(target: Target) -> None:
    hana = target.stranger.holder()
    for act in ("update", "deactivate", "rotate"):
        assert hana.wire.call("POST", TOKEN, {}, {"Authorization": hana.signed(act, {})}).outcome == FAILED
    recovery = header(hana.did, hana.recovery.sign(hana.challenge("token").encode()).signature, "RecoveryKey")  # type: ignore[union-attr]
    assert hana.wire.call("POST", TOKEN, {}, {"Authorization": recovery}).status == 401
    other_body = hana.signed("token", {"scope": "zkp:prove"})
    assert hana.wire.call("POST", TOKEN, {}, {"Authorization": other_body}).outcome == FAILED
    for_a_token = hana.signed("token", LEAVE)
    assert hana.send("deactivate", LEAVE, for_a_token).outcome == FAILED
    assert signed_token(hana, key=SigningKey.generate()).outcome == FAILED


def test_one_signature_one_token(target: Target) -> None:
    hana = target.stranger.holder()
    value = hana.signed("token", {})
    answers = at_once(target.wire, [lambda: target.wire.call("POST", TOKEN, {}, {"Authorization": value})] * 32)
    assert sorted(answer.status for answer in answers) == [200] + [401] * 31


def test_a_token_dies_with_its_did(target: Target) -> None:
    hana = target.stranger.holder()
    mine = signed_token(hana).json["access_token"]
    theirs = key_token(target, target.stranger.api_key, {"subject": hana.did}).json["access_token"]
    assert use(target, mine).outcome == use(target, theirs).outcome == FORBIDDEN
    assert hana.act("deactivate", LEAVE).status == 200
    assert use(target, mine).outcome == use(target, theirs).outcome == FAILED
    assert key_token(target, target.stranger.api_key, {"subject": hana.did}).outcome == (410, "DID_DEACTIVATED")


def test_a_token_dies_with_the_key_that_signed_for_it(target: Target) -> None:
    hana = target.stranger.holder()
    stolen = signed_token(hana).json["access_token"]
    fresh = SigningKey.generate()
    assert hana.act("recover", recovery_body(public(fresh))).status == 200
    assert use(target, stolen).outcome == FAILED
    assert use(target, signed_token(hana, key=fresh).json["access_token"]).outcome == FORBIDDEN


def test_a_token_dies_with_its_api_key(either: Target) -> None:
    """In the process that revokes at once; in another within the two seconds for which it remembers keys."""
    key, key_id = minted(either, scopes=["dids:list"])
    token = key_token(either, key).json["access_token"]
    assert use(either, token).status == 200
    admin = {"X-API-Key": either.stranger.api_key}
    assert either.wire.call("DELETE", f"{PREFIX}/admin/api-keys/{key_id}", None, admin).status == 200
    if either.processes > 1:
        time.sleep(2.1)
    for _ in range(4):
        assert use(either, token, fresh=True).outcome == FAILED


def test_a_token_never_does_more_than_its_key(target: Target) -> None:
    key, _ = minted(target, scopes=["dids:list"])
    for scope in ("keys:admin", "dids:create", "dids:list dids:create", "dids:operate"):
        assert key_token(target, key, {"scope": scope}).outcome == FORBIDDEN
    hana = target.stranger.holder()
    assert key_token(target, key, {"subject": hana.did}).outcome == FORBIDDEN
    token = key_token(target, key).json["access_token"]
    create = target.wire.call("POST", DIDS, {"method": "ids"}, {"Authorization": f"Bearer {token}"})
    assert create.outcome == FORBIDDEN
    admin = target.wire.call("GET", f"{PREFIX}/admin/api-keys", None, {"Authorization": f"Bearer {token}"})
    assert admin.outcome == FORBIDDEN
    narrowed = key_token(target, target.stranger.api_key, {"scope": "dids:list"}).json["access_token"]
    admin = target.wire.call("GET", f"{PREFIX}/admin/api-keys", None, {"Authorization": f"Bearer {narrowed}"})
    assert admin.outcome == FORBIDDEN


def test_a_token_holds_no_trace_of_its_api_key(target: Target) -> None:
    """A short key could be guessed from its hash."""
    key = target.stranger.api_key
    token = key_token(target, key).json["access_token"]
    seen = "".join(json.dumps(part) for part in parts_of(token))
    digest = hashlib.sha256(key.encode())
    for trace in (key, digest.hexdigest(), digest.hexdigest()[:12], base64url(digest.digest())):
        assert trace not in seen
    again = key_token(target, key).json["access_token"]
    assert parts_of(token)[1]["key"] != parts_of(again)[1]["key"]


def test_the_allowlist_holds_for_tokens(target: Target) -> None:
    hana, eve = target.stranger.holder(), target.stranger.holder()
    key, key_id = minted(target, scopes=["dids:operate"], allowedTargets=[hana.did])
    assert key_token(target, key, {"subject": eve.did}).outcome == FORBIDDEN
    token = key_token(target, key, {"subject": hana.did}).json["access_token"]
    assert use(target, token).outcome == FORBIDDEN
    admin = {"X-API-Key": target.stranger.api_key}
    changed = {"allowedTargets": [eve.did]}
    assert target.wire.call("PATCH", f"{PREFIX}/admin/api-keys/{key_id}", changed, admin).status == 200
    assert use(target, token).outcome == FAILED


def test_a_token_of_a_slow_key_is_as_slow(target: Target) -> None:
    key, _ = minted(target, scopes=["dids:list"], requestsPerSecond=0.001, burst=2)
    token = key_token(target, key).json["access_token"]
    assert use(target, token).status == 200
    assert use(target, token).outcome == (429, "RATE_LIMITED")


def test_the_issuer_is_not_the_host_header(target: Target) -> None:
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-API-Key": target.stranger.api_key}
    _, said = parts_of(target.wire.call("POST", TOKEN, {}, evil).json["access_token"])
    assert said["iss"] == said["aud"] == target.wire.url
