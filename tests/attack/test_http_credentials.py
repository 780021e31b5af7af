"""Credentials of requests: two on one request, API keys instead of signatures, headers that only look right, scopes.

openapi/DECISIONS.md §3.2, §3.3, §3.4.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from nacl.signing import SigningKey

from identity_codec.values import replace
from tests.attack.conftest import Target
from tests.attack.raw_http import JSON, exchange, request
from tests.attack.stranger import LEAVE, PREFIX, Answer, Holder, header, public, recovery_body, rotation, service

FAILED = (401, "AUTH_FAILED")
REQUIRED = (401, "AUTH_REQUIRED")
AMBIGUOUS = (400, "AUTH_AMBIGUOUS")
FORBIDDEN = (403, "FORBIDDEN")
VALID = b'{"method":"ids","keyType":"Ed25519"}'
KEYS = f"{PREFIX}/admin/api-keys"
REMEMBERED_SECONDS = 2.5
"""Longer than a process believes what it was told of a key that another one has ended."""


@dataclass(frozen=True)
class Party:
    """A holder, a good API key, a second one, and the service."""

    target: Target
    hana: Holder
    key: str
    other: str

    def forms(self) -> dict[str, bytes]:
        """A header line for every way to authenticate, all but the last two good."""
        hana = self.hana
        assert hana.recovery is not None
        text = hana.challenge().encode()
        return {
            "x-api-key": b"X-API-Key: " + self.key.encode(),
            "ApiKey": b"Authorization: ApiKey " + self.key.encode(),
            "Bearer": b"Authorization: Bearer " + self.key.encode(),
            "another x-api-key": b"X-API-Key: " + self.other.encode(),
            "another ApiKey": b"Authorization: ApiKey " + self.other.encode(),
            "another Bearer": b"Authorization: Bearer " + self.other.encode(),
            "DIDAuth": b"Authorization: " + header(hana.did, hana.key.sign(text).signature).encode(),
            "RecoveryKey": b"Authorization: "
            + header(hana.did, hana.recovery.sign(text).signature, "RecoveryKey").encode(),
            "wrong key": b"X-API-Key: wrong",
            "wrong token": b"Authorization: Bearer a.b.c",
        }

    def send(self, method: str, path: str, *lines: bytes, body: bytes = b"") -> tuple[int, str | None]:
        answer = exchange(self.target.wire.address, request(method, path, *lines, *([JSON] if body else []), body=body))
        return answer.status, answer.code if answer.status >= 400 else None


@pytest.fixture(scope="module")
def party(targets: Callable[[int], Target]) -> Party:
    target = targets(1)
    return Party(target, target.stranger.holder(), target.stranger.api_key, mint(target, admin=True))


def mint(target: Target, **wish: Any) -> str:
    answer = admin(target, "POST", "", {"name": "test"} | wish)
    assert answer.status == 201, answer.body
    key: str = answer.json["apiKey"]
    return key


def admin(target: Target, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
    return target.wire.call(method, KEYS + path, body, {"X-API-Key": key or target.stranger.api_key})


SAME = {"x-api-key", "ApiKey", "Bearer"}
SAME_OTHER = {"another x-api-key", "another ApiKey", "another Bearer"}
FORMS = [
    *("x-api-key", "ApiKey", "Bearer", "another x-api-key", "another ApiKey", "another Bearer"),
    *("DIDAuth", "RecoveryKey", "wrong key", "wrong token"),
]
SIGNATURES = {"DIDAuth", "RecoveryKey"}
IN_X_API_KEY = {"x-api-key", "another x-api-key", "wrong key"}
# ``X-API-Key`` beside a signature is not a contradiction.
BESIDE = [pair for pair in itertools.permutations(FORMS, 2) if SIGNATURES & {*pair} and IN_X_API_KEY & {*pair}]
PAIRS = [pair for pair in itertools.permutations(FORMS, 2) if pair not in BESIDE]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[" then ".join(pair) for pair in PAIRS])
def test_two_different_credentials_are_none(party: Party, first: str, second: str) -> None:
    """In both orders, on an operation for API keys and on one for a controller."""
    forms = party.forms()
    lines = forms[first], forms[second]
    create = party.send("POST", f"{PREFIX}/dids", *lines, body=VALID)
    if {first, second} <= SAME or {first, second} <= SAME_OTHER:
        # The same key in two forms is one credential.
        assert create == (201, None)
        assert party.send("PATCH", party.hana.path(), *lines, body=json.dumps(service()).encode()) == REQUIRED
        return
    assert create == AMBIGUOUS
    assert party.send("PATCH", party.hana.path(), *lines, body=json.dumps(service()).encode()) == AMBIGUOUS
    assert party.send("POST", party.hana.path("recover"), *lines, body=b"{}") == AMBIGUOUS


@pytest.mark.parametrize(("first", "second"), BESIDE, ids=[" then ".join(pair) for pair in BESIDE])
def test_a_signature_beside_x_api_key_is_the_credential(party: Party, first: str, second: str) -> None:
    """Gateways add a key to every request. The key, good or wrong, gives no right and takes none away."""
    forms = party.forms()
    lines = forms[first], forms[second]
    # The signature is not a credential for createDid, and the key does not replace it.
    assert party.send("POST", f"{PREFIX}/dids", *lines, body=VALID) == REQUIRED
    hana = replace(party, hana=party.target.stranger.holder(strictEvidence=False))
    forms, body = hana.forms(), json.dumps(service()).encode()
    lines, new = (forms[first], forms[second]), recovery_body(public(SigningKey.generate()))
    if "DIDAuth" in (first, second):
        assert hana.send("PATCH", hana.hana.path(), *lines, body=body) == (200, None)
        assert hana.send("PATCH", hana.hana.path(), *lines, body=body) == FAILED
    else:
        assert hana.send("POST", hana.hana.path("recover"), *lines, body=json.dumps(new).encode()) == (200, None)
        assert hana.send("POST", hana.hana.path("recover"), *lines, body=json.dumps(new).encode()) == FAILED


def test_an_api_key_does_not_replace_a_wrong_signature(party: Party) -> None:
    """An admin's key beside a signature of another DID, beside none that can be read, and beside two different keys."""
    forms, mallory = party.forms(), party.target.stranger.holder(strictEvidence=False)
    other = mallory.key.sign(mallory.challenge().encode()).signature
    key, body = forms["x-api-key"], json.dumps(service()).encode()
    for wrong in (header(mallory.did, other), header(party.hana.did, other), "DIDAuth %"):
        line = f"Authorization: {wrong}".encode()
        assert party.send("PATCH", party.hana.path(), key, line, body=body) == FAILED
        assert party.send("GET", KEYS, key, line) == REQUIRED
    lines = key, forms["another x-api-key"], forms["DIDAuth"]
    for order in itertools.permutations(lines):
        assert party.send("PATCH", party.hana.path(), *order, body=body) == AMBIGUOUS


