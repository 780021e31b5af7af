"""What a newcomer can guess: where an operation is, and what a name means. Limits move towards the target, and not back."""

from __future__ import annotations

from tests.architecture.measure import guessable, private_words, repeated_classes

# The target is all of the document's operations in all three places.
HANDLERS, USE_CASES, FEATURES, ALL_THREE = 56, 56, 56, 56


def test_operations_are_where_their_names_say() -> None:
    places = list(guessable().values())
    assert sum(handler for handler, _, _ in places) >= HANDLERS
    assert sum(use_case for _, use_case, _ in places) >= USE_CASES
    assert sum(feature for _, _, feature in places) >= FEATURES
    assert sum(map(all, places)) >= ALL_THREE


def test_class_names_are_not_given_twice() -> None:
    assert repeated_classes() == {}


def test_identifiers_have_no_private_words() -> None:
    assert {word: count for word, count in private_words().items() if count} == {}
