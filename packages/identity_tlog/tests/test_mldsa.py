"""ML-DSA-44, where this installation has it."""

from __future__ import annotations

import hashlib

import pytest

from identity_tlog import mldsa

if not mldsa.is_available():
    pytest.skip("cryptography has no ML-DSA-44 here", allow_module_level=True)


def test_a_key_follows_from_its_seed_and_verifies_what_it_signed() -> None:
    pair = mldsa.generate(bytes(32))
    assert len(pair.public) == mldsa.PUBLIC_BYTES
    assert mldsa.generate(bytes(32)).public == pair.public
    assert hashlib.sha256(pair.public).digest() != hashlib.sha256(mldsa.generate(bytes([1]) * 32).public).digest()
    signature = pair.sign(b"message")
    assert len(signature) == mldsa.SIGNATURE_BYTES
    mldsa.verify(pair.public, b"message", signature)


@pytest.mark.parametrize("broken", ["message", "signature", "key", "short signature", "long signature", "short key"])
def test_anything_else_is_refused(broken: str) -> None:
    pair = mldsa.generate(bytes(32))
    signature = pair.sign(b"message")
    public, message = pair.public, b"message"
    match broken:
        case "message":
            message = b"massage"
        case "signature":
            signature = bytes([signature[0] ^ 1]) + signature[1:]
        case "key":
            public = mldsa.generate(bytes([1]) * 32).public
        case "short signature":
            signature = signature[:-1]
        case "long signature":
            signature += b"\0"
        case "short key":
            public = public[:-1]
    with pytest.raises(mldsa.MlDsaSignatureInvalid):
        mldsa.verify(public, message, signature)


def test_a_seed_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        mldsa.generate(bytes(31))
