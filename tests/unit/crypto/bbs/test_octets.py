"""Octets in and out, what is remembered."""

from __future__ import annotations

import pytest

from identity_core.crypto.bbs import octets
from identity_core.crypto.bbs.suite import ciphersuite
from identity_core.crypto.bls12381 import keys


def test_a_key_is_decoded_once(suite):
    public = keys.generate_key_pair(bytes(32)).public
    assert octets.octets_to_public_key(suite, public) is octets.octets_to_public_key(suite, public)


def test_one_suite_for_a_curve(suite):
    assert ciphersuite(suite.curve) is suite


def test_generators_are_distinct_and_do_not_change_as_they_grow(suite):
    first = suite.generator_octets(3)
    assert suite.generator_octets(30)[: len(first)] == first
    octets = suite.generator_octets(30)
    assert len({octets[start : start + 48] for start in range(0, len(octets), 48)}) == 31


def test_lengths_must_agree(suite):
    with pytest.raises(ValueError, match="indexes"):
        suite.combine(1, 1, [0, 1], [5])


def test_combining_leaves_zero_terms_out(suite):
    assert suite.curve.g1_is_identity(suite.combine(0, 0, [], []))
    assert suite.curve.g1_is_identity(suite.combine(0, 0, [0, 20], [0, 0]))
