"""Bytes in and out, what is remembered."""

from __future__ import annotations

import pytest

from identity_bbs import encoding
from identity_bbs.bls12381 import keys
from identity_bbs.suite import MAX_OCTETS, InitResult, ciphersuite


def test_a_key_is_decoded_once(suite):
    public = keys.public_key(keys.generate_secret(bytes(32)))
    assert encoding.octets_to_public_key(suite, public) is encoding.octets_to_public_key(suite, public)


def test_one_suite_for_a_curve(suite):
    assert ciphersuite(suite.curve) is suite


def test_generators_are_distinct_and_do_not_change_as_they_grow(suite):
    first = suite.generator_octets(3)
    assert suite.generator_octets(30)[: len(first)] == first
    generators = suite.generator_octets(30)
    assert len({generators[start : start + 48] for start in range(0, len(generators), 48)}) == 31


@pytest.mark.parametrize("suite", ["py_ecc"], indirect=True)
def test_hashed_input_has_at_most_65536_bytes(suite):
    key = encoding.octets_to_public_key(suite, keys.public_key(keys.generate_secret(bytes(32))))
    nothing = suite.curve.g1_identity()
    init = InitResult(nothing, nothing, nothing, nothing, nothing, 7, bytes(240))
    for what, hashed in (
        ("header", lambda value: encoding.calculate_domain(suite, key, 1, value)),
        ("presentation header", lambda value: encoding.calculate_challenge(init, {}, value)),
        ("message", lambda value: encoding.messages_to_scalars([b"", value])),
    ):
        hashed(bytes(MAX_OCTETS))
        with pytest.raises(ValueError, match=f"^a {what} has at most 65536 bytes"):
            hashed(bytes(MAX_OCTETS + 1))


def test_lengths_must_agree(suite):
    for indexes, scalars in (([0, 1], [5]), ([0], [5, 6]), ([20], []), ([], [5])):
        with pytest.raises(ValueError, match=r"zip\(\)"):
            suite.combine(1, 1, indexes, scalars)


def test_combining_leaves_zero_terms_out(suite):
    assert suite.curve.g1_is_identity(suite.combine(0, 0, [], []))
    assert suite.curve.g1_is_identity(suite.combine(0, 0, [0, 20], [0, 0]))


@pytest.mark.parametrize("suite", ["pyblst"], indirect=True)
def test_the_last_message_has_a_generator_too(suite):
    last = suite.curve.octets_to_g1(suite.generator_octets(256)[-48:])
    assert suite.curve.g1_equal(suite.combine(0, 0, [255], [1]), last)
    with pytest.raises(ValueError, match="at most 256"):
        suite.combine(0, 0, [256], [1])