@pytest.mark.parametrize("form", sorted(SAME | SAME_OTHER))
def test_an_api_key_never_controls_a_did(party: Party, form: str) -> None:
    line = party.forms()[form]
    hana = party.hana
    for act, (method, body) in {
        "update": ("PATCH", service()),
        "deactivate": ("DELETE", LEAVE),
        "rotate": ("POST", rotation(hana.key_id)),
        "recover": ("POST", recovery_body(public(SigningKey.generate()))),
    }.items():
        assert party.send(method, hana.path(act), line, body=json.dumps(body).encode()) == REQUIRED
    assert len(hana.log().splitlines()) == 1


@pytest.mark.parametrize("scheme", ["DIDAuth", "RecoveryKey"])
def test_an_api_key_under_the_name_of_a_signature_is_none(party: Party, scheme: str) -> None:
    hana = party.hana
    method, path = ("PATCH", hana.path()) if scheme == "DIDAuth" else ("POST", hana.path("recover"))
    for value in (party.key, base64.b64encode(f"{hana.did}.{party.key}".encode()).decode()):
        line = f"Authorization: {scheme} {value}".encode()
        assert party.send(method, path, line, body=json.dumps(service()).encode()) == FAILED


@pytest.mark.parametrize("form", ["DIDAuth", "RecoveryKey"])
def test_a_signature_is_no_api_key(party: Party, form: str) -> None:
    line = party.forms()[form]
    assert party.send("POST", f"{PREFIX}/dids", line, body=VALID) == REQUIRED
    assert party.send("GET", KEYS, line) == REQUIRED
    assert party.send("GET", f"{PREFIX}/dids", line) == REQUIRED
    for scheme in (b"ApiKey", b"Bearer"):
        assert (
            party.send("POST", f"{PREFIX}/dids", b"Authorization: " + scheme + b" " + line.split()[-1], body=VALID)
            == FAILED
        )


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("x-api-key: {key}", (201, None)),
        ("X-API-KEY:   {key}  ", (201, None)),
        ("Authorization: APIKEY {key}", (201, None)),
        ("authorization: bearer    {key}", (201, None)),
        ("X_API_Key: {key}", REQUIRED),
        ("X-API-Key2: {key}", REQUIRED),
        ("X-Api-Key : {key}", (400, "INVALID_REQUEST")),
        ("Api-Key: {key}", REQUIRED),
        ("Cookie: X-API-Key={key}", REQUIRED),
        ("Proxy-Authorization: ApiKey {key}", REQUIRED),
        ("X-Original-Authorization: ApiKey {key}", REQUIRED),
        ("X-API-Key: ApiKey {key}", FAILED),
        ("X-API-Key: Bearer {key}", FAILED),
        ("X-API-Key: {key},{key}", FAILED),
        ("X-API-Key: {key}, {key}", FAILED),
        ("X-API-Key: {key};", FAILED),
        ('X-API-Key: "{key}"', FAILED),
        ("X-API-Key: {quoted}", FAILED),
        ("X-API-Key: {swapped}", FAILED),
        ("X-API-Key: {short}", FAILED),
        ("X-API-Key: {key}A", FAILED),
        ("X-API-Key: {digest}", FAILED),
        ("X-API-Key: sha256-{digest}", FAILED),
        ("X-API-Key:", FAILED),
        ("X-API-Key: *", FAILED),
        ("X-API-Key: ' OR '1'='1", FAILED),
        ("X-API-Key: {key}\\0", FAILED),
        ("X-API-Key: {long}", FAILED),
        ("Authorization: {key}", FAILED),
        ("Authorization:", FAILED),
        ("Authorization: ApiKey", FAILED),
        ("Authorization: ApiKey:{key}", FAILED),
        ("Authorization: ApiKey={key}", FAILED),
        ("Authorization: ApiKey\t{key}", FAILED),
        ("Authorization: ApiKey,{key}", FAILED),
        ("Authorization: Basic {basic}", FAILED),
        ("Authorization: Token {key}", FAILED),
        ("Authorization: ApiKey {key}, Bearer {key}", FAILED),
        ("Authorization: ApiKey ApiKey {key}", FAILED),
    ],
)
def test_headers_of_an_api_key(party: Party, template: str, expected: tuple[int, str | None]) -> None:
    import hashlib

    key = party.key
    line = template.format(
        key=key,
        quoted="".join(f"%{ord(character):02X}" for character in key),
        swapped=key.swapcase(),
        short=key[:-1],
        digest=hashlib.sha256(key.encode()).hexdigest(),
        long="k" * 8000,
        basic=base64.b64encode(f"{key}:".encode()).decode(),
    )
    assert party.send("POST", f"{PREFIX}/dids", line.encode(), body=VALID) == expected


