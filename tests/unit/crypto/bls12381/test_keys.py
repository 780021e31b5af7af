"""Keys on raw bytes: generation, the edges of a secret, the checks of a public key."""

from __future__ import annotations

import pytest

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.keys import (
    InvalidBlsKey,
    check_public_key,
    generate_secret,
    public_key,
)

from .test_curves import G2_GENERATOR, REFUSED_G2

MATERIAL = bytes(range(32))


def test_a_pair(curve):
    secret = generate_secret(MATERIAL)
    public = public_key(secret)
    assert (len(secret), len(public)) == (32, 96)
    check_public_key(public)


def test_other_material_or_info_is_another_key():
    secrets = {generate_secret(MATERIAL), generate_secret(MATERIAL + b"\x00"), generate_secret(MATERIAL, b"info")}
    assert len(secrets) == 3


def test_too_little_material():
    with pytest.raises(ValueError, match="at least 32"):
        generate_secret(MATERIAL[:-1])
    with pytest.raises(ValueError, match="at most 65535"):
        generate_secret(MATERIAL, bytes(65536))


def test_the_secrets_at_the_edges(curve):
    assert public_key((1).to_bytes(32, "big")) == G2_GENERATOR
    last = public_key((ORDER - 1).to_bytes(32, "big"))
    assert last == bytes([G2_GENERATOR[0] ^ 0x20]) + G2_GENERATOR[1:]


@pytest.mark.parametrize("number", [0, ORDER, ORDER + 1, (1 << 256) - 1])
def test_a_secret_out_of_range(number):
    with pytest.raises(InvalidBlsKey):
        public_key(number.to_bytes(32, "big"))


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_secret_of_another_length(length):
    with pytest.raises(InvalidBlsKey):
        public_key((5).to_bytes(length, "big") if length else b"")


@pytest.mark.parametrize("data", REFUSED_G2.values(), ids=REFUSED_G2)
def test_a_public_key_that_is_none(curve, data):
    with pytest.raises(InvalidBlsKey):
        check_public_key(data)


@pytest.mark.parametrize("data", [b"", G2_GENERATOR[:-1], G2_GENERATOR + b"\x00"])
def test_a_public_key_of_another_length(data: bytes):
    with pytest.raises(InvalidBlsKey, match="a public key has 96 bytes"):
        check_public_key(data)
