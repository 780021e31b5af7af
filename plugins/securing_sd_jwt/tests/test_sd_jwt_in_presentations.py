"""An SD-JWT in a presentation that a key signed: its ``cnf`` says who may present it (RFC 7800 §3, RFC 9901 §7.3)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from identity_securing_sd_jwt import SdJwtVc
from test_hostile_sd_jwts import AUDIENCE, DROP, IVO, NAME, NONCE, NOW, b64, bound_to, issued

from identity_codec import multikey
from identity_codec.values import replace
from identity_core.errors import ProofInvalid
from identity_core.ports.securing import Disclosed, KeyBinding


def holder() -> tuple[str, dict[str, Any]]:
    raw = ed25519.Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return multikey.encode_public(multikey.ED25519, raw), {"kty": "OKP", "crv": "Ed25519", "x": b64(raw)}


MALLORY, MALLORY_JWK = holder()
WANTED = KeyBinding(AUDIENCE, NONCE, NOW, MALLORY)


def verified(text: str, binding: KeyBinding = WANTED) -> Disclosed:
    return asyncio.run(SdJwtVc().verify(text, IVO.multikey, binding=binding))


def test_bound_credential_is_refused_in_foreign_presentation() -> None:
    """Input: ``cnf`` is Hana's key, the presentation Mallory's, and no KB-JWT."""
    with pytest.raises(ProofInvalid):
        verified(issued(NAME))


@pytest.mark.parametrize("change", [{"nonce": "another"}, {"aud": "another"}, {"sd_hash": "another"}])
def test_key_binding_for_another_request_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(ProofInvalid):
        verified(bound_to(issued(NAME), **change))


@pytest.mark.parametrize("change", [{"nonce": ""}, {"audience": ""}])
def test_key_binding_without_challenge_or_domain_is_refused(change: dict[str, str]) -> None:
    """Without either the KB-JWT could be one of any other request."""
    binding = replace(WANTED, **change)
    text = bound_to(issued(NAME), nonce=binding.nonce, aud=binding.audience)
    with pytest.raises(ProofInvalid):
        verified(text, binding)


def test_key_binding_of_the_holder_for_this_request_is_accepted() -> None:
    assert verified(bound_to(issued(NAME))).claims["given_name"] == "Hana"


def test_credential_bound_to_the_presenting_key_is_accepted() -> None:
    assert verified(issued(NAME, cnf={"jwk": MALLORY_JWK})).holder_key == MALLORY_JWK


def test_credential_without_binding_is_accepted_in_presentation() -> None:
    assert verified(issued(NAME, cnf=DROP)).holder_key is None


@pytest.mark.parametrize("cnf", [None, "x", {}, {"kid": "did:web:hana.example#key"}, {"jwk": {"kty": "OKP"}}])
def test_confirmation_of_another_form_is_refused(cnf: Any) -> None:
    """An unknown confirmation method is not the absence of one."""
    with pytest.raises(ProofInvalid):
        verified(issued(NAME, cnf=cnf))
