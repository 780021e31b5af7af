"""Frozen bytes of suite 2: the vectors of PROTOCOL-2.md §10 on every backend, and a transcript that forgets nothing."""

import json
from hashlib import sha256

import pytest
from identity_prover_bbs import labels as first_suite
from identity_prover_bbs.generators import generator_message
from identity_prover_bbs.suite2 import labels, relation
from identity_prover_bbs.suite2.generators import MAX_ELEMENTS, presentation_generators

from identity_bbs.bls12381 import select
from identity_bbs.suite import P1, ciphersuite
from plugins.prover_bbs.tests.presentation_vectors import CASES, FILE, issue, presentation, scene

VECTORS = json.loads(FILE.read_text())
NATIVE = ["blst", "pyblst"]
GENERATORS = "32b07c7326450da59eae53892a3ff8dbd12bfc7d35e2c1b7aac978f377e775dc"


@pytest.mark.parametrize("backend", NATIVE)
def test_an_issue_and_a_consent(backend):
    assert issue(backend) == VECTORS["issue"]


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        *((name, backend) for name in CASES for backend in NATIVE),
        ("plain", "py_ecc"),
        pytest.param("neq", "py_ecc", marks=pytest.mark.nightly),
    ],
)
def test_presentations_are_the_vectors_on_every_backend(name, backend):
    assert presentation(name, backend) == VECTORS["presentations"][name]


def test_a_presentation_of_before_verifies():
    for name, vector in VECTORS["presentations"].items():
        asked = scene(name)
        assert asked.verdict(vector["proof"]) is True


def hashed(backend, count):
    curve = select(backend)
    roles = [(role, 0) for role in (first_suite.COEFFICIENT, first_suite.COEFFICIENT_BLINDING, first_suite.BLINDING)]
    roles += [(first_suite.DIGIT, index) for index in range(count)]
    return [curve.g1_to_octets(curve.hash_to_g1(generator_message(*role), labels.GENERATOR_DST)) for role in roles]


def test_the_generators_are_frozen_and_no_others():
    found = hashed("pyblst", 256)
    assert sha256(b"".join(found)).hexdigest() == GENERATORS
    curve = select("pyblst")
    own = ciphersuite(curve).generator_octets(64)
    others = {own[at : at + 48] for at in range(0, len(own), 48)} | {P1}
    others |= {
        curve.g1_to_octets(curve.hash_to_g1(generator_message(first_suite.DIGIT, index), first_suite.GENERATOR_DST))
        for index in range(64)
    }
    assert len(set(found)) == 259
    assert not set(found) & others
    assert found[:7] == hashed("py_ecc", 4)


def test_sums_over_the_generators_are_those_of_the_definition():
    """Past the first shelf, with few and with many free scalars."""
    curve = select()
    made = presentation_generators(curve)
    points = [curve.octets_to_g1(data) for data in hashed("pyblst", 80)]
    h, own = points[2], points[3:]
    scalars = [pow(7, n + 1, 1 << 250) for n in range(80)]
    digits = [n % 4 for n in range(80)]
    equal, msm = curve.g1_equal, curve.g1_msm
    assert equal(made.commit_masks(scalars, 5), msm([*own, h], [*scalars, 5]))
    assert equal(made.commit_masks(scalars[:3], 5), msm([*own[:3], h], [*scalars[:3], 5]))
    assert equal(made.commit_digits(digits, 5), msm([*own, h], [*digits, 5]))
    for free in (1, 9):
        elements = made.commit_elements(digits[: 70 - free], scalars[:free], 5)
        assert equal(elements, msm([*own[:70], h], [*digits[: 70 - free], *scalars[:free], 5]))
    assert equal(made.commit_coefficient(3, 4), msm(points[:2], [3, 4]))
    with pytest.raises(ValueError, match="elements"):
        made.commit_masks([1] * (MAX_ELEMENTS + 1), 5)


FRAMES = {
    labels.STATEMENT: range(9),
    labels.PART: range(5),
    labels.FORM: range(1),
    labels.IN_RANGE: range(4),
    labels.EQUALS: range(3),
    labels.MEMBER_OF: range(2),
    labels.NOT_EQUAL: range(2),
    labels.CLASS: range(2),
    labels.SET: range(3),
    labels.CONTEXT: range(8),
    labels.INIT: range(6),
    labels.DISCLOSED: range(1),
    labels.PSEUDONYM: range(2),
    labels.FIRST_MESSAGE: range(8),
    labels.PRESENTATION: range(7),
}


# The default run forgets the first field of each frame, the nightly run every field.
FIELDS = [
    pytest.param(tag, index, marks=() if index == 0 else pytest.mark.nightly)
    for tag, indexes in FRAMES.items()
    for index in indexes
]


@pytest.mark.parametrize(("tag", "index"), FIELDS)
def test_a_build_that_forgets_a_field_is_noticed(tag, index, monkeypatch):
    """Prover and verifier of such a build agree with each other, so only frozen bytes can tell."""
    honest = relation.frame

    def forgetful(of, items):
        items = list(items)
        return honest(of, items[:index] + items[index + 1 :] if of == tag else items)

    monkeypatch.setattr(relation, "frame", forgetful)
    caches = (relation.PresentationRelation.from_statement, relation.set_digest)
    for cache in caches:
        cache.cache_clear()
    try:
        differing = [
            name
            for name in ("neq", "set", "two", "pseudonym")
            if digests(name) != digests_of(VECTORS["presentations"][name])
        ]
        assert differing
    finally:
        monkeypatch.undo()
        for cache in caches:
            cache.cache_clear()


def digests(name):
    return digests_of(presentation(name))


def digests_of(vector):
    return vector["c"], vector["y"]


def test_no_label_is_the_beginning_of_another():
    tags = [value for name, value in vars(labels).items() if name.isupper() and isinstance(value, bytes)]
    tags = [tag for tag in tags if tag != labels.TAG]
    assert len(tags) == len(set(tags)) == 20
    first = [value for name, value in vars(first_suite).items() if name.isupper() and isinstance(value, bytes)]
    assert not set(tags) & set(first)
    starts = [(one, other) for one in tags for other in tags if one != other and other.startswith(one)]
    assert starts == []
