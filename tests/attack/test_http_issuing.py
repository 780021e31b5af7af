"""Attacks on credentials over HTTP: probing for other people's, slipping values past the schema, foreign signatures, races for places
and states, writing past the service, and a search for every value that was ever sent."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from identity_codec import multibase
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.dids import keys
from tests.attack.conftest import Target
from tests.attack.stranger import (
    GENEROUS,
    PREFIX,
    Answer,
    Holder,
    Stranger,
    Wire,
    at_once,
    base64url,
    body_hash,
    header,
)
from tests.credentials import set_in, sign
from tests.servers import local_server
from tests.wallets import HomeCredential, HomeWallet

ATTRIBUTES: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150},
    {"name": "name", "type": "string"},
    {"name": "income", "type": "decimal", "scale": 2},
]
ABSENT = "urn:uuid:00000000-0000-4000-8000-000000000000"
BLS = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
P256 = {"type": "EcdsaSecp256r1VerificationKey2019", "purpose": ["assertionMethod"]}
# What differs between two answers that say the same.
VARIABLE = {"x-request-id", "date", "ratelimit", "content-length"}


def signed(who: Holder, purpose: str, body: Any = None) -> dict[str, str]:
    text = who.challenge(purpose, None if body is None else body_hash(body))
    return {"Authorization": header(who.did, who.key.sign(text.encode()).signature)}


def ask(who: Holder, method: str, path: str, body: Any = None) -> Answer:
    purpose = "read" if method == "GET" else "credential"
    return who.wire.call(method, PREFIX + path, body, signed(who, purpose, body))


@dataclass
class Office:
    """An operator, an issuer whose key the service holds, a holder, a schema."""

    wire: Wire
    stranger: Stranger
    ivo: Holder
    hana: Holder
    schema_id: str

    @classmethod
    def open(cls, wire: Wire, stranger: Stranger) -> Office:
        ivo = stranger.holder(additionalKeys=[BLS], storeSecrets=True)
        office = cls(wire, stranger, ivo, stranger.holder(), f"urn:story:{os.urandom(8).hex()}")
        made = office.operate("POST", "/credential-schemas", {"id": office.schema_id, "attributes": ATTRIBUTES})
        assert made.status == 201, made.body
        return office

    def operate(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """By the operator."""
        return self.wire.call(method, PREFIX + path, body, {"X-API-Key": self.stranger.api_key} | headers)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """What Ivo says of Hana. The bytes of the attributes go in later, as they are."""
        said = {"issuerDid": self.ivo.did, "holderDid": self.hana.did, "schemaId": self.schema_id}
        return said | {"attributes": {"age": 24, "name": "Hana", "income": "41250.50"}} | changed

    def issued(self, **changed: Any) -> dict[str, Any]:
        answer = self.operate("POST", "/credentials", self.claims(**changed))
        assert answer.status == 201, answer.body
        record: dict[str, Any] = answer.json
        return record

    def read(self, record: dict[str, Any]) -> dict[str, Any]:
        """The same credential as Hana sees it: with the signature."""
        answer = ask(self.hana, "GET", f"/credentials/{record['id']}")
        assert answer.status == 200, answer.body
        shown: dict[str, Any] = answer.json
        return shown

    def raw(self, attributes: bytes, **more: Any) -> Answer:
        """A request to issue whose attributes are exactly these bytes."""
        said = json.dumps(self.claims(attributes="HERE", **more)).encode().replace(b'"HERE"', attributes)
        return self.operate("POST", "/credentials", said)

    @property
    def key_id(self) -> str:
        return str(self.ivo.created["keys"]["assertionMethod"]["keyId"])

    def key(self) -> keys.Key:
        """Ivo's key, which the service holds and he too."""
        made = self.ivo.created["keys"]["assertionMethod"]
        return keys.Key("Bls12381G2Key2020", made["publicKey"], secret=made["privateKey"])


@pytest.fixture
def office(target: Target) -> Office:
    return Office.open(target.wire, target.stranger)