def test_every_401_names_its_schemes(party: Party) -> None:
    for method, path, scheme in (
        ("POST", f"{PREFIX}/dids", "ApiKey"),
        ("PATCH", party.hana.path(), "DIDAuth"),
        ("POST", party.hana.path("recover"), "RecoveryKey"),
    ):
        answer = party.target.wire.call(method, path, {})
        assert answer.outcome == REQUIRED
        assert scheme in answer.headers["www-authenticate"]
        assert answer.headers["cache-control"] == "no-store"


def test_a_key_in_the_query_or_the_body_is_none(party: Party) -> None:
    for name in ("api_key", "apiKey", "key", "access_token", "X-API-Key"):
        assert party.send("POST", f"{PREFIX}/dids?{name}={party.key}", body=VALID)[0] in (400, 401)
    body = json.dumps({"method": "ids", "apiKey": party.key}).encode()
    assert party.send("POST", f"{PREFIX}/dids", body=body) == REQUIRED


def test_a_scoped_key_does_what_it_may_and_no_more(target: Target) -> None:
    lists = mint(target, scopes=["dids:list"])
    creates = mint(target, scopes=["dids:create"])
    nothing = mint(target, scopes=[])
    dids = f"{PREFIX}/dids"
    may = {
        (lists, "GET"): 200,
        (lists, "POST"): 403,
        (creates, "GET"): 403,
        (creates, "POST"): 201,
        (nothing, "GET"): 403,
        (nothing, "POST"): 403,
    }
    for (key, method), status in may.items():
        answer = target.wire.call(method, dids, VALID if method == "POST" else None, {"X-API-Key": key})
        assert answer.status == status, answer.body
    record = admin(target, "GET", "").json["items"][0]
    for key in (lists, creates, nothing):
        for method, path, body in (
            ("GET", "", None),
            ("POST", "", {"name": "mine", "admin": True}),
            ("GET", f"/{record['id']}", None),
            ("PATCH", f"/{record['id']}", {"name": "mine"}),
            ("DELETE", f"/{record['id']}", None),
            ("POST", f"/{record['id']}/rotate", {}),
            ("GET", "/absent", None),
        ):
            assert admin(target, method, path, body, key).outcome == FORBIDDEN, (method, path)


