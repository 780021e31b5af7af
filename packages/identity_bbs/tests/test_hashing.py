"""expand_message_xmd against RFC 9380 appendix K.1, and its limits."""

from __future__ import annotations

import pytest

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.keys import expand_message_xmd, hash_to_scalar

DST = b"QUUX-V01-CS02-with-expander-SHA256-128"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"", "68a985b87eb6b46952128911f2a4412bbc302a9d759667f87f7a21d803f07235"),
        (b"abc", "d8ccab23b5985ccea865c6c97b6e5b8350e794e603b4b97902f53a8a0d605615"),
        (b"abcdef0123456789", "eff31487c770a893cfb36f912fbfcbff40d5661771ca4b2cb4eafe524333f5c1"),
    ],
)
def test_vectors_of_the_rfc(message, expected):
    assert expand_message_xmd(message, DST, 32).hex() == expected


def test_agrees_with_py_ecc_on_every_length():
    py_ecc = pytest.importorskip("py_ecc.bls.hash")
    import hashlib

    for length in (1, 31, 33, 48, 64, 96, 480, 8160):
        expected = py_ecc.expand_message_xmd(b"message", DST, length, hashlib.sha256)
        assert expand_message_xmd(b"message", DST, length) == expected


@pytest.mark.parametrize("length", [0, -1, 8161])
def test_lengths_that_cannot_be(length):
    with pytest.raises(ValueError, match="8,160"):
        expand_message_xmd(b"", DST, length)


@pytest.mark.parametrize("dst", [b"", b"x" * 256])
def test_tags_that_cannot_be(dst):
    with pytest.raises(ValueError, match="tag"):
        hash_to_scalar(b"", dst)


def test_a_scalar_is_reduced():
    assert all(0 <= hash_to_scalar(bytes([number]), DST) < ORDER for number in range(50))