def strip_variable_parts(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    """Everything about an answer that may tell something."""
    request_id = answer.headers["x-request-id"].encode()
    headers = {name: value for name, value in answer.headers.items() if name not in VARIABLE}
    return answer.status, headers, answer.body.replace(request_id, b"-")


# Probing


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_foreign_credential_looks_like_a_missing_one(office: Office, method: str) -> None:
    mallory = office.stranger.holder()
    record = office.issued()
    suspended = office.issued()
    ask(office.ivo, "POST", f"/credentials/{suspended['id']}/status", {"purpose": "suspension", "value": True})
    body = None if method == "GET" else {"purpose": "revocation", "value": True}
    places = [
        f"/credentials/{one}" + ("" if method == "GET" else "/status")
        for one in (record["id"], suspended["id"], ABSENT)
    ]
    answers = [strip_variable_parts(ask(mallory, method, place, body)) for place in places]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] == 404


@pytest.mark.parametrize("name", ["%00", "urn:uuid:%00", "'%20OR%201=1--", "%F0%9F%92%A9", "a" * 300, "..%2F..%2Fx"])
def test_strange_names_are_names_of_nothing(office: Office, name: str) -> None:
    for path in (f"/credentials/{name}", f"/credential-schemas/{name}", f"/status-lists/{name}"):
        answer = office.operate("GET", path)
        assert answer.status in (400, 404), (path, answer.body)
        assert answer.code in ("INVALID_REQUEST", "CREDENTIAL_NOT_FOUND", "SCHEMA_NOT_FOUND", "STATUS_LIST_NOT_FOUND")


def test_verdict_does_not_reveal_credential(office: Office) -> None:
    shown = office.read(office.issued())["credential"]
    guess = shown | {"credentialSubject": shown["credentialSubject"] | {"age": 30}}

    def verdict(credential: Any) -> Any:
        return office.wire.call("POST", f"{PREFIX}/credentials/verify", {"credential": credential}).json

    assert verdict(shown)["verified"] is True
    assert verdict(guess) == verdict(guess | {"id": ABSENT})
    assert verdict(guess)["verified"] is False


def test_copy_without_signature_is_named(office: Office) -> None:
    copy = ask(office.ivo, "GET", f"/credentials/{office.issued()['id']}").json["credential"]
    answer = office.wire.call("POST", f"{PREFIX}/credentials/verify", {"credential": copy})
    assert b"only the holder's copy of a credential has the signature" in answer.body


def test_a_list_of_ones_own_stays_ones_own(office: Office) -> None:
    mallory = office.stranger.holder()
    office.issued()
    for query in (f"?holderDid={quote(office.hana.did)}", f"?issuerDid={quote(office.ivo.did)}", ""):
        answer = ask(mallory, "GET", f"/credentials{query}")
        assert (answer.status, answer.json["items"]) == (200, [])


# Slipping past the schema


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        (b'{"age":24,"age":25,"name":"Hana","income":"1.00"}', 400),
        (b'{"age":24,"na\\u006de":"a","name":"b","income":"1.00"}', 400),
        (b'{"age":NaN,"name":"Hana","income":"1.00"}', 400),
        (b'{"age":1e400,"name":"Hana","income":"1.00"}', 400),
        (b'{"age":99999999999999999999,"name":"Hana","income":"1.00"}', 400),
        (b'{"age":24,"name":"\\ud800","income":"1.00"}', 400),
        (b'{"age":24,"name":"\xff","income":"1.00"}', 400),
        (b'["age",24]', 400),
        (b"null", 400),
        (b'"age"', 400),
        (b'{"age":24.5,"name":"Hana","income":"1.00"}', 422),
        (b'{"age":2.45e1,"name":"Hana","income":"1.00"}', 422),
        (b'{"age":true,"name":"Hana","income":"1.00"}', 422),
        (b'{"age":9007199254740993,"name":"Hana","income":"1.00"}', 422),
        (b'{"age":24,"name":"Hana","income":1.005}', 422),
        (b'{"age":24,"name":"Hana","income":"1.000"}', 422),
        (b'{"age":24,"name":"Hana","income":"1.00 "}', 422),
        (b'{"age":24,"name":"Hana","income":"\xd9\xa1.00"}', 422),
        (b'{"age":24,"name":{"$ne":1},"income":"1.00"}', 422),
        (b'{"age":24,"name":"Hana"}', 422),
        (b'{"age":24,"name":"Hana","income":"1.00","Age":24}', 422),
        (b'{"age":24,"name":"' + b"x" * 1025 + b'","income":"1.00"}', 422),
        (b'{"age":24,"name":"' + b"[" * 40 + b'","income":' + b"[" * 40 + b"]" * 40 + b"}", 400),
    ],
)
def test_octets_that_are_no_values(office: Office, attributes: bytes, status: int) -> None:
    answer = office.raw(attributes)
    assert answer.status == status, answer.body
    assert answer.code == ("INVALID_REQUEST" if status == 400 else "INVALID_CREDENTIAL")
    assert b"Hana" not in answer.body
    assert b"9007199254740993" not in answer.body


