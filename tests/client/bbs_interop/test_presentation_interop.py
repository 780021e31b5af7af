"""A verifier of presentations in JavaScript, which follows PROTOCOL-2.md alone, takes exactly what ours takes.

Both see the frozen vectors, random presentations of every shape, and mutants of these. ``IDENTITY_ROUNDS`` of 50 and more tries 200
presentations and 2,000 mutants.
"""

import copy
import json
import os
import re
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from identity_codec.values import replace
from plugins.prover_bbs.tests.presentation_vectors import CASES, scene
from plugins.prover_bbs.tests.test_presentation_parity import VECTORS
from tests.presenting import NOW
from tests.random_presentations import KINDS, Case, mutant, packed, presentations, unpacked
from tests.vectors.presentations import FILE

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "1"))
PRESENTATIONS = min(200, 4 * ROUNDS)
MUTANTS = min(2_000, 40 * ROUNDS)


def verdicts(independent, cases):
    return independent("verify_presentations.mjs", [case.json for case in cases])


def test_the_vectors(independent):
    cases = [Case(scene(name), VECTORS["presentations"][name]["proof"], NOW, {}) for name in CASES]
    found = dict(zip(CASES, verdicts(independent, cases), strict=True))
    assert {name: one["holds"] for name, one in found.items()} == dict.fromkeys(CASES, True)
    headers = {name: VECTORS["presentations"][name]["presentationHeader"] for name in CASES}
    assert {name: one["presentationHeader"] for name, one in found.items()} == headers
    assert found["consented"]["unchecked"] == []
    assert found["plain"]["unchecked"] == ["credentialValidity", "credentialStatus"]
    shown = scene("neq").accept(VECTORS["presentations"]["neq"]["proof"]).pseudonym
    assert found["neq"]["pseudonym"] == shown.hex()


@pytest.mark.parametrize("kind", ["accepted", "refused"])
def test_the_frozen_presentations(independent, kind):
    cases = json.loads(FILE.read_text())[kind]
    found = independent("verify_presentations.mjs", cases)
    assert {one["name"]: was["holds"] for one, was in zip(cases, found, strict=True)} == {
        one["name"]: kind == "accepted" for one in cases
    }


@pytest.mark.parametrize("text", ["\U0001fa77", "\U000105d2\u0307", "\u0378"])
def test_text_that_unicode_14_lacks_is_refused(independent, text):
    """Node may have a later version, and compose the second one."""
    vectors = {one["name"]: one for one in json.loads(FILE.read_text())["accepted"]}
    in_value, in_context = (copy.deepcopy(vectors[name]) for name in ("string eq", "pseudonym, plain"))
    in_value["question"]["credentials"][0]["predicates"][0]["value"] = text
    in_context["question"]["pseudonym"] = text
    for case, reason in ((in_value, "a character that Unicode 14.0"), (in_context, "the context of a pseudonym")):
        envelope = unpacked(case["text"])
        envelope["question"] = case["question"]
        (found,) = independent("verify_presentations.mjs", [case | {"text": packed(envelope)}])
        assert not found["holds"]
        assert found["reason"].startswith(reason)


@pytest.fixture(scope="module")
def drawn():
    return list(islice(presentations(Random(2)), PRESENTATIONS))


def test_random_presentations(independent, drawn):
    assert [case.verdict for case in drawn] == [True] * PRESENTATIONS
    found = verdicts(independent, drawn)
    assert [one.get("reason") for one in found] == [None] * PRESENTATIONS
    assert all(one["holds"] for one in found)


def test_mutants_are_taken_by_both_or_by_neither(independent, drawn):
    random = Random(3)
    made = []
    for _ in range(MUTANTS):
        case = random.choice(drawn)
        again = replace(case.scene, seed=case.scene.seed + 1)
        other = random.choice((replace(case, text=again.prove()), random.choice(drawn)))
        made.append(mutant(random, case, other))
    ours = [case.verdict for _, case in made]
    theirs = verdicts(independent, [case for _, case in made])
    differing = [
        (kind, mine, other)
        for (kind, _), mine, other in zip(made, ours, theirs, strict=True)
        if (mine is True) != other["holds"]
    ]
    assert differing == []
    assert {kind for kind, _ in made} == set(KINDS)
    assert 0 < ours.count(True) < MUTANTS / 2


def test_it_is_short_and_asks_only_the_page():
    here = Path(__file__).parent
    texts = [(here / name).read_text() for name in ("presentation_statement.mjs", "presentation_verifier.mjs")]
    lines = [line for text in texts for line in re.sub(r"^import .*?;$", "", text, flags=re.M | re.S).splitlines()]
    assert len([line for line in lines if line.strip() and not line.strip().startswith("//")]) <= 500
