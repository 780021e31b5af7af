"""A wallet by raw bytes: it collects what it was offered, once and bound to its own key, and whatever else it tries is refused.

OpenID4VCI 1.0 §4 to §8 and §12, RFC 6749 §5.2, RFC 6750 §3.1, RFC 9901. The wallet follows them with ``cryptography`` alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.attack.conftest import Target
from tests.attack.stranger import PREFIX, Answer, Holder, at_once, base64url, from_base58, multikey
from tests.attack.test_http_issuing import BLS, P256, ask

PRE_AUTHORIZED = "urn:ietf:params:oauth:grant-type:pre-authorized_code"
ATTRIBUTES = [
    {"name": "given_name", "type": "string"},
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 150, "allowedThresholds": [18, 21, 65]},
]
DROP: Any = object()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def member(value: Any) -> str:
    return base64url(json.dumps(value).encode())


@dataclass
class Wallet:
    """A wallet with a key of its own."""

    target: Target
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def jwk(self) -> dict[str, str]:
        numbers = self.key.public_key().public_numbers()
        x, y = (base64url(one.to_bytes(32)) for one in (numbers.x, numbers.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    @property
    def did_key(self) -> str:
        raw = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
        text = multikey(raw, b"\x80\x24")
        return f"did:key:{text}#{text}"

    def sign(self, head: Any, said: Any) -> str:
        text = f"{member(head)}.{member(said)}"
        r, s = decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{base64url(r.to_bytes(32) + s.to_bytes(32))}"

    def metadata(self, issuer: str) -> Any:
        parts = urlsplit(issuer)
        answer = self.target.wire.call("GET", f"/.well-known/openid-credential-issuer{parts.path}")
        assert answer.status == 200, answer.body
        assert answer.json["credential_issuer"] == issuer
        return answer.json

    def token(self, code: str, **fields: str) -> Answer:
        form = urlencode({"grant_type": PRE_AUTHORIZED, "pre-authorized_code": code} | fields).encode()
        return self.target.wire.call(
            "POST", "/oauth/token", form, {"Content-Type": "application/x-www-form-urlencoded"}
        )

    def nonce(self) -> str:
        answer = self.target.wire.call("POST", "/openid/nonce", headers={"Content-Length": "0"})
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        return str(answer.json["c_nonce"])

    def proof(self, issuer: str, head: dict[str, Any] | None = None, **said: Any) -> str:
        """A proof of the wallet's key; ``head`` and ``said`` change it, ``DROP`` leaves out."""
        claims = {"aud": issuer, "iat": int(time.time()), "nonce": said.pop("nonce", None) or self.nonce()} | said
        header = {"typ": "openid4vci-proof+jwt", "alg": "ES256", "jwk": self.jwk} | (head or {})
        kept = [{name: value for name, value in part.items() if value is not DROP} for part in (header, claims)]
        return self.sign(*kept)

    def credential(self, token: str | None, proof: Any, **changed: Any) -> Answer:
        body = {"credential_configuration_id": "dc+sd-jwt", "proofs": {"jwt": [proof]}} | changed
        body = {name: value for name, value in body.items() if value is not DROP}
        return self.post(token, body)

    def post(self, token: str | None, body: Any, **headers: str) -> Answer:
        sent = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.target.wire.call("POST", "/openid/credential", body, sent | headers)