@pytest.mark.parametrize(
    ("attributes", "age", "income"),
    [
        (b'{"age":24.0,"name":"Hana","income":"1.00"}', 24, "1.00"),
        (b'{"age":2.4e1,"name":"Hana","income":"1.00"}', 24, "1.00"),
        (b'{"age":24,"name":"Hana","income":1.0}', 24, "1.00"),
        (b'{"age":24,"name":"Hana","income":1.5}', 24, "1.50"),
    ],
)
def test_numbers_are_accepted_by_their_value(office: Office, attributes: bytes, age: int, income: str) -> None:
    """RFC 8259 §6 lets a number have fraction and exponent, so 24.0 is the integer 24, and a fraction is the decimal of its
    shortest text."""
    answer = office.raw(attributes)
    assert answer.status == 201, answer.body
    subject = answer.json["credential"]["credentialSubject"]
    assert (subject["age"], type(subject["age"]), subject["income"]) == (age, int, income)


def test_two_spellings_of_one_text_are_one_value(office: Office) -> None:
    composed, decomposed = (
        office.raw(f'{{"age":24,"name":"{name}","income":"1.5"}}'.encode(), suite=1).json for name in ("é", "e\u0301")
    )
    assert composed["credential"]["credentialSubject"] == decomposed["credential"]["credentialSubject"]
    signatures = {office.read(one)["credential"]["proof"]["proofValue"] for one in (composed, decomposed)}
    assert len(signatures) == 1
    assert composed["credential"]["credentialSubject"]["income"] == "1.50"


# The signature is the holder's: anyone who has it proves with the credential, past every delegation


def test_nobody_but_the_holder_is_shown_the_signature(office: Office) -> None:
    schema = schema_json.read(office.schema_id, ATTRIBUTES).schema
    values = office.claims()["attributes"]
    proof = {"verificationMethod": office.key_id, "signature": base64url(sign(schema, values, office.key()))}
    key = office.operate(
        "POST",
        "/admin/api-keys",
        {"name": "hers", "scopes": ["credentials:read"], "allowedTargets": [office.hana.did, office.ivo.did]},
    )
    assert key.status == 201, key.body
    narrow = {"X-API-Key": key.json["apiKey"]}
    retry = {"Idempotency-Key": "k" * 32}
    issued = office.operate("POST", "/credentials", office.claims(), **retry)
    answers = [
        issued,
        office.operate("POST", "/credentials", office.claims(), **retry),
        ask(office.ivo, "POST", "/credentials", office.claims(attributes={"age": None, "name": "x", "income": None})),
        office.operate("POST", "/credentials/import", office.claims() | proof),
        ask(office.ivo, "GET", f"/credentials/{issued.json['id']}"),
        office.operate("GET", f"/credentials/{issued.json['id']}"),
        office.wire.call("GET", f"{PREFIX}/credentials/{issued.json['id']}", None, narrow),
        office.operate("GET", f"/credentials?holderDid={quote(office.hana.did)}"),
        ask(office.ivo, "GET", "/credentials"),
        office.operate("POST", f"/credentials/{issued.json['id']}/status", {"purpose": "suspension", "value": True}),
    ]
    signature = office.read(issued.json)["credential"]["proof"]["proofValue"]
    assert len(multibase.base64url_decode(signature[1:])) == 80
    for answer in answers:
        assert answer.status in (200, 201), answer.body
        assert signature[1:].encode() not in answer.body
        assert b"proofValue" not in answer.body
    # Who is both reads it as its holder.
    own = ask(
        office.ivo,
        "POST",
        "/credentials",
        office.claims(holderDid=office.ivo.did, attributes={"age": None, "name": "x", "income": None}),
    )
    assert own.status == 201, own.body
    assert own.json["credential"]["proof"]["proofValue"].startswith("u")


