from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.domain.callers import digest_of, mint
from tests.listed_keys import is_minted


@given(st.binary(min_size=32, max_size=32))
def test_a_minted_key_has_its_form(data):
    text = mint(data)
    assert is_minted(text)
    assert len(text) == 58
    assert text.isascii()
    assert text.isprintable()


def test_one_golden_key():
    assert mint(bytes(range(32))) == "idk_live_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8Q5NTmQ"


@given(st.binary(min_size=32, max_size=32), st.integers(0, 57), st.sampled_from("aZ0-_ "))
def test_one_changed_character_breaks_the_checksum(data, position, character):
    text = mint(data)
    changed = text[:position] + character + text[position + 1 :]
    assert is_minted(changed) == (changed == text)


@pytest.mark.parametrize("text", ["", "idk_live_", mint(bytes(32)) + "\n", mint(bytes(32))[:-1], " " + mint(bytes(32))])
def test_invalid_key_text_is_refused(text):
    assert not is_minted(text)


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_key_has_256_bits(size):
    with pytest.raises(ValueError):
        mint(bytes(size))


def test_the_digest_is_sha_256_in_hex():
    assert digest_of("schlüssel") == hashlib.sha256("schlüssel".encode()).hexdigest()
    assert len(digest_of("\ud800")) == 64
