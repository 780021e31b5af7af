"""ECDSA on P-256 against RFC 7515 and RFC 6979, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import os

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from identity_codec import p256

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
# RFC 6979 §A.2.5.
SECRET = bytes.fromhex("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")
X = bytes.fromhex("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6")
Y = bytes.fromhex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")
SIGNED = bytes.fromhex(
    "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
    "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
)


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_the_key_of_the_standard() -> None:
    compressed = p256.public_key(SECRET)
    assert compressed == b"\x03" + X
    assert p256.coordinates(compressed) == (X, Y)
    assert p256.compress(X, Y) == compressed


def test_the_signature_of_the_standard_verifies_and_no_other() -> None:
    key = p256.public_key(SECRET)
    p256.verify(key, b"sample", SIGNED)
    for message, signature in (
        (b"sampl", SIGNED),
        (b"sample", SIGNED[::-1]),
        (b"sample", SIGNED[:-1]),
        (b"sample", SIGNED + b"\0"),
        (b"sample", bytes(64)),
        (b"sample", SIGNED[:32] + ORDER.to_bytes(32)),
        (b"sample", b"\xff" * 64),
    ):
        with pytest.raises(p256.P256SignatureInvalid):
            p256.verify(key, message, signature)


def test_the_jws_of_the_standard_verifies() -> None:
    # RFC 7515 §A.3.
    x, y = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    signing_input = b"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    p256.verify(p256.compress(decoded(x), decoded(y)), signing_input, decoded(signature))


def test_own_signature_is_valid_in_another_library() -> None:
    secret = p256.generate_secret(os.urandom(32))
    signature = p256.sign(secret, b"message")
    x, y = (int.from_bytes(one) for one in p256.coordinates(p256.public_key(secret)))
    key = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    der = encode_dss_signature(int.from_bytes(signature[:32]), int.from_bytes(signature[32:]))
    key.verify(der, b"message", ec.ECDSA(hashes.SHA256()))
    with pytest.raises(InvalidSignature):
        key.verify(der, b"another", ec.ECDSA(hashes.SHA256()))


@pytest.mark.parametrize("secret", [bytes(32), ORDER.to_bytes(32), b"\xff" * 32, b"\1" * 31, b"\1" * 33, b""])
def test_invalid_secret_is_refused(secret: bytes) -> None:
    with pytest.raises(ValueError):
        p256.public_key(secret)


@pytest.mark.parametrize("material", [bytes(32), b"\xff" * 32, ORDER.to_bytes(32)])
def test_any_random_octets_make_a_secret(material: bytes) -> None:
    secret = p256.generate_secret(material)
    wide = int.from_bytes(hashlib.sha512(b"identity: P-256 secret, v1\n" + material).digest()[:48])
    assert int.from_bytes(secret) == 1 + wide % (ORDER - 1)
    p256.public_key(secret)


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"\x02" + bytes(31),
        b"\x04" + X,
        b"\x00" * 33,
        b"\x02" + b"\xff" * 32,
        b"\x04" + X + Y,
        b"\x02" + (5).to_bytes(32) + b"\0",
    ],
)
def test_invalid_point_is_refused(key: bytes) -> None:
    with pytest.raises(ValueError):
        p256.check_compressed_key(key)


def test_a_point_off_the_curve_is_refused() -> None:
    with pytest.raises(ValueError):
        p256.check_public_key(X, bytes(31) + b"\1")