# Foreign signatures


def test_import_requires_issuer_signature_on_values(office: Office) -> None:
    mallory = office.stranger.holder(additionalKeys=[BLS], storeSecrets=True)
    schema = schema_json.read(office.schema_id, ATTRIBUTES).schema
    other = schema_json.read(office.schema_id + "x", ATTRIBUTES).schema
    values = office.claims()["attributes"]
    foreign = keys.generate("Bls12381G2Key2020", os.urandom)

    def sent(signature: bytes, method: str = office.key_id, **changed: Any) -> Answer:
        proof = {"verificationMethod": method, "signature": base64url(signature)}
        return office.operate("POST", "/credentials/import", office.claims(**changed) | proof)

    right = sign(schema, values, office.key())
    assert sent(right).status == 201
    wrong = [
        sent(sign(schema, values, foreign)),
        sent(sign(schema, values, foreign), f"{office.ivo.did}#{foreign.public}"),
        sent(sign(schema, values, foreign), mallory.created["keys"]["assertionMethod"]["keyId"]),
        sent(right, issuerDid=mallory.did),
        sent(right, f"{mallory.did}#{office.key().public}", issuerDid=mallory.did),
        sent(right, office.ivo.created["keys"]["authentication"]["keyId"]),
        sent(right, attributes=values | {"age": 25}),
        sent(sign(other, values, office.key())),
        sent(bytes(80)),
        sent(b"\xc0" + bytes(79)),
        sent(right[:48] + bytes(32)),
        sent(right[:48] + b"\xff" * 32),
        sent(right + b"\0"),
    ]
    assert [answer.outcome for answer in wrong] == [(422, "INVALID_CREDENTIAL")] * len(wrong)


def test_nobody_issues_in_anothers_name(office: Office) -> None:
    mallory = office.stranger.holder(additionalKeys=[BLS], storeSecrets=True)
    answer = ask(mallory, "POST", "/credentials", office.claims(attributes={"name": "x"}))
    assert answer.outcome == (403, "FORBIDDEN")


def test_a_holder_does_not_import(office: Office) -> None:
    schema = schema_json.read(office.schema_id, ATTRIBUTES).schema
    values = {"age": None, "name": "Hana", "income": None}
    body = office.claims(attributes=values) | {
        "verificationMethod": office.key_id,
        "signature": base64url(sign(schema, values, office.key())),
    }
    # Anyone who has seen a credential has its signature, and could have it stored for herself.
    mallory = office.stranger.holder()
    stolen = body | {"holderDid": mallory.did}
    assert ask(mallory, "POST", "/credentials/import", stolen).outcome == (403, "FORBIDDEN")
    assert ask(office.hana, "POST", "/credentials/import", body).outcome == (403, "FORBIDDEN")
    assert ask(office.ivo, "POST", "/credentials/import", body).status == 201


def test_a_weak_key_signs_nothing(office: Office) -> None:
    infinity = multibase.base58btc_encode(b"\xeb\x01\xc0" + bytes(95))
    key = {"type": "Bls12381G2Key2020", "publicKeyMultibase": infinity, "purpose": ["assertionMethod"]}
    own = {
        "type": "Ed25519",
        "publicKeyMultibase": keys.generate("Ed25519", os.urandom).public,
        "purpose": ["authentication"],
    }
    made = office.stranger.create({"method": "ids", "options": {"publicKeys": [own, key]}})
    assert made.outcome == (422, "INVALID_DOCUMENT")


def test_a_signature_for_one_body_issues_no_other(office: Office) -> None:
    body = office.claims(attributes={"name": "x"})
    headers = signed(office.ivo, "credential", body)
    other = body | {"holderDid": office.ivo.did}
    assert office.wire.call("POST", f"{PREFIX}/credentials", other, headers).outcome == (401, "AUTH_FAILED")
    read = signed(office.ivo, "read", body)
    assert office.wire.call("POST", f"{PREFIX}/credentials", body, read).outcome == (401, "AUTH_FAILED")


# Races


