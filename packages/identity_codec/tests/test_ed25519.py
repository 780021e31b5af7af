from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_codec import ed25519

ORDER = 2**252 + 27742317777372353535851937790883648493
# The eight points of small order, canonical and not, and the identity.
SMALL_ORDER = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_own_signature_is_valid(seed: bytes, message: bytes) -> None:
    pair = ed25519.generate(seed)
    ed25519.check_public_key(pair.public)
    assert ed25519.sign(seed, message) == pair.sign(message)
    ed25519.verify(pair.public, message, pair.sign(message))


def test_the_first_vector_of_rfc_8032() -> None:
    pair = ed25519.generate(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    assert pair.public.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert pair.sign(b"").hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )


@given(st.integers(0, 511))
def test_every_flipped_bit_of_a_signature_is_noticed(bit: int) -> None:
    pair = ed25519.generate(bytes(32))
    signature = int.from_bytes(pair.sign(b"message")) ^ (1 << bit)
    with pytest.raises(ed25519.Ed25519SignatureInvalid):
        ed25519.verify(pair.public, b"message", signature.to_bytes(64))


def test_s_plus_the_group_order_is_another_text_for_no_signature() -> None:
    pair = ed25519.generate(bytes(32))
    signature = pair.sign(b"message")
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    with pytest.raises(ed25519.Ed25519SignatureInvalid):
        ed25519.verify(pair.public, b"message", signature[:32] + scalar.to_bytes(32, "little"))


@pytest.mark.parametrize("size", [0, 32, 63, 65, 128])
def test_a_signature_has_64_bytes(size: int) -> None:
    pair = ed25519.generate(bytes(32))
    signature = (pair.sign(b"message") * 2)[:size]
    with pytest.raises(ed25519.Ed25519SignatureInvalid):
        ed25519.verify(pair.public, b"message", signature)


def test_signature_and_message_cannot_trade_bytes() -> None:
    pair = ed25519.generate(bytes(32))
    signature = pair.sign(b"message")
    with pytest.raises(ed25519.Ed25519SignatureInvalid):
        ed25519.verify(pair.public, b"essage", signature + b"m")


@pytest.mark.parametrize("raw", SMALL_ORDER)
def test_weak_public_keys_are_refused(raw: str) -> None:
    with pytest.raises(ed25519.InvalidEd25519Key):
        ed25519.check_public_key(bytes.fromhex(raw))


@pytest.mark.parametrize("raw", [b"", bytes(31), bytes(33), b"\x02" + bytes(31), b"\xff" * 32], ids=len)
def test_invalid_point_is_refused(raw: bytes) -> None:
    with pytest.raises(ed25519.InvalidEd25519Key):
        ed25519.check_public_key(raw)


def test_a_key_pair_does_not_print_its_seed() -> None:
    assert bytes(range(32)).hex() not in repr(ed25519.generate(bytes(range(32)))).lower()
    assert "seed" not in repr(ed25519.generate(bytes(32)))


def test_a_seed_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        ed25519.generate(bytes(31))
