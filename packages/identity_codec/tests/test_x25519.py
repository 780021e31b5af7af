from __future__ import annotations

import pytest

from identity_codec import x25519
from identity_codec.ed25519 import InvalidEd25519Key

PRIME = 2**255 - 19
LOW_ORDER = (
    0,
    1,
    PRIME - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)
NOT_REDUCED = (PRIME, PRIME + 1, 2**255 - 1, 2**255, 2**255 + 9, 2**256 - 1)


def test_bob_of_rfc_7748() -> None:
    public = x25519.public_key(bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    assert public.hex() == "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    x25519.check_public_key(public)


@pytest.mark.parametrize("number", LOW_ORDER + NOT_REDUCED)
def test_small_order_and_unreduced_values_are_no_keys(number: int) -> None:
    with pytest.raises(InvalidEd25519Key):
        x25519.check_public_key(number.to_bytes(32, "little"))


@pytest.mark.parametrize("size", [0, 31, 33])
def test_lengths(size: int) -> None:
    with pytest.raises(InvalidEd25519Key):
        x25519.check_public_key(b"\x09" * size)
    with pytest.raises(ValueError, match="32 bytes"):
        x25519.public_key(b"\x09" * size)


def test_the_largest_reduced_value_is_refused_for_its_order() -> None:
    with pytest.raises(InvalidEd25519Key, match="small-order"):
        x25519.check_public_key((PRIME - 1).to_bytes(32, "little"))
    with pytest.raises(InvalidEd25519Key, match="not a reduced"):
        x25519.check_public_key(PRIME.to_bytes(32, "little"))