def test_places_are_given_once_by_all_processes(either: Target) -> None:
    office = Office.open(either.wire, either.stranger)
    answers = at_once(either.wire, [lambda: office.operate("POST", "/credentials", office.claims())] * 24)
    assert [answer.status for answer in answers] == [201] * 24
    places = [answer.json["credential"]["credentialStatus"][0]["id"] for answer in answers]
    assert len(set(places)) == 24


def test_one_idempotency_key_is_one_credential(either: Target) -> None:
    office = Office.open(either.wire, either.stranger)
    key = {"Idempotency-Key": os.urandom(8).hex()}
    answers = at_once(either.wire, [lambda: office.operate("POST", "/credentials", office.claims(), **key)] * 8)
    made = {answer.json["id"] for answer in answers if answer.status == 201}
    assert {answer.status for answer in answers} <= {201, 409}
    assert len(made) == 1
    listed = office.operate("GET", f"/credentials?holderDid={quote(office.hana.did)}").json
    assert len(listed["items"]) == 1


def test_revocation_wins_and_is_seen_by_all_processes(either: Target) -> None:
    office = Office.open(either.wire, either.stranger)
    record = office.issued()
    path = f"/credentials/{record['id']}/status"
    entry = record["credential"]["credentialStatus"][0]
    name = PREFIX + "/status-lists/" + entry["statusListCredential"].rpartition("/")[2]
    for _ in range(4):
        assert either.wire.call("GET", name, fresh=True).status == 200

    def change(purpose: str, value: bool) -> Answer:
        return office.operate("POST", path, {"purpose": purpose, "value": value})

    calls = [lambda: change("suspension", True), lambda: change("suspension", False)] * 4
    answers = at_once(either.wire, [*calls, lambda: change("revocation", True)])
    assert {answer.status for answer in answers} <= {200, 409, 503}
    assert answers[-1].status == 200
    assert office.operate("GET", f"/credentials/{record['id']}").json["status"] == "revoked"
    for _ in range(6):
        shown = either.wire.call("GET", name, fresh=True).json
        places = set_in(shown["credentialSubject"]["encodedList"])
        assert places == {int(entry["statusListIndex"])}


# Past the service


def test_row_that_was_changed_past_service_gives_nothing_away(target: Target, office: Office) -> None:
    mallory = office.stranger.holder()
    record = office.issued(attributes={"age": 24, "name": "canary-moved", "income": None})
    with closing(sqlite3.connect(target.data_dir / "identity.sqlite", timeout=60)) as connection, connection:
        connection.execute("UPDATE credentials SET holder = ? WHERE id = ?", (mallory.did, record["id"]))
    answer = ask(mallory, "GET", f"/credentials/{record['id']}")
    assert answer.outcome == (500, "INTERNAL_ERROR")
    assert b"canary" not in answer.body


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Office, Path, Path]]:
    """A service that logs all it can; its office, its folder and its log."""
    environment = GENEROUS | {"IDENTITY_LOG_LEVEL": "debug"}
    with local_server(environment=environment) as server:
        wire = Wire(server.url)
        yield Office.open(wire, Stranger(wire, server.api_key)), server.data_dir, server.log
        wire.close()


