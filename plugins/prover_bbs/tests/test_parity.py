"""Frozen bytes: generators, transcript and whole proofs, the same on every backend.

A change here is a change of the protocol, and needs another suite name.
"""

import random
from hashlib import sha256

import pytest
from identity_kit.conformance.prover_cases import HANA, NOW, SCHEMA, BbsIssuer, context, statement
from identity_prover_bbs import BbsProver, labels, transcript
from identity_prover_bbs.generators import generator_message, generators
from identity_prover_bbs.relation import Relation, set_scalars

from identity_bbs.bls12381 import select
from identity_bbs.suite import P1, ciphersuite
from tests.curves import BACKENDS, curve_on

ISSUER = BbsIssuer()
STATEMENTS = {
    "range": [("balance", "gte", 5)],
    "interval": [("balance", "gte", "-9223372036854775800"), ("balance", "lt", 7_318_204_915_664)],
    "small": [("score", "lte", 230)],
    "equal": [("score", "eq", 211)],
    "disclosed": [("country", "eq", "JP"), ("resident", "eq", True)],
    "set": [("country", "set_member", ["DE", "ES", "JP"])],
    "all": [
        ("balance", "gt", 5),
        ("height", "lte", "200.00"),
        ("birthDate", "lt", "2008-01-02"),
        ("lastSeen", "gte", "2026-01-01T00:00:00Z"),
        ("score", "set_member", [1, 2, 211]),
        ("country", "set_member", ["JP", "DE"]),
        ("resident", "eq", True),
    ],
}
FROZEN = {
    "range": "00083279ea97396660a84108ecb08e7d9d63941d58d4ba8733a8d7b152aad70d",
    "interval": "a7f3b8a952e3af9a111470958da1a15d0819d692dd7e03f73c02e12490f350f7",
    "small": "d25b4a5d45a53c9718380312d15d51f142aafe3e36fcf4ee9f3a604e464d2ff0",
    "equal": "0ef63ac8963a0995e7ed0364b2854fca0eb06820b3cf08e16927f2141a5e3e49",
    "disclosed": "485942ff65888f9cb569b320276028f8bd70e6ccd42cf38cab289c9e6a2ad3eb",
    "set": "ce9104719cc846709a1f5e1983a82ac26d5be7346a8d253bde2dc6d94f653d4c",
    "all": "9de087c9bf7bd5561f38f82b074235da664b1a7e8a6e1dadb6e51a9c62d453d0",
}
GENERATORS = "3bf3d4482fe3f22a97d6e5a7d630c8a394db4aecdb9f12a867ae68842087a3ce"
TRANSCRIPT = "81781444f895ae0b58434970c86cf2035e36fbe9bb6d6cdc29de392ac5df39a0"


def proof_digest(backend, predicates):
    asked = statement(ISSUER.key, *predicates)
    prover = BbsProver(curve_on(backend), random.Random(42).randbytes)
    made = prover.prove(asked, ISSUER.credential(SCHEMA, HANA), context=context())
    prover.verify(asked, made, context=context(), now=NOW)
    return sha256("\n".join((made.proof, *made.public_signals)).encode()).hexdigest()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_proofs_are_byte_identical_on_every_backend(name, backend):
    assert proof_digest(backend, STATEMENTS[name]) == FROZEN[name]


def first_generators(backend, count):
    curve = curve_on(backend)
    roles = [(labels.COEFFICIENT, 0), (labels.COEFFICIENT_BLINDING, 0), (labels.BLINDING, 0)]
    roles += [(labels.DIGIT, index) for index in range(count)]
    return [curve.g1_to_octets(curve.hash_to_g1(generator_message(*role), labels.GENERATOR_DST)) for role in roles]