@dataclass
class Issuer:
    """Ivo, who has issued a credential to Hana; and Mallory."""

    target: Target
    ivo: Holder
    hana: Holder
    mallory: Holder
    schema_id: str
    credential_id: str

    @classmethod
    def open(cls, target: Target) -> Issuer:
        stranger = target.stranger
        ivo = stranger.holder(additionalKeys=[BLS, P256], storeSecrets=True)
        hana, mallory = stranger.holder(), stranger.holder()
        schema_id = f"{ivo.did}#person-{time.time_ns()}"
        made = ask(ivo, "POST", "/credential-schemas", {"id": schema_id, "attributes": ATTRIBUTES})
        assert made.status == 201, made.body
        issuer = cls(target, ivo, hana, mallory, schema_id, "")
        issuer.credential_id = issuer.issued()
        return issuer

    def issued(self, **changed: Any) -> str:
        said = {"issuerDid": self.ivo.did, "holderDid": self.hana.did, "schemaId": self.schema_id}
        body = said | {"attributes": {"given_name": "Hana", "age": 24}} | changed
        answer = self.target.wire.call(
            "POST", f"{PREFIX}/credentials", body, {"X-API-Key": self.target.stranger.api_key}
        )
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    def offer(self, by: Holder | None = None, credential_id: str | None = None, **body: Any) -> Answer:
        return ask(by or self.ivo, "POST", f"/credentials/{quote(credential_id or self.credential_id)}/offers", body)

    def offered(self, **body: Any) -> tuple[str, str, str | None]:
        """Credential issuer, pre-authorised code and transaction code, from the link."""
        answer = self.offer(**body)
        assert answer.status == 201, answer.body
        (text,) = parse_qs(urlsplit(answer.json["uri"]).query)["credential_offer"]
        offer = json.loads(text)
        assert offer == answer.json["offer"]
        assert offer["credential_configuration_ids"] == ["dc+sd-jwt"]
        grant = offer["grants"][PRE_AUTHORIZED]
        if body.get("transactionCode"):
            assert grant["tx_code"] == {"input_mode": "numeric", "length": 6}
        return offer["credential_issuer"], grant["pre-authorized_code"], answer.json.get("transactionCode")

    def token(self, wallet: Wallet) -> tuple[str, str]:
        issuer, code, _ = self.offered()
        answer = wallet.token(code)
        assert answer.status == 200, answer.body
        return issuer, str(answer.json["access_token"])


@pytest.fixture(scope="module")
def issuer(targets: Callable[[int], Target]) -> Issuer:
    return Issuer.open(targets(1))


@pytest.fixture
def wallet(target: Target) -> Wallet:
    return Wallet(target)


