from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_codec import multibase


# The test vectors of draft-msporny-base58-03.
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Hello World!", "2NEpo7TZRRrLZSi2U"),
        (
            b"The quick brown fox jumps over the lazy dog.",
            "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
        ),
        (bytes.fromhex("0000287fb4cd"), "11233QC4"),
    ],
)
def test_base58_equals_the_published_vectors(data: bytes, text: str) -> None:
    assert multibase.base58_encode(data) == text
    assert multibase.base58_decode(text) == data


@given(st.binary(min_size=1, max_size=150))
def test_base58_is_read_as_it_was_written(data: bytes) -> None:
    assert multibase.base58_decode(multibase.base58_encode(data)) == data


@given(st.text(alphabet="123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", min_size=1, max_size=120))
def test_each_base58_text_is_the_one_form_of_its_bytes(text: str) -> None:
    data = multibase.base58_decode(text)
    assert multibase.base58_encode(data) == text


@pytest.mark.parametrize("text", ["", "0", "O", "I", "l", " a", "a ", "a\n", "é", "abc+", "１", "\x00"])
def test_invalid_base58_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="base58"):
        multibase.base58_decode(text)


def test_base58_is_capped_before_it_is_decoded() -> None:
    multibase.base58_decode("2" * multibase.MAX_BASE58)
    with pytest.raises(ValueError, match="too long"):
        multibase.base58_decode("2" * (multibase.MAX_BASE58 + 1))


@pytest.mark.parametrize("text", ["", "z", "u2NEpo", "f00", "Z2", "2"])
def test_only_the_prefix_z_is_base58btc(text: str) -> None:
    with pytest.raises(ValueError, match="base58"):
        multibase.base58btc_decode(text)


@given(st.binary(max_size=100))
def test_base64url_goes_there_and_back(data: bytes) -> None:
    text = multibase.base64url_encode(data)
    assert "=" not in text
    assert multibase.base64url_decode(text) == data


@pytest.mark.parametrize(
    "text",
    ["A", "AB", "AAB", "AA==", "AA=", "AA\n", "A A", "AA+", "AA/", "AAAAA", "é", "AA\x00", "_w=", "__9"],
    ids=ascii,
)
def test_loose_base64url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="base64url"):
        multibase.base64url_decode(text)


@pytest.mark.parametrize("value", [None, 7, b"AAAA", ["AAAA"]])
def test_value_that_is_no_text_is_no_base64url(value: Any) -> None:
    with pytest.raises(TypeError):
        multibase.base64url_decode(value)
