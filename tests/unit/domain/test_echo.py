"""What errors repeat of wrong inputs, and what they keep to themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from identity_did_ids import DidIds, DidIdsSettings
from identity_did_key import DidKey, DidKeySettings
from identity_did_web.location import locate
from identity_did_webvh.log import parse_did

from identity_codec import multikey
from identity_core.domain import callers as key_text
from identity_core.domain.dids import did as endpoint
from identity_core.domain.dids import keys
from identity_core.domain.dids.did import Did
from identity_core.domain.inputs import DID, NOT_SHOWN, PUBLIC_KEY, TERM, URI, echoed
from identity_core.errors import IdentityError, InvalidDid

TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJkaWQ6aWRzOngifQ.c2lnbmF0dXJl"
SECRETS = [
    *(multikey.encode_secret(kind, bytes(32)) for kind in (multikey.ED25519, multikey.X25519, multikey.BLS12381G2)),
    *(multikey.encode_secret(kind, b"\xff" * 32) for kind in (multikey.ED25519, multikey.X25519, multikey.BLS12381G2)),
    key_text.mint(bytes(32)),
    TOKEN,
    hashlib.sha256(b"a secret in hex").hexdigest(),
]
ASKS: dict[str, Callable[[str], object]] = {
    "did": Did.parse,
    "key type": keys.key_type,
    "purposes": lambda text: keys.check_purposes("Ed25519", [text]),
    "public key": lambda text: keys.PublicKey.parse("Ed25519", text),
    "alias": lambda text: endpoint.check_uri(f"{text} ", "alsoKnownAs"),
    "fragment": lambda text: endpoint.check_fragment(f"#{text}"),
    "service type": lambda text: endpoint.check_type(f" {text}"),
}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("around", ["{}", "did:key:{}!", "{} ", "did:ids:x#{}\n", "a {}"])
def test_a_secret_in_the_wrong_member_does_not_come_back(
    secret: str, ask: Callable[[str], object], around: str
) -> None:
    hidden = secret if len(secret) != 64 or not around.startswith("did:") else None
    with pytest.raises(IdentityError) as refusal:
        ask(around.format(secret))
    if hidden is not None:
        assert secret[:24] not in f"{refusal.value} {refusal.value.details}"


@pytest.mark.parametrize(
    "check", [DidIds(DidIdsSettings()).check, DidKey(DidKeySettings()).check, lambda did: parse_did(str(did)), locate]
)
@pytest.mark.parametrize("secret", [secret for secret in SECRETS if len(secret) != 64])
@pytest.mark.parametrize(
    "around", ["did:ids:{}", "did:key:{}", "did:web:{}", "did:webvh:{}:host.example", "did:x:a:{}"]
)
def test_a_secret_for_an_identifier_does_not_come_back(
    secret: str, check: Callable[[Did], object], around: str
) -> None:
    did = Did.parse(around.format(secret))
    assert did.safe_text == NOT_SHOWN
    with pytest.raises(InvalidDid) as refusal:
        check(did)
    assert secret[:24] not in f"{refusal.value} {refusal.value.details}"


def test_a_did_is_repeated() -> None:
    with pytest.raises(InvalidDid) as refusal:
        DidIds(DidIdsSettings()).check(Did.parse("did:ids:short"))
    assert refusal.value.details["did"] == "did:ids:short"


def test_credentials_in_an_address_do_not_come_back() -> None:
    with pytest.raises(IdentityError) as refusal:
        endpoint.check_uri("https://aki:hunter2@files.example/", "serviceEndpoint")
    assert "hunter2" not in str(refusal.value.details)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("did:ids:with blank", DID),
        ("did:ids:", DID),
        ("RsaVerificationKey2018", TERM),
        ("z6MkbrokenbrokenbrokenI0", PUBLIC_KEY),
        ("https://files.example:99999/", URI),
    ],
)
def test_a_slip_is_shown_as_it_was_made(text: str, form: object) -> None:
    assert echoed(text, form) == text  # type: ignore[arg-type]


def test_long_inputs_are_cut_and_others_not_shown() -> None:
    assert echoed("did:ids:" + "x" * 1_000, DID) == "did:ids:" + "x" * 120
    for text, form in (("", DID), ("DID:ids:x", DID), ("x" * 41, TERM), ("Ed25519\n", TERM), ("z6Ab", PUBLIC_KEY)):
        assert echoed(text, form) == NOT_SHOWN