def test_no_value_stands_in_a_file_a_log_a_metric_or_a_refusal(talkative: tuple[Office, Path, Path]) -> None:
    office, data_dir, log = talkative
    canary = f"canary{os.urandom(8).hex()}"
    values = {"age": 24, "name": canary, "income": None}
    key = {"Idempotency-Key": "k" + os.urandom(8).hex()}
    record = office.operate("POST", "/credentials", office.claims(attributes=values), **key).json
    assert canary in record["credential"]["credentialSubject"]["name"]
    refusals = [
        office.operate("POST", "/credentials", office.claims(attributes=values | {"age": canary})),
        office.operate("POST", "/credentials", office.claims(attributes=values | {canary: 1})),
        office.operate("POST", "/credentials", office.claims(attributes={"name": canary})),
        office.operate("POST", "/credentials", office.claims(attributes=[canary])),
        office.operate("POST", "/credentials", office.claims(attributes=values, schemaId=ABSENT)),
        office.operate("POST", "/credentials", office.claims(attributes=values, validUntil="2020-01-01T00:00:00Z")),
        office.operate(
            "POST",
            "/credentials/import",
            office.claims(attributes=values) | {"verificationMethod": office.key_id, "signature": base64url(bytes(80))},
        ),
    ]
    assert {answer.status for answer in refusals} == {400, 404, 422}
    shown = office.read(record)["credential"]
    verdicts = [
        office.operate("POST", "/credentials/verify", {"credential": shown}),
        office.operate("POST", "/credentials/verify", {"credential": shown | {canary: 1}}),
        office.operate(
            "POST",
            "/credentials/verify",
            {"credential": shown | {"credentialSubject": shown["credentialSubject"] | {"age": canary}}},
        ),
    ]
    ask(office.ivo, "POST", f"/credentials/{record['id']}/status", {"purpose": "suspension", "value": True})
    ask(office.hana, "GET", f"/credentials/{record['id']}")
    signature = multibase.base64url_decode(shown["proof"]["proofValue"][1:])
    metrics = office.wire.call("GET", "/metrics", None, {"X-API-Key": office.stranger.api_key})
    assert metrics.status == 200
    told = b"".join(answer.body for answer in [*refusals, *verdicts, metrics])
    files = b"".join(path.read_bytes() for path in data_dir.rglob("*") if path.is_file())
    for secret in (canary.encode(), signature, shown["proof"]["proofValue"].encode()):
        assert secret not in told
        assert secret not in files
        assert secret not in log.read_bytes()
    assert record["id"].encode() in files


# Credentials of a wallet's secret, signed at home


def at_home(office: Office, **changed: Any) -> HomeCredential:
    """Ivo has signed at home, for Hana's wallet."""
    definition = schema_json.read(office.schema_id, ATTRIBUTES)
    values = office.claims()["attributes"]
    return HomeWallet().obtain(office.key(), office.key_id, office.hana.did, definition, values, **changed)


BOUND_SHAPES: list[bytes] = [
    b"null",
    b"[]",
    b'"x"',
    b"{}",
    *(
        b'{"handle":%s,REST}' % handle
        for handle in (b"0", b"-1", b"4294967295", b"1.5", b"true", b'"7"', b"null", b"1e400")
    ),
    b'{"handle":7,"handle":8,REST}',
    b'{"handle":7,"more":1,REST}',
    b'{"handle":7,"id":"urn:uuid:7",REST}',
]


@pytest.mark.parametrize("shape", BOUND_SHAPES, ids=lambda shape: shape.decode())
def test_a_binding_of_another_shape_is_none(office: Office, shape: bytes) -> None:
    body = at_home(office).body
    rest = {name: text for name, text in body["bound"].items() if name != "handle"}
    data = shape.replace(b"REST", json.dumps(rest)[1:-1].encode())
    sent = json.dumps(body | {"bound": "HERE"}).encode().replace(b'"HERE"', data)
    answer = office.operate("POST", "/credentials/import", sent)
    assert (answer.status, answer.json["error"]["code"]) == (400, "INVALID_REQUEST")


def test_unauthorised_issuer_takes_no_handle(office: Office) -> None:
    """Hana has all that was signed; Mallory has it from her, and is an issuer too."""
    mallory = office.stranger.holder(additionalKeys=[BLS], storeSecrets=True)
    body = at_home(office).body
    for who, changed in (
        (office.hana, {}),
        (mallory, {}),
        (mallory, {"issuerDid": mallory.did}),
        (
            mallory,
            {"issuerDid": mallory.did, "verificationMethod": mallory.created["keys"]["assertionMethod"]["keyId"]},
        ),
    ):
        assert ask(who, "POST", "/credentials/import", body | changed).status in (403, 422)
    assert office.operate("POST", "/credentials/import", body).status == 201


def test_one_credential_that_comes_in_many_times_is_one(office: Office) -> None:
    body = at_home(office).body
    answers = at_once(office.wire, [lambda: office.operate("POST", "/credentials/import", body)] * 6)
    assert sorted(answer.status for answer in answers) == [201] + [409] * 5, [one.body for one in answers]
    other = at_home(office, handle=body["bound"]["handle"]).body
    answer = office.operate("POST", "/credentials/import", other)
    assert (answer.status, answer.json["error"]["details"]["member"]) == (409, "handle")
