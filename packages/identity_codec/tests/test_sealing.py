from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_codec import sealing

KEY = bytes(range(32))


@given(st.binary(max_size=300), st.binary(max_size=50))
def test_a_box_opens_with_its_key_and_its_purpose(plaintext: bytes, purpose: bytes) -> None:
    box = sealing.seal(KEY, plaintext, purpose, random=os.urandom)
    assert box[:1] == sealing.VERSION
    assert len(box) == len(plaintext) + 41
    assert sealing.unseal(KEY, box, purpose) == plaintext


@given(st.integers(0, 8 * (41 + 6) - 1))
def test_every_flipped_bit_is_noticed(bit: int) -> None:
    box = sealing.seal(KEY, b"secret", b"purpose", random=os.urandom)
    spoilt = (int.from_bytes(box) ^ (1 << bit)).to_bytes(len(box))
    with pytest.raises(sealing.BoxInvalid):
        sealing.unseal(KEY, spoilt, b"purpose")


def test_another_key_another_purpose_and_a_cut_are_noticed() -> None:
    box = sealing.seal(KEY, b"secret", b"purpose", random=os.urandom)
    for key, text, purpose in (
        (KEY[::-1], box, b"purpose"),
        (KEY, box, b"purpos"),
        (KEY, box, b""),
        (KEY, box[:-1], b"purpose"),
        (KEY, box[:40], b"purpose"),
        (KEY, b"", b"purpose"),
    ):
        with pytest.raises(sealing.BoxInvalid):
            sealing.unseal(key, text, purpose)


def test_the_same_secret_is_never_sealed_alike() -> None:
    assert sealing.seal(KEY, b"x", b"", random=os.urandom) != sealing.seal(KEY, b"x", b"", random=os.urandom)


def test_hkdf_is_that_of_rfc_5869() -> None:
    key = sealing.derive_key(b"\x0b" * 22, salt=bytes(range(13)), info=bytes.fromhex("f0f1f2f3f4f5f6f7f8f9"), length=42)
    assert key.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    key = sealing.derive_key(b"\x0b" * 22, info=b"", length=42)
    assert key.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"


def test_keys_for_two_uses_differ() -> None:
    assert sealing.derive_key(KEY, info=b"a") != sealing.derive_key(KEY, info=b"b")


def test_a_key_has_1_to_8160_bytes() -> None:
    assert len(sealing.derive_key(KEY, info=b"")) == 32
    for length in (1, 8_160):
        assert len(sealing.derive_key(KEY, info=b"", length=length)) == length
    for length in (-1, 0, 8_161):
        with pytest.raises(ValueError, match="1 to 8160 bytes"):
            sealing.derive_key(KEY, info=b"", length=length)


def test_a_passphrase_gives_a_key_that_depends_on_salt_and_cost() -> None:
    operations, memory = 1, 8 * 1024 * 1024
    key = sealing.key_from_passphrase(b"correct horse", bytes(16), operations=operations, memory_bytes=memory)
    assert len(key) == 32
    again = sealing.key_from_passphrase(b"correct horse", bytes(16), operations=operations, memory_bytes=memory)
    assert key == again
    assert key != sealing.key_from_passphrase(
        b"correct horse", b"\x01" * 16, operations=operations, memory_bytes=memory
    )
    assert key != sealing.key_from_passphrase(b"correct horse", bytes(16), operations=2, memory_bytes=memory)
    with pytest.raises(ValueError, match="16 bytes"):
        sealing.key_from_passphrase(b"x", bytes(15), operations=operations, memory_bytes=memory)
