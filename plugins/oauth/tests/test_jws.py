"""Signatures by nacl, which is not what verifies them here."""

import base64
import hashlib
import json
import warnings
from typing import Any

import pytest
from identity_oauth.jws import JwsSignatureInvalid, VerificationKey
from nacl.signing import SigningKey

KEY = SigningKey(bytes(range(32)))
PUBLIC = bytes(KEY.verify_key)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(header: Any, payload: bytes = b"{}", key: SigningKey = KEY) -> str:
    text = encoded(json.dumps(header).encode()) + "." + encoded(payload)
    return f"{text}.{encoded(key.sign(text.encode()).signature)}"


def test_a_good_signature_under_either_name_of_the_algorithm() -> None:
    key = VerificationKey.from_bytes(PUBLIC)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        key.verify(signed({"alg": "EdDSA"}))
        key.verify(signed({"alg": "Ed25519"}))


def test_the_key_id_is_the_thumbprint_of_rfc_7638() -> None:
    key = VerificationKey.from_bytes(PUBLIC)
    members = {"crv": "Ed25519", "kty": "OKP", "x": encoded(PUBLIC)}
    digest = hashlib.sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode()).digest()
    assert key.kid == encoded(digest)
    assert key.jwk == members | {"use": "sig", "alg": "EdDSA", "kid": key.kid}


def test_the_example_of_rfc_8037() -> None:
    x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    key = VerificationKey.from_bytes(base64.urlsafe_b64decode(x + "="))
    assert key.kid == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    key.verify(
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    )


GOOD = signed({"alg": "EdDSA"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        GOOD + "A",
        GOOD + "=",
        GOOD[:-1],
        " " + GOOD,
        GOOD + "\n",
        "é" + GOOD,
        GOOD.rpartition(".")[0] + ".",
        GOOD.replace(".", ".A", 1),
        signed({"alg": "EdDSA"}, key=SigningKey(bytes(32))),
        signed({"alg": "none"}),
        signed({"alg": "HS256"}),
        signed({"alg": "Ed448"}),
        signed({"alg": ["EdDSA"]}),
        signed({}),
        signed([]),
        signed("EdDSA"),
        signed({"alg": "EdDSA", "crit": 5}),
        signed({"alg": "EdDSA", "crit": ["exp"], "exp": 1}),
        signed({"alg": "EdDSA", "kid": "k" * 1000}),
        encoded(b'{"alg":"none"}') + ".e30.",
    ],
)
def test_everything_else_is_refused_in_one_way(text: str) -> None:
    with pytest.raises(JwsSignatureInvalid):
        VerificationKey.from_bytes(PUBLIC).verify(text)


def test_the_detached_and_the_unencoded_form_are_no_tokens() -> None:
    header = encoded(b'{"alg":"EdDSA","b64":false,"crit":["b64"]}')
    signature = encoded(KEY.sign(f"{header}.{{}}".encode()).signature)
    for text in (f"{header}.{{}}.{signature}", f"{header}..{signature}"):
        with pytest.raises(JwsSignatureInvalid):
            VerificationKey.from_bytes(PUBLIC).verify(text)
