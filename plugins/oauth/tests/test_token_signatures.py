"""Signatures of tokens, and texts that are none."""

import base64
import hashlib
import json
from typing import Any

import pytest
from identity_oauth.domain.tokens import Envelope
from identity_oauth.use_cases.token_keys import VerificationKey
from nacl.signing import SigningKey

from identity_codec import multikey

SECRET = SigningKey(bytes(range(32)))
PUBLIC = bytes(SECRET.verify_key)
KEY = VerificationKey.of_multikey(multikey.encode_public(multikey.ED25519, PUBLIC))


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(header: Any, payload: bytes = b"{}", key: SigningKey = SECRET) -> str:
    text = encoded(json.dumps(header).encode()) + "." + encoded(payload)
    return f"{text}.{encoded(key.sign(text.encode()).signature)}"


def verify(text: str) -> None:
    KEY.key.verify(Envelope.open(text))


def test_a_good_signature_under_either_name_of_the_algorithm() -> None:
    verify(signed({"alg": "EdDSA"}))
    verify(signed({"alg": "Ed25519"}))


def test_the_key_id_is_the_thumbprint_of_rfc_7638() -> None:
    members = {"crv": "Ed25519", "kty": "OKP", "x": encoded(PUBLIC)}
    digest = hashlib.sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode()).digest()
    assert KEY.kid == encoded(digest)
    assert KEY.jwk == members | {"use": "sig", "alg": "EdDSA", "kid": KEY.kid}


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
        encoded(b'{"alg":"none"}') + ".e30.",
    ],
)
def test_everything_else_is_refused_in_one_way(text: str) -> None:
    with pytest.raises(ValueError):
        verify(text)


def test_the_detached_and_the_unencoded_form_are_no_tokens() -> None:
    header = encoded(b'{"alg":"EdDSA","b64":false,"crit":["b64"]}')
    signature = encoded(SECRET.sign(f"{header}.{{}}".encode()).signature)
    for text in (f"{header}.{{}}.{signature}", f"{header}..{signature}"):
        with pytest.raises(ValueError):
            verify(text)