def refusal(answer: Answer) -> tuple[int, str]:
    """Status and error of a refusal that has OAuth's shape and quotes nothing."""
    body = answer.json
    assert set(body) == {"error", "error_description", "code", "details"}
    assert body["details"]["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["cache-control"] == "no-store"
    assert "Hana" not in answer.body.decode()
    assert ("www-authenticate" in answer.headers) == (answer.status == 401)
    return answer.status, body["error"]


def read_credential(text: str, public: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Header, claims and everything that is disclosed, of an SD-JWT that the multikey has signed."""
    jwt, *disclosures, last = text.split("~")
    assert last == ""
    head, said, signature = jwt.split(".")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), from_base58(public[1:])[2:])
    raw = decoded(signature)
    der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    key.verify(der, f"{head}.{said}".encode(), ec.ECDSA(hashes.SHA256()))
    claims = json.loads(decoded(said))
    known = {base64url(hashlib.sha256(one.encode()).digest()): json.loads(decoded(one)) for one in disclosures}

    def answer_with(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        inner = [known[one] for one in value.get("_sd", ()) if one in known]
        return {name: answer_with(part) for name, part in value.items() if not name.startswith("_sd")} | {
            name: answer_with(part) for _, name, part in inner
        }

    return json.loads(decoded(head)), claims, answer_with(claims)


def issuer_key(issuer: Issuer) -> tuple[str, str]:
    methods = issuer.ivo.resolve().json["didDocument"]["verificationMethod"]
    (method,) = (one for one in methods if one["type"] == P256["type"])
    return method["id"], method["publicKeyMultibase"]


def test_a_wallet_collects_what_it_was_offered(issuer: Issuer, wallet: Wallet) -> None:
    credential_issuer, code, _ = issuer.offered()
    metadata = wallet.metadata(credential_issuer)
    origin = wallet.target.wire.url
    assert metadata["credential_endpoint"] == f"{origin}/openid/credential"
    assert metadata["nonce_endpoint"] == f"{origin}/openid/nonce"
    (server,) = metadata["authorization_servers"]
    found = wallet.target.wire.call("GET", "/.well-known/oauth-authorization-server").json
    assert found["issuer"] == server
    assert PRE_AUTHORIZED in found["grant_types_supported"]
    assert found["pre-authorized_grant_anonymous_access_supported"] is True
    configuration = metadata["credential_configurations_supported"]["dc+sd-jwt"]
    assert (configuration["format"], configuration["vct"]) == ("dc+sd-jwt", issuer.schema_id)
    assert ["age_equal_or_over", "18"] in [one["path"] for one in configuration["credential_metadata"]["claims"]]

    answer = wallet.token(code)
    assert answer.status == 200, answer.body
    assert (answer.headers["cache-control"], answer.json["token_type"]) == ("no-store", "Bearer")
    assert 0 < answer.json["expires_in"] <= 600
    answer = wallet.credential(answer.json["access_token"], wallet.proof(credential_issuer))
    assert answer.status == 200, answer.body
    (one,) = answer.json["credentials"]
    method, public = issuer_key(issuer)
    head, claims, whole = read_credential(one["credential"], public)
    assert head == {"typ": "dc+sd-jwt", "alg": "ES256", "kid": method}
    assert (claims["iss"], claims["vct"], claims["cnf"]) == (issuer.ivo.did, issuer.schema_id, {"jwk": wallet.jwk})
    assert {"given_name", "age", "age_equal_or_over"}.isdisjoint(claims)
    assert whole["given_name"] == "Hana"
    assert whole["age"] == 24
    assert whole["age_equal_or_over"] == {"18": True, "21": True, "65": False}
    assert time.time() < claims["exp"] <= time.time() + 14 * 86_400


@pytest.mark.parametrize("binding", ["did:key", "did:ids", "did:key on Ed25519"])
def test_a_wallet_names_its_key_by_a_did(issuer: Issuer, wallet: Wallet, binding: str) -> None:
    credential_issuer, token = issuer.token(wallet)
    if binding == "did:key":
        proof = wallet.proof(credential_issuer, {"jwk": DROP, "kid": wallet.did_key})
        expected = wallet.jwk
    else:
        hana = issuer.hana
        text = hana.key_id.partition("#")[2]
        kid = hana.key_id if binding == "did:ids" else f"did:key:{text}#{text}"
        head = {"typ": "openid4vci-proof+jwt", "alg": "EdDSA", "kid": kid}
        said = {"aud": credential_issuer, "iat": int(time.time()), "nonce": wallet.nonce()}
        text = f"{member(head)}.{member(said)}"
        proof = f"{text}.{base64url(hana.key.sign(text.encode()).signature)}"
        expected = {"kty": "OKP", "crv": "Ed25519", "x": base64url(bytes(hana.key.verify_key))}
    answer = wallet.credential(token, proof)
    assert answer.status == 200, answer.body
    claims = json.loads(decoded(answer.json["credentials"][0]["credential"].split(".")[1]))
    assert claims["cnf"] == {"jwk": expected}


def test_only_the_issuer_offers(issuer: Issuer) -> None:
    assert issuer.offer(issuer.hana).outcome == (403, "FORBIDDEN")
    assert issuer.offer(issuer.mallory).outcome == (404, "CREDENTIAL_NOT_FOUND")
    absent = "urn:uuid:00000000-0000-4000-8000-000000000000"
    assert issuer.offer(credential_id=absent).outcome == (404, "CREDENTIAL_NOT_FOUND")


def test_a_code_and_a_token_work_once_however_many_try(issuer: Issuer, wallet: Wallet) -> None:
    credential_issuer, code, _ = issuer.offered()
    answers = at_once(wallet.target.wire, [lambda: wallet.token(code)] * 8)
    assert sorted(one.status for one in answers) == [200] + [400] * 7
    assert {refusal(one) for one in answers if one.status != 200} == {(400, "invalid_grant")}
    (token,) = (one.json["access_token"] for one in answers if one.status == 200)
    proofs = [wallet.proof(credential_issuer) for _ in range(8)]
    calls = [lambda proof=proof: wallet.credential(token, proof) for proof in proofs]
    answers = at_once(wallet.target.wire, calls)
    assert sorted(one.status for one in answers) == [200] + [400] * 7
    assert {refusal(one) for one in answers if one.status != 200} == {(400, "credential_request_denied")}


def test_a_transaction_code_is_guessed_five_times(issuer: Issuer, wallet: Wallet) -> None:
    _, code, digits = issuer.offered(transactionCode=True)
    assert digits is not None
    assert len(digits) == 6
    wrong = f"{(int(digits) + 1) % 10**6:06d}"
    assert refusal(wallet.token(code)) == (400, "invalid_request")
    answers = at_once(wallet.target.wire, [lambda: wallet.token(code, tx_code=wrong)] * 12)
    assert {refusal(one) for one in answers} == {(400, "invalid_grant")}
    left = sorted(one.json["details"]["triesLeft"] for one in answers)
    assert left == [0] * 8 + [1, 2, 3, 4]
    assert refusal(wallet.token(code, tx_code=digits)) == (400, "invalid_grant")


def test_a_right_transaction_code_after_a_wrong_one(issuer: Issuer, wallet: Wallet) -> None:
    _, code, digits = issuer.offered(transactionCode=True)
    for wrong in ("", digits + "0", f" {digits}", digits.translate({48 + n: 0x660 + n for n in range(10)})):
        assert refusal(wallet.token(code, tx_code=wrong))[0] == 400
    assert wallet.token(code, tx_code=digits).status == 200
    _, plain, _ = issuer.offered()
    assert refusal(wallet.token(plain, tx_code="123456")) == (400, "invalid_request")


def test_unknown_code_is_refused(issuer: Issuer, wallet: Wallet) -> None:
    _, code, _ = issuer.offered()
    _, token = issuer.token(wallet)
    flipped = code[:-3] + ("A" if code[-3] != "A" else "B") + code[-2:]
    for text in ("x", "%00", "é", "A" * 2_000, flipped, code + "=", token, code[:-1], wallet.nonce()):
        assert refusal(wallet.token(text)) == (400, "invalid_grant")
    assert refusal(wallet.token("")) == (400, "invalid_request")
    assert wallet.token(code).status == 200


def test_a_token_of_something_else_opens_nothing(issuer: Issuer, wallet: Wallet) -> None:
    credential_issuer, code, _ = issuer.offered()
    _, token = issuer.token(wallet)
    flipped = token[:-3] + ("A" if token[-3] != "A" else "B") + token[-2:]
    key = issuer.target.stranger.api_key
    for text in (code, flipped, "x", "A" * 2_000, key, wallet.nonce()):
        assert refusal(wallet.credential(text, wallet.proof(credential_issuer))) == (401, "invalid_token")
    answer = wallet.credential(None, wallet.proof(credential_issuer))
    assert refusal(answer) == (401, "invalid_token")
    assert answer.headers["www-authenticate"] == 'Bearer realm="identity"'
    answer = wallet.credential(flipped, "x")
    assert answer.headers["www-authenticate"] == 'Bearer realm="identity", error="invalid_token"'
    # And a wallet's token is none of the interface.
    bearer = {"Authorization": f"Bearer {token}"}
    assert wallet.target.wire.call("GET", f"{PREFIX}/credentials", None, bearer).outcome == (401, "AUTH_FAILED")


PROOFS: dict[str, Callable[[Wallet, str], Any]] = {
    "for another issuer": lambda one, to: one.proof(to + "x"),
    "for the origin": lambda one, to: one.proof(one.target.wire.url),
    "without an audience": lambda one, to: one.proof(to, aud=DROP),
    "of another type": lambda one, to: one.proof(to, {"typ": "JWT"}),
    "without a type": lambda one, to: one.proof(to, {"typ": DROP}),
    "alg none": lambda one, to: one.proof(to, {"alg": "none"}),
    "without a signature": lambda one, to: one.proof(to, {"alg": "none"}).rpartition(".")[0] + ".",
    "an alg of another key": lambda one, to: one.proof(to, {"alg": "EdDSA"}),
    "a key of another wallet": lambda one, to: one.proof(to, {"jwk": Wallet(one.target).jwk}),
    "a private key": lambda one, to: one.proof(to, {"jwk": one.jwk | {"d": "AA"}}),
    "a symmetric key": lambda one, to: one.proof(to, {"jwk": {"kty": "oct", "k": "AA"}, "alg": "HS256"}),
    "two keys": lambda one, to: one.proof(to, {"kid": one.did_key}),
    "no key": lambda one, to: one.proof(to, {"jwk": DROP}),
    "a certificate": lambda one, to: one.proof(to, {"jwk": DROP, "x5c": ["AA"]}),
    "a kid that is not a DID": lambda one, to: one.proof(to, {"jwk": DROP, "kid": "key-1"}),
    "a DID that is unknown": lambda one, to: one.proof(to, {"jwk": DROP, "kid": "did:ids:QmAbsent#key"}),
    "a DID elsewhere": lambda one, to: one.proof(to, {"jwk": DROP, "kid": "did:web:127.0.0.1%3A1#key"}),
    "a crit": lambda one, to: one.proof(to, {"crit": ["exp"]}),
    "of yesterday": lambda one, to: one.proof(to, iat=int(time.time()) - 86_400),
    "of tomorrow": lambda one, to: one.proof(to, iat=int(time.time()) + 86_400),
    "without a time": lambda one, to: one.proof(to, iat=DROP),
    "a time of another type": lambda one, to: one.proof(to, iat=True),
    "a time past every calendar": lambda one, to: one.proof(to, iat=10**18),
    "without a nonce": lambda one, to: one.proof(to, nonce=DROP),
    "changed": lambda one, to: one.proof(to)[:-20] + one.proof(to)[-20:].swapcase(),
    "a number": lambda one, to: 7,
    "nothing": lambda one, to: "",
}


@pytest.mark.parametrize("made", PROOFS.values(), ids=PROOFS.keys())
def test_proof_that_proves_nothing_is_refused_and_spends_nothing(
    issuer: Issuer, wallet: Wallet, made: Callable[[Wallet, str], Any]
) -> None:
    credential_issuer, token = issuer.token(wallet)
    assert refusal(wallet.credential(token, made(wallet, credential_issuer))) == (400, "invalid_proof")
    assert wallet.credential(token, wallet.proof(credential_issuer)).status == 200


def test_a_nonce_is_ours_and_works_once(issuer: Issuer, wallet: Wallet) -> None:
    credential_issuer, token = issuer.token(wallet)
    nonce = wallet.nonce()
    flipped = nonce[:-3] + ("A" if nonce[-3] != "A" else "B") + nonce[-2:]
    for text in ("x", flipped, nonce + "A", "A" * len(nonce), token):
        answer = wallet.credential(token, wallet.proof(credential_issuer, nonce=text))
        assert refusal(answer) == (400, "invalid_nonce")
    assert wallet.credential(token, wallet.proof(credential_issuer, nonce=nonce)).status == 200
    _, other = issuer.token(wallet)
    assert refusal(wallet.credential(other, wallet.proof(credential_issuer, nonce=nonce))) == (400, "invalid_nonce")
    assert wallet.credential(other, wallet.proof(credential_issuer)).status == 200


BODIES: dict[str, tuple[Any, str]] = {
    "no JSON": (b"{", "invalid_credential_request"),
    "two meanings": (b'{"proofs":{},"proofs":{}}', "invalid_credential_request"),
    "an array": ([], "invalid_credential_request"),
    "nothing": ({}, "unknown_credential_configuration"),
    "another configuration": ({"credential_configuration_id": "mdoc"}, "unknown_credential_configuration"),
    "an identifier": ({"credential_identifier": "x"}, "unknown_credential_identifier"),
    "no proof": ({"credential_configuration_id": "dc+sd-jwt"}, "invalid_proof"),
    "the proof of drafts": (
        {"credential_configuration_id": "dc+sd-jwt", "proof": {"proof_type": "jwt", "jwt": "x"}},
        "invalid_proof",
    ),
    "no proofs": ({"credential_configuration_id": "dc+sd-jwt", "proofs": {"jwt": []}}, "invalid_proof"),
    "two proofs": ({"credential_configuration_id": "dc+sd-jwt", "proofs": {"jwt": ["x", "y"]}}, "invalid_proof"),
    "two kinds": ({"credential_configuration_id": "dc+sd-jwt", "proofs": {"jwt": ["x"], "di_vp": []}}, "invalid_proof"),
    "encryption": (
        {"credential_configuration_id": "dc+sd-jwt", "credential_response_encryption": {}},
        "invalid_encryption_parameters",
    ),
}


def test_a_request_of_another_shape_has_its_error(issuer: Issuer, wallet: Wallet) -> None:
    _, token = issuer.token(wallet)
    for name, (body, error) in BODIES.items():
        assert (name, *refusal(wallet.post(token, body))) == (name, 400, error)
    assert refusal(wallet.post(token, b"x=y", **{"Content-Type": "text/plain"})) == (415, "invalid_request")
    assert refusal(wallet.post(token, b" " * 40_000)) == (413, "invalid_request")


@pytest.mark.parametrize("end", ["revoked", "suspended", "deactivated"])
def test_credential_ended_after_the_offer_is_not_given(issuer: Issuer, wallet: Wallet, end: str) -> None:
    own = Issuer.open(issuer.target) if end == "deactivated" else issuer
    credential_id = own.issued()
    answer = own.offer(credential_id=credential_id)
    code = answer.json["offer"]["grants"][PRE_AUTHORIZED]["pre-authorized_code"]
    token = wallet.token(code).json["access_token"]
    if end == "deactivated":
        assert own.ivo.act("deactivate", {"confirm": True, "reason": "the end"}).status == 200
    else:
        purpose = {"revoked": "revocation", "suspended": "suspension"}[end]
        body = {"purpose": purpose, "value": True}
        assert ask(own.ivo, "POST", f"/credentials/{quote(credential_id)}/status", body).status == 200
    refused = wallet.credential(token, wallet.proof(answer.json["offer"]["credential_issuer"]))
    assert refusal(refused) == (400, "credential_request_denied")
    if end != "deactivated":
        assert own.offer(credential_id=credential_id).outcome == (410, "CREDENTIAL_REVOKED")


def test_an_issuer_without_a_key_on_p256_offers_nothing(issuer: Issuer) -> None:
    ivo = issuer.target.stranger.holder(additionalKeys=[BLS], storeSecrets=True)
    credential_id = issuer.issued(issuerDid=ivo.did)
    assert issuer.offer(ivo, credential_id).outcome == (422, "INVALID_CREDENTIAL")


def test_a_schema_whose_names_mean_something_else_is_not_offered(issuer: Issuer) -> None:
    for name in ("cnf", "iss", "vct", "status", "exp", "_sd"):
        schema_id = f"{issuer.ivo.did}#{name}-{time.time_ns()}"
        body = {"id": schema_id, "attributes": [{"name": name, "type": "string"}]}
        assert ask(issuer.ivo, "POST", "/credential-schemas", body).status == 201
        credential_id = issuer.issued(schemaId=schema_id, attributes={name: "x"})
        assert issuer.offer(credential_id=credential_id).outcome == (422, "INVALID_CREDENTIAL")


def test_there_is_no_metadata_for_what_is_no_schema(target: Target) -> None:
    for text in ("", "x", "%2e%2e", base64url(b"urn:absent"), base64url(b"\xff"), "A" * 3_000):
        for path in (
            f"/.well-known/openid-credential-issuer/openid/{text}",
            f"/openid/{text}/.well-known/openid-credential-issuer",
        ):
            answer = target.wire.call("GET", path)
            assert (answer.status, answer.code) == (404, "NOT_FOUND"), path


def test_a_wallet_of_drafts_finds_the_same_metadata(issuer: Issuer, wallet: Wallet) -> None:
    credential_issuer, _, _ = issuer.offered()
    path = urlsplit(credential_issuer).path
    answer = wallet.target.wire.call("GET", f"{path}/.well-known/openid-credential-issuer")
    assert answer.json == wallet.metadata(credential_issuer)


def test_nothing_that_was_said_is_in_the_database(issuer: Issuer, wallet: Wallet) -> None:
    credential_issuer, code, digits = issuer.offered(transactionCode=True)
    token = wallet.token(code, tx_code=str(digits)).json["access_token"]
    secured = wallet.credential(token, wallet.proof(credential_issuer)).json["credentials"][0]["credential"]
    found = b"".join(path.read_bytes() for path in issuer.target.data_dir.rglob("*") if path.is_file())
    for text in (code, token, secured, *secured.split("~")[1:-1]):
        assert text.encode() not in found
