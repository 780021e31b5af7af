"""The agent is the attacker: how much of a value it can search out, before it is stopped (openapi/DECISIONS.md §4.3).

Hana signs a token for every question that Aki comes with, and leaves the value open: the worst that a holder can do. What an agent
learns is counted in values that are still possible; the bound is the one of ``generateDelegatedProof``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

import pytest

from tests.attack.delegated.scene import VALUES, People, Scene
from tests.attack.stranger import at_once

YES, NO = (201, None), (422, "PREDICATE_NOT_SATISFIED")
STOPPED = {(403, "DELEGATION_SUSPENDED"), (403, "DISCLOSURE_LIMIT"), (403, "DELEGATION_EXHAUSTED")}
AGE: int = VALUES["age"]
DEFAULTS: dict[str, Any] = {"maxRefusals": 1, "maxThresholds": 3}
DISCLOSURES = 3


@dataclass
class Searcher:
    """A client that asks for proofs, and what it knows: the ages that are still possible."""

    scene: Scene
    possible: set[int]
    asked: int = 0
    outcome: tuple[int, str | None] = (0, None)

    def ask(self, kind: str, value: Any, holds: Callable[[int], bool], attribute: str = "age") -> bool:
        """Whether it was answered; what the answer rules out is ruled out."""
        answer = self.scene.ask(self.scene.body(about=(attribute, kind, value)))
        self.outcome = answer.outcome
        if self.outcome not in (YES, NO):
            assert self.outcome in STOPPED, answer.body
            assert "37" not in str({k: v for k, v in answer.json["error"]["details"].items() if k != "requestId"})
            return False
        self.asked += 1
        self.possible = {one for one in self.possible if holds(one) == (self.outcome == YES)}
        return True

    def at_least(self, threshold: int) -> bool:
        return self.ask("gte", threshold, lambda one: one >= threshold)


def searcher(people: People, **terms: Any) -> Searcher:
    return Searcher(Scene.create(people, **(DEFAULTS | terms)), set(range(151)))


def halve(who: Searcher) -> None:
    """Binary search until it is stopped."""
    while len(who.possible) > 1:
        middle = sorted(who.possible)[len(who.possible) // 2]
        if not who.at_least(middle):
            return


def intervals(questions: int, refusals: int) -> int:
    """Into how many intervals so many questions with so many refusals can cut: the leak bound."""
    return sum(comb(questions, number) for number in range(refusals + 1))


def test_a_search_succeeds_where_nothing_limits_it(people: People) -> None:
    """Else the tests below would show nothing. Limits are of a credential: one that says the same may be asked anew."""
    who = searcher(people, maxRefusals=None, maxThresholds=None)
    while len(who.possible) > 1:
        who.scene.credential_id = people.issue(people.hana)
        assert who.at_least(sorted(who.possible)[len(who.possible) // 2])
    assert who.possible == {AGE}
    assert who.asked <= 8


def test_binary_search(people: People) -> None:
    who = searcher(people)
    halve(who)
    assert who.asked <= 3
    assert len(who.possible) > 15
    assert who.scene.delegation()["status"] == "suspended"
    for threshold in (1, 2, 37, 38):
        assert not who.at_least(threshold)


def test_binary_search_that_is_never_refused(people: People) -> None:
    """Thresholds are counted, and not only refusals."""
    who = searcher(people)
    for threshold in range(1, 37):
        if not who.at_least(threshold):
            break
    assert who.asked == 3
    assert who.outcome == (403, "DISCLOSURE_LIMIT")
    assert who.possible == set(range(3, 151))


def test_an_upward_scan(people: People) -> None:
    """The first refusal would tell the value: it comes no nearer than the thresholds allow."""
    who = searcher(people)
    for threshold in range(35, 45):
        if not who.at_least(threshold):
            break
    assert who.asked == 3
    assert len(who.possible) > 100


@pytest.mark.parametrize("refusals", [1, 2, 3])
def test_a_downward_scan(people: People, refusals: int) -> None:
    """Every question is refused, until the limit of refusals is reached: then nothing is answered, not even a yes."""
    who = searcher(people, maxRefusals=refusals, maxThresholds=None)
    for threshold in range(60, 38, -1):
        if not who.at_least(threshold):
            break
    assert who.asked == refusals
    assert who.outcome == (403, "DELEGATION_SUSPENDED")
    assert who.scene.delegation()["refusals"] == refusals
    assert not who.at_least(18)
    assert who.scene.ask().json["error"]["details"]["remedy"] == "The holder resumes it (resumeDelegation)."


@pytest.mark.parametrize(("refusals", "thresholds"), [(1, 3), (2, 3), (1, 6), (3, 6), (0, 3)])
def test_the_leak_bound(people: People, refusals: int, thresholds: int) -> None:
    """All values that an agent could have been told apart by, whatever it asks: here by the best search there is for one."""
    who = searcher(people, maxRefusals=refusals, maxThresholds=thresholds)
    halve(who)
    assert who.asked <= thresholds
    assert who.scene.delegation()["refusals"] <= max(refusals, 1)
    # At least one of the intervals is that wide, so a search that halves is not better than this.
    assert len(who.possible) >= 151 // (2 ** min(thresholds, who.asked)) - 1
    assert intervals(thresholds, max(refusals, 1)) <= 2**thresholds


def test_guessing_by_equality(people: People) -> None:
    who = searcher(people)
    for guess in (36, 37):
        who.ask("eq", guess, guess.__eq__)
    assert who.asked == 1
    assert who.outcome == (403, "DELEGATION_SUSPENDED")
    country = searcher(people)
    for name in ("JP", "DE", "Wakanda"):
        country.ask("eq", name, lambda _: True, "country")
    assert country.asked == 1


def test_halving_sets(people: People) -> None:
    names = ["Wakanda", *(f"C{number}" for number in range(15))]
    who = searcher(people, maxThresholds=3)
    who.possible = set(range(16))
    while len(who.possible) > 1:
        half = sorted(who.possible)[: len(who.possible) // 2]
        if not who.ask("set_member", [names[one] for one in half], half.__contains__, "country"):
            break
    assert who.asked == 3
    assert len(who.possible) >= 2
    # Not one name by one either: each set is another question.
    other = searcher(people)
    other.ask("set_member", ["DE", "JP"], lambda _: True, "country")
    assert not other.ask("set_member", ["DE", "Wakanda"], lambda _: True, "country")


def test_another_order_of_a_set_is_the_same_question(people: People) -> None:
    who = searcher(people)
    for names in (["Wakanda", "JP"], ["JP", "Wakanda"], ["JP", "JP", "Wakanda"]) * 2:
        assert who.ask("set_member", names, lambda _: True, "country") or who.outcome == (422, "PREDICATE_UNSUPPORTED")
    assert who.scene.delegation()["thresholds"] == 1


def test_a_boolean_is_a_question_too(people: People) -> None:
    who = searcher(people)
    assert who.ask("eq", False, lambda _: True, "member")
    assert not who.ask("eq", True, lambda _: True, "member")
    assert who.outcome == (403, "DELEGATION_SUSPENDED")


def test_two_agents_who_tell_each_other(people: People) -> None:
    """With everything open between them and Hana: the questions about one value of one credential are counted over all agents."""
    first = searcher(people, maxRefusals=None, maxThresholds=None)
    second = Searcher(Scene.create(people, None, people.mallory, maxRefusals=None, maxThresholds=None), first.possible)
    second.scene.credential_id = first.scene.credential_id
    for threshold in range(1, 30):
        if not (first, second)[threshold % 2].at_least(threshold):
            break
    assert first.asked + second.asked == DISCLOSURES
    for who in (first, second):
        assert not who.at_least(90)
        assert who.outcome == (403, "DISCLOSURE_LIMIT")
    # What was asked already may be asked again, and other values are other values.
    assert first.at_least(1)
    assert first.ask("eq", "Wakanda", lambda _: True, "country")


def test_many_delegations(people: People) -> None:
    """A new delegation has new limits, and the credential still has its own."""
    credential, asked = people.issue(people.hana), 0
    for threshold in range(1, 16):
        who = searcher(people)
        who.scene.credential_id = credential
        asked += who.at_least(threshold)
    assert asked == DISCLOSURES


def test_a_pinned_question_is_one_bit_however_often_it_is_asked(people: People) -> None:
    """And the only one: what Hana fixed, Hana wanted told. It is not a guess, so that nothing is suspended."""
    scene = Scene.create(people, **DEFAULTS)
    for _ in range(4):
        token = scene.token(action="zkp.prove.age.gte.65")
        assert scene.ask(scene.body(value=65, ibct=token)).outcome == NO
    shown = scene.delegation()
    assert (shown["uses"], shown["refusals"], shown["thresholds"], shown["status"]) == (4, 0, 0, "active")


def test_limits_hold_for_questions_that_come_at_once(people: People) -> None:
    scene = Scene.create(people, **DEFAULTS)
    bodies = [scene.body(value=value) for value in range(20, 60, 2)]
    answers = at_once(scene.target.wire, [partial(scene.ask, body) for body in bodies])
    outcomes = [answer.outcome for answer in answers]
    assert outcomes.count(NO) <= 1
    assert outcomes.count(YES) + outcomes.count(NO) <= 3
    assert set(outcomes) <= {YES, NO} | STOPPED
    assert scene.delegation()["thresholds"] <= 3


def test_questions_that_come_at_once_get_one_refusal(crowded: People) -> None:
    """Every one would be a no. Only one is told; all the others meet the limit that it reached, and have spent their tokens."""
    scene = Scene.create(crowded, maxRefusals=1, maxThresholds=None)
    bodies = [scene.body(value=value) for value in range(60, 76)]
    answers = at_once(scene.target.wire, [partial(scene.ask, body) for body in bodies])
    outcomes = Counter(answer.outcome for answer in answers)
    assert outcomes == {NO: 1, (403, "DELEGATION_SUSPENDED"): 15}
    shown = scene.delegation()
    assert (shown["uses"], shown["refusals"], shown["thresholds"]) == (1, 1, 1)


def test_a_limit_serves_no_search_with_one_token(people: People) -> None:
    """The measured attack: a suspended delegation, one token, every threshold. Each but the first is a replay."""
    scene = Scene.create(people, maxRefusals=1)
    assert scene.ask(scene.body(value=90)).outcome == NO
    token = scene.token()
    answers = [scene.ask(scene.body(value=value, ibct=token)) for value in range(30, 46)]
    assert answers[0].outcome == (403, "DELEGATION_SUSPENDED")
    assert {answer.outcome for answer in answers[1:]} == {(403, "IBCT_REPLAYED")}


def test_values_that_a_delegation_lists_are_no_pins(people: People) -> None:
    """64 values, six tokens, and once no counter moved."""
    listed = [{"attributeName": "age", "type": "gte", "values": list(range(18, 82))}]
    refused = Scene.create(people, actions=[], predicates=listed, autonomyLevel=2)
    assert refused.ask(refused.body(value=37)).outcome == (403, "AUTONOMY_TOO_LOW")
    who = searcher(people, actions=[], predicates=listed)
    who.possible = set(range(18, 82))
    halve(who)
    assert who.asked <= 3
    assert len(who.possible) >= 8
    assert who.scene.delegation()["thresholds"] == who.asked
    one = Scene.create(people, actions=[], predicates=[listed[0] | {"values": [37]}], autonomyLevel=2, **DEFAULTS)
    assert [one.ask(one.body(value=37)).outcome for _ in range(4)] == [YES] * 4
    assert one.delegation()["thresholds"] == 0


def test_unsupported_question_discloses_nothing(people: People) -> None:
    """The same refusal whatever the value is, and nothing counted: out of range, another type, an attribute that is not there."""
    scene = Scene.create(people, **DEFAULTS)
    questions: tuple[tuple[str, str, Any], ...] = (
        ("age", "gte", 151), ("age", "gte", -1), ("age", "set_member", []), ("age", "gte", "37"), ("age", "eq", True),
        ("country", "gte", "A"), ("birthDate", "gte", "1988-02-30"), ("birthDate", "gte", 1), ("nothing", "gte", 1),
        ("__proto__", "gte", 1), ("member", "gte", True), ("income", "gte", str(2**70)), ("country", "set_member", []),
    )  # fmt: skip
    for about in questions:
        answer = scene.ask(scene.body(about=about))
        assert answer.outcome in ((422, "PREDICATE_UNSUPPORTED"), (403, "SCOPE_MISMATCH")), (about, answer.body)
    shown = scene.delegation()
    assert (shown["uses"], shown["refusals"], shown["thresholds"]) == (0, 0, 0)


def test_thresholds_and_operators_that_the_schema_allows(people: People) -> None:
    schema = {
        "id": "https://schemas.example/" + people.ivo.did[-12:] + "/doors",
        "attributes": [{"name": "age", "type": "integer", "allowedThresholds": [18, 21], "proofTypes": ["gte"]}],
    }
    people.operate("POST", "/credential-schemas", schema)
    claims = {
        "issuerDid": people.ivo.did,
        "holderDid": people.hana.did,
        "schemaId": schema["id"],
        "attributes": {"age": 37},
    }
    scene = Scene.create(people)
    scene.credential_id = people.operate("POST", "/credentials", claims)["id"]
    for kind, value, status in (
        ("gte", 18, 201),
        ("gte", 21, 201),
        ("gte", 19, 422),
        ("lte", 18, 422),
        ("gt", 18, 422),
        ("eq", 18, 422),
    ):
        answer = scene.ask(scene.body(about=("age", kind, value)))
        assert answer.status == status, (kind, value)
        assert status == 201 or answer.code == "PREDICATE_UNSUPPORTED"
    assert scene.uses == 2
