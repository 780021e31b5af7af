"""The grammar of actions and grants: one form each, whole segments, and pins that mean one value."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_client.action import NOT_EQUAL, Action, Grant, PredicateType, literal_of, pin_of
from identity_codec import jcs, multibase
from identity_codec.strict_json import is_assigned

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
types = st.sampled_from([*PredicateType, NOT_EQUAL])
scalars: st.SearchStrategy[Any] = st.one_of(
    st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1),
    st.booleans(),
    st.text(st.characters(codec="utf-8")).filter(is_assigned),
)
values = st.one_of(scalars, st.lists(scalars, min_size=1, max_size=5))
pins = st.one_of(st.none(), values.map(pin_of))
grants = st.builds(Grant, st.one_of(st.none(), names), st.one_of(st.none(), types), pins)
actions = st.builds(Action, names, types, pins)


@given(actions)
def test_an_action_is_read_as_it_was_written(action: Action) -> None:
    assert Action.parse(str(action)) == action
    assert str(action).isascii()


@given(grants)
def test_a_grant_is_read_as_it_was_written(grant: Grant) -> None:
    assert Grant.parse(str(grant)) == grant


@pytest.mark.parametrize("text", ["\U000105d2\u0307", "\U0001fa77", "a\u0378"])
def test_text_that_unicode_14_lacks_has_no_pin(text: str) -> None:
    """A runtime of Unicode 16.0 composes the first one, and would pin another text."""
    for value in (text, [text]):
        with pytest.raises(ValueError, match=r"Unicode 14\.0"):
            pin_of(value)


@given(st.text(st.sampled_from("zkp.prove*ageqt0189%AFaf_-/h\n ")))
def test_parsed_text_has_one_form(text: str) -> None:
    for candidate in (text, f"zkp.prove.{text}"):
        try:
            grant = Grant.parse(candidate)
        except ValueError:
            continue
        assert str(grant) == candidate


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zkp.prove",
        "zkp.prove.",
        "zkp.prove.age",
        "zkp.prove.age.",
        "zkp.prove..gte",
        "zkp.prove.age.gte.",
        "zkp.prove.age.gte.18.",
        "zkp.prove.age.gte.18.19",
        "zkp.prove.age.gte.018",
        "zkp.prove.age.gte.+18",
        "zkp.prove.age.gte.-1",
        "zkp.prove.age.gte.10000000000000000000",
        "zkp.prove.age.gte.18\n",
        " zkp.prove.age.gte",
        "zkp.prove.age.GTE",
        "ZKP.prove.age.gte",
        "zkp.prove.age.like",
        "zkp.prove.a*.gte",
        "zkp.prove.**.gte",
        "zkp.prove.*.*.*",
        "zkp.prove.\u0430ge.gte",
        "zkp.prove.a%2fb.gte",
        "zkp.prove.%61ge.gte",
        "zkp.prove.%FF.gte",
        "zkp.prove.%C0%AF.gte",
        "zkp.prove.%ED%A0%80.gte",
        "zkp.prove.a%.gte",
        "zkp.prove.a b.gte",
        "zkp.prove.a.b.gte",
        "zkp.prove.age.gte.h",
        "zkp.prove.age.gte.hAAAAAAAAAAAAAAAAAAAAAB",
        "zkp.prove.age.gte.hAAAAAAAAAAAAAAAAAAAAAAA",
        "zkp.prove.age.gte.HAAAAAAAAAAAAAAAAAAAAAA",
        "zkp.prove." + "a" * 1024 + ".gte",
    ],
)
def test_malformed_grant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Grant.parse(text)


@pytest.mark.parametrize("text", ["zkp.prove.*.gte", "zkp.prove.age.*", "zkp.prove.*.*"])
def test_wildcards_are_for_grants(text: str) -> None:
    assert str(Grant.parse(text)) == text
    with pytest.raises(ValueError, match="wildcards"):
        Action.parse(text)


def test_a_name_that_is_a_star_is_no_wildcard() -> None:
    grant = Grant("*", PredicateType.EQ, None)
    assert str(grant) == "zkp.prove.%2A.eq"
    assert not grant.covers(Action("age", PredicateType.EQ, None), 1)


@pytest.mark.parametrize(
    ("grant", "action", "value", "covered"),
    [
        ("zkp.prove.age.gte", "zkp.prove.age.gte", 18, True),
        ("zkp.prove.age.gte", "zkp.prove.agency.gte", 18, False),
        ("zkp.prove.age.gte", "zkp.prove.ag.gte", 18, False),
        ("zkp.prove.age.gte", "zkp.prove.age.gt", 18, False),
        ("zkp.prove.*.gte", "zkp.prove.anything/at%20all.gte", 18, True),
        ("zkp.prove.age.*", "zkp.prove.age.set_member", [1, 2], True),
        ("zkp.prove.age.gte.18", "zkp.prove.age.gte", 18, True),
        ("zkp.prove.age.gte.18", "zkp.prove.age.gte", 19, False),
        ("zkp.prove.age.gte.18", "zkp.prove.age.gte.18", 18, True),
        ("zkp.prove.age.gte.18", "zkp.prove.age.gte", "18", False),
        ("zkp.prove.age.gte.18", "zkp.prove.age.gte", 18.0, True),
        ("zkp.prove.age.gte.1", "zkp.prove.age.gte", True, False),
        # What came after the specification is not what a holder meant who wrote a star.
        ("zkp.prove.age.*", "zkp.prove.age.neq", 18, False),
        ("zkp.prove.*.*", "zkp.prove.age.neq", 18, False),
        ("zkp.prove.age.*.18", "zkp.prove.age.neq", 18, False),
        ("zkp.prove.*.neq", "zkp.prove.age.neq", 18, True),
        ("zkp.prove.age.neq.18", "zkp.prove.age.neq", 18, True),
        ("zkp.prove.age.neq", "zkp.prove.age.eq", 18, False),
    ],
)
def test_grant_covers_actions(grant: str, action: str, value: Any, covered: bool) -> None:
    assert Grant.parse(grant).covers(Action.parse(action), value) is covered


@given(grants, grants, actions, values)
def test_a_grant_within_another_covers_no_more(one: Grant, other: Grant, action: Action, value: Any) -> None:
    if one.is_within(other) and one.covers(action, value):
        assert other.covers(action, value)


@given(grants)
def test_every_grant_is_within_itself_and_within_all(grant: Grant) -> None:
    assert grant.is_within(grant)
    assert grant.is_within(Grant(None, None, None)) is (grant.type != NOT_EQUAL)


def test_an_action_is_exactly_the_predicate() -> None:
    action = Action.parse("zkp.prove.age.gte.18")
    action.check_names("age", "gte", 18)
    for attribute, type_, value in (("Age", "gte", 18), ("age", "gt", 18), ("age", "gte", 19), ("age", "gte", None)):
        with pytest.raises(ValueError):
            action.check_names(attribute, type_, value)


@given(values, values)
def test_different_values_have_different_pins(one: Any, other: Any) -> None:
    # A boolean equals an integer in Python, and never in JSON; a set is the same in another order or form.
    if pin_of(one) == pin_of(other):
        assert type(one) is type(other)
        assert isinstance(one, list | str) or one == other


def test_integers_are_their_own_pins() -> None:
    assert [pin_of(value) for value in (0, 18, 2**53 - 1)] == ["0", "18", "9007199254740991"]
    assert pin_of("9007199254740993") == "9007199254740993"
    assert [literal_of(pin) for pin in ("0", "18", "9007199254740993")] == [0, 18, "9007199254740993"]
    for hashed in (-1, "18", "9007199254740991", "10000000000000000000", True, "", "2000-01-01"):
        assert pin_of(hashed).startswith("h")
        assert literal_of(pin_of(hashed)) is None


def test_a_hashed_pin_is_computed_by_anybody() -> None:
    digest = hashlib.sha256(jcs.canonicalize(["DE", "FR"])).digest()[:16]
    assert pin_of(["FR", "DE", "FR"]) == "h" + multibase.base64url_encode(digest)


@pytest.mark.parametrize(
    ("number", "same"),
    [(18.0, 18), (1e2, 100), (-0.0, 0), (7.25, "7.25"), (1e-7, "0.0000001"), ([1.5, 2.0], ["1.5", 2])],
)
def test_number_is_pinned_as_integer_or_decimal_text(number: Any, same: Any) -> None:
    assert pin_of(number) == pin_of(same)


def test_one_text_has_one_pin() -> None:
    assert pin_of("e\u0301") == pin_of("\u00e9")


@pytest.mark.parametrize(
    "value", [None, 0.1 + 0.2, 1e300, 2.0**53, 2**53, {}, {"a": 1}, [], [[1]], [0.1 + 0.2], [None], "\ud800"]
)
def test_invalid_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        pin_of(value)


@pytest.mark.parametrize("text", ["age.gte", "zkp.gte", "zkp.prove.gte", "zkp.prove.age.gte.1.2", ""])
def test_the_first_refusal_of_an_action_names_the_whole_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"^it is not zkp\.prove\.<attribute>\.<type>\[\.<pin>\] of at most 1024"):
        Action.parse(text)