def test_a_key_sees_what_it_created_and_no_more(target: Target) -> None:
    one, two = mint(target, scopes=["dids:create", "dids:list"]), mint(target, scopes=["dids:create", "dids:list"])
    dids = f"{PREFIX}/dids"
    did = target.wire.call("POST", dids, VALID, {"X-API-Key": one}).json["did"]
    assert [item["did"] for item in target.wire.call("GET", dids, None, {"X-API-Key": one}).json["items"]] == [did]
    assert target.wire.call("GET", dids, None, {"X-API-Key": two}).json["items"] == []


def test_allowed_targets_give_no_control(target: Target) -> None:
    """An allowlist narrows what an operator may do for others; it never stands for a signature."""
    hana = target.stranger.holder()
    key = mint(target, admin=True, allowedTargets=[hana.did])
    answer = target.wire.call("PATCH", hana.path(), service(), {"X-API-Key": key})
    assert answer.outcome == REQUIRED


def test_an_ended_key_ends(either: Target) -> None:
    """Revoked, expired and rotated keys: at once at the only process; another one that has just used them remembers for two
    seconds what it was told, and no longer."""
    dids = f"{PREFIX}/dids"

    def use(key: str) -> Answer:
        return either.wire.call("GET", dids, None, {"X-API-Key": key}, fresh=True)

    revoked = mint(either, scopes=["dids:list"], name="to be revoked")
    rotated = mint(either, scopes=["dids:list"], name="to be rotated")
    assert {use(key).status for key in (revoked, rotated) for _ in range(4)} == {200}
    names = {record["name"]: record["id"] for record in all_keys(either)}
    assert admin(either, "DELETE", f"/{names['to be revoked']}").status == 200
    answer = admin(either, "POST", f"/{names['to be rotated']}/rotate", {"graceSeconds": 0})
    assert answer.status == 201, answer.body
    if either.processes > 1:
        time.sleep(REMEMBERED_SECONDS)
    for _ in range(8):
        assert use(revoked).outcome == FAILED
        assert use(rotated).outcome == FAILED
    assert use(answer.json["apiKey"]).status == 200
    past = (datetime.now(UTC) - timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = admin(either, "POST", "", {"name": "late", "admin": True, "expiresAt": past})
    if made.status == 201:
        assert use(made.json["apiKey"]).outcome == FAILED


def all_keys(target: Target) -> list[Any]:
    found, cursor = [], ""
    while cursor is not None:
        page = admin(target, "GET", "?limit=200" + (f"&cursor={cursor}" if cursor else "")).json
        found += page["items"]
        cursor = page["nextCursor"]
    return found


def test_an_idempotency_key_opens_nobody_elses_answer(target: Target) -> None:
    """The same Idempotency-Key of another caller is another request, and a replay needs a fresh signature."""
    one, two = mint(target, admin=True), mint(target, admin=True)
    name = os.urandom(8).hex()
    dids = f"{PREFIX}/dids"
    first = target.wire.call("POST", dids, VALID, {"X-API-Key": one, "Idempotency-Key": name})
    again = target.wire.call("POST", dids, VALID, {"X-API-Key": one, "Idempotency-Key": name})
    other = target.wire.call("POST", dids, VALID, {"X-API-Key": two, "Idempotency-Key": name})
    stranger = target.wire.call("POST", dids, VALID, {"Idempotency-Key": name})
    assert first.body == again.body
    assert other.status == 201
    assert other.json["did"] != first.json["did"]
    assert stranger.outcome == REQUIRED
    hana = target.stranger.holder()
    value = hana.signed("rotate", rotation(hana.key_id))
    headers = {"Authorization": value, "Idempotency-Key": name}
    rotated = target.wire.call("POST", hana.path("rotate"), rotation(hana.key_id), headers)
    assert rotated.status == 200
    replayed = target.wire.call("POST", hana.path("rotate"), rotation(hana.key_id), headers)
    assert replayed.outcome == FAILED
