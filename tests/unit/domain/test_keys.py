from __future__ import annotations

import os

import pytest

from identity_codec import ed25519, multibase, multikey
from identity_core.cache import BoundedCache
from identity_core.domain.dids import keys
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import InvalidDocument

TYPES = ("Ed25519", "Ed25519VerificationKey2020", "X25519KeyAgreementKey2020", "Bls12381G2Key2020")


@pytest.mark.parametrize("name", TYPES)
def test_a_generated_key_parses_as_its_type(name: str) -> None:
    pair = keys.generate(name, os.urandom)
    key = PublicKey.parse(name, pair.public)
    assert (key.type, key.multibase) == (keys.key_type(name).name, pair.public)
    assert multikey.decode_public(pair.public) == (key.type, key.raw)
    assert multikey.decode_secret(pair.secret) == (key.type, pair.secret_raw)
    assert pair.secret not in repr(pair)
    assert repr(pair.secret_raw) not in repr(pair)


@pytest.mark.parametrize("name", TYPES)
def test_generated_keys_pass_the_check_that_generation_skips(name: str) -> None:
    pair = keys.generate(name, os.urandom)
    keys._checked.forget(pair.public)
    assert PublicKey.parse(name, pair.public).multibase == pair.public


def test_a_secret_signs_for_its_public_key() -> None:
    pair = keys.generate("Ed25519", os.urandom)
    ed25519.verify(PublicKey.parse("Ed25519", pair.public).raw, b"x", ed25519.sign(pair.secret_raw, b"x"))


def test_each_type_for_each_other_is_key_confusion() -> None:
    pairs = {name: keys.generate(name, os.urandom) for name in TYPES[1:]}
    for name in pairs:
        for other, pair in pairs.items():
            if name != other:
                with pytest.raises(InvalidDocument):
                    PublicKey.parse(name, pair.public)


@pytest.mark.parametrize(
    "name", ["", "ed25519", "Multikey", "JsonWebKey2020", "Ed25519VerificationKey2018", "x" * 5000]
)
def test_an_unknown_type_names_those_that_are_known(name: str) -> None:
    with pytest.raises(InvalidDocument) as refusal:
        PublicKey.parse(name, "z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd")
    assert "Ed25519" in refusal.value.details["supported"]
    assert len(str(refusal.value.details)) < 1000


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (multikey.ED25519, b"\x01" + bytes(31)),
        (multikey.ED25519, bytes(32)),
        (multikey.X25519, bytes(32)),
        (multikey.X25519, b"\x01" + bytes(31)),
        (multikey.BLS12381G2, b"\xc0" + bytes(95)),
        (multikey.BLS12381G2, bytes(96)),
    ],
)
def test_weak_keys_are_refused_whatever_the_cache_holds(kind: str, raw: bytes) -> None:
    text = multikey.encode_public(kind, raw)
    for _ in range(2):
        with pytest.raises(InvalidDocument, match="The public key is not valid"):
            PublicKey.parse(kind, text)


def test_the_memory_of_checked_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_checked", BoundedCache(10))
    pairs = [keys.generate("X25519KeyAgreementKey2020", os.urandom) for _ in range(30)]
    assert len(keys._checked.values()) == 10
    for pair in pairs:
        PublicKey.parse(pair.type, pair.public)
    assert len(keys._checked.values()) == 10


def test_purposes() -> None:
    assert keys.default_purposes("Ed25519", primary=True) == (
        "authentication",
        "assertionMethod",
        "capabilityInvocation",
        "capabilityDelegation",
    )
    assert keys.default_purposes("Ed25519", primary=False) == ("authentication",)
    for primary in (True, False):
        assert keys.default_purposes("X25519KeyAgreementKey2020", primary=primary) == ("keyAgreement",)
        assert keys.default_purposes("Bls12381G2Key2020", primary=primary) == ("assertionMethod",)


@pytest.mark.parametrize(
    ("name", "purposes"),
    [
        ("Ed25519", ()),
        ("Ed25519", ("keyAgreement",)),
        ("Ed25519", ("authentication", "authentication")),
        ("Ed25519", ("recovery",)),
        ("Ed25519", ("Authentication",)),
        ("X25519KeyAgreementKey2020", ("authentication",)),
        ("X25519KeyAgreementKey2020", ("keyAgreement", "assertionMethod")),
        ("Bls12381G2Key2020", ("authentication",)),
        ("Bls12381G2Key2020", ("capabilityInvocation",)),
    ],
)
def test_a_type_serves_its_purposes_only(name: str, purposes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidDocument):
        keys.check_purposes(name, purposes)


@pytest.mark.parametrize("text", ["", "z", "z1", "Z6Mk", "z" + "1" * 300, "z" * 10_000, "\x00", "zé", "m" + "A" * 46])
def test_malformed_multikey_is_an_invalid_document(text: str) -> None:
    with pytest.raises(InvalidDocument) as refusal:
        PublicKey.parse("Ed25519", text)
    assert len(str(refusal.value.details)) < 1000


@pytest.mark.parametrize("kind", [multikey.ED25519, multikey.X25519, multikey.BLS12381G2])
def test_a_private_key_is_told_from_a_slip_and_is_not_shown(kind: str) -> None:
    secret = multikey.encode_secret(kind, bytes(range(32)))
    with pytest.raises(InvalidDocument, match="This is a private key") as refusal:
        PublicKey.parse(kind, secret)
    assert refusal.value.details == {}
    slip = "z6MkbrokenbrokenbrokenI0"
    with pytest.raises(InvalidDocument, match="The public key is not valid") as refusal:
        PublicKey.parse(kind, slip)
    assert refusal.value.details == {"publicKeyMultibase": slip}


def test_the_same_bytes_under_another_base_are_another_text() -> None:
    raw = b"\xed\x01" + PublicKey.parse("Ed25519", "z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd").raw
    with pytest.raises(InvalidDocument):
        PublicKey.parse("Ed25519", "u" + multibase.base64url_encode(raw))
