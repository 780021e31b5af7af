from __future__ import annotations

import pytest

from identity_codec import multibase, multikey

TYPES = (multikey.ED25519, multikey.X25519, multikey.BLS12381G2, multikey.P256)
STARTS = {
    "z6Mk": (multikey.ED25519, 48, 32),
    "z6LS": (multikey.X25519, 48, 32),
    "zUC7": (multikey.BLS12381G2, 135, 96),
    "zDn": (multikey.P256, 49, 33),
}


@pytest.mark.parametrize(("start", "kind", "length", "size"), [(start, *rest) for start, rest in STARTS.items()])
def test_public_keys_begin_as_the_table_says(start: str, kind: str, length: int, size: int) -> None:
    text = multikey.encode_public(kind, (b"\x02" if kind == multikey.P256 else b"\xa7") + b"\xa7" * (size - 1))
    assert text.startswith(start)
    assert len(text) == length
    assert multikey.decode_public(text)[0] == kind


@pytest.mark.parametrize(("kind", "start"), [*zip(TYPES, ("z3u2", "z3we", "z488", "z42t"), strict=True)])
def test_secrets_begin_as_the_table_says(kind: str, start: str) -> None:
    text = multikey.encode_secret(kind, bytes(range(32)))
    assert text.startswith(start)
    assert multikey.decode_secret(text) == (kind, bytes(range(32)))


def test_a_secret_is_no_public_key_and_the_reverse() -> None:
    with pytest.raises(ValueError, match="prefix"):
        multikey.decode_public(multikey.encode_secret(multikey.ED25519, bytes(32)))
    with pytest.raises(ValueError, match="prefix"):
        multikey.decode_secret(multikey.encode_public(multikey.ED25519, bytes(32)))


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64, 96])
def test_a_key_has_its_length(size: int) -> None:
    with pytest.raises(ValueError, match="bytes"):
        multikey.encode_public(multikey.ED25519, bytes(size))
    with pytest.raises(ValueError, match=r"length|prefix"):
        multikey.decode_public(multibase.base58btc_encode(b"\xed\x01" + bytes(size)))


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown"):
        multikey.encode_public("JsonWebKey2020", bytes(32))
    for prefix in (b"\xea\x01", b"\xe7\x01", b"\x80\x24", b"\xed\x02", b"\xed"):
        with pytest.raises(ValueError, match=r"prefix|length"):
            multikey.decode_public(multibase.base58btc_encode(prefix + bytes(32)))