def test_the_generators_are_frozen_and_distinct():
    found = first_generators("pyblst", 256)
    assert sha256(b"".join(found)).hexdigest() == GENERATORS
    suite = ciphersuite(select("pyblst"))
    own = suite.generator_octets(200)
    others = {own[start : start + 48] for start in range(0, len(own), 48)} | {P1}
    assert len(set(found)) == len(found) == 259
    assert not set(found) & others
    identity = select("pyblst").g1_to_octets(select("pyblst").g1_identity())
    assert identity not in found


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_generators_are_the_same_everywhere(backend):
    assert first_generators(backend, 12) == first_generators("pyblst", 12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_long_digit_vectors_use_the_same_generators(backend):
    """Past the first shelf, products and digit sums are those of the plain definition."""
    curve = curve_on(backend)
    made = generators(curve)
    points = [curve.hash_to_g1(generator_message(labels.DIGIT, index), labels.GENERATOR_DST) for index in range(40)]
    blinding = curve.hash_to_g1(generator_message(labels.BLINDING, 0), labels.GENERATOR_DST)
    source = random.Random(1)
    scalars = [source.randrange(1 << 255) for _ in points]
    digits = [source.randrange(4) for _ in points]
    assert curve.g1_equal(made.commit_masks(scalars, 5), curve.g1_msm([*points, blinding], [*scalars, 5]))
    assert curve.g1_equal(made.commit_digits(digits, 5), curve.g1_msm([*points, blinding], [*digits, 5]))
    for count in (0, 257):
        with pytest.raises(ValueError, match="digits"):
            made.commit_masks([1] * count, 5)


def transcript_digest():
    asked = statement(ISSUER.key, *STATEMENTS["all"])
    relation = Relation.from_statement(asked)
    drawn = relation.first_challenge(context(), bytes(range(240)), 7, [b"A" * 48, b"B" * 48])
    header = drawn.presentation_header([b"T" * 48] * 3)
    return sha256(header + drawn.y.to_bytes(32, "big")).hexdigest()


def test_the_transcript_is_frozen():
    assert transcript_digest() == TRANSCRIPT


FRAMES = {
    labels.STATEMENT: range(6),
    labels.PREDICATE: range(4),
    labels.CONTEXT: range(7),
    labels.IN_RANGE: range(3),
    labels.EQUALS: range(3),
    labels.MEMBER_OF: range(2),
    labels.SET: range(3),
    labels.DISCLOSED: range(1),
    labels.FIRST_MESSAGE: range(9),
    labels.PRESENTATION: range(6),
}


@pytest.mark.parametrize(("tag", "index"), [(tag, index) for tag, indexes in FRAMES.items() for index in indexes])
def test_a_build_that_forgets_a_field_is_noticed(tag, index, monkeypatch):
    """Prover and verifier of such a build agree with each other, so only frozen bytes can tell."""
    frame = transcript.frame

    def forgetful(of, items):
        items = list(items)
        return frame(of, items[:index] + items[index + 1 :] if of == tag else items)

    for module in ("relation", "transcript"):
        monkeypatch.setattr(f"identity_prover_bbs.{module}.frame", forgetful)
    transcript.set_digest.cache_clear()
    Relation.from_statement.cache_clear()
    try:
        assert transcript_digest() != TRANSCRIPT
        assert proof_digest("pyblst", STATEMENTS["all"]) != FROZEN["all"]
    finally:
        monkeypatch.undo()
        transcript.set_digest.cache_clear()
        Relation.from_statement.cache_clear()


def test_costly_public_value_is_computed_once():
    """The generators, a statement, a set's scalars and its digest: asked again, they are the object that is there."""
    assert generators(select()) is generators(select())
    first, again = (statement(ISSUER.key, *STATEMENTS["set"]) for _ in range(2))
    assert Relation.from_statement(first) is Relation.from_statement(again)
    assert set_scalars((b"DE", b"JP")) is set_scalars((b"DE", b"JP"))
    assert transcript.set_digest(b"octets", (1, 2)) is transcript.set_digest(b"octets", (1, 2))


def test_frames_are_unambiguous():
    lists = [
        [],
        [b""],
        [b"", b""],
        [b"ab"],
        [b"a", b"b"],
        [b"", b"ab"],
        [b"ab", b""],
        [transcript.frame(b"t", [b"ab"])],
    ]
    assert len({transcript.frame(b"t", items) for items in lists}) == len(lists)
    assert transcript.frame(b"t", [b"x"]) != transcript.frame(b"tx", [])
    assert transcript.optional(None) != transcript.optional(b"")


def test_no_label_is_the_beginning_of_another():
    tags = [
        value
        for name, value in vars(labels).items()
        if name.isupper() and isinstance(value, bytes) and b"ZKPRED" in value
    ]
    assert len(tags) == len(set(tags)) == 14
    assert not [(one, other) for one in tags for other in tags if one != other and other.startswith(one)]


if __name__ == "__main__":
    print({name: proof_digest("pyblst", predicates) for name, predicates in STATEMENTS.items()})
    print(sha256(b"".join(first_generators("pyblst", 256))).hexdigest(), transcript_digest())
