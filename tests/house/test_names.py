"""What a newcomer can guess: where an operation is, and what a name means. Limits move towards the target, and not back."""

from __future__ import annotations

from tests.house.measure import guessable, private_words, repeated_classes

# The target is all of the document's operations in all three places.
HANDLERS, USE_CASES, FEATURES, ALL_THREE = 53, 45, 17, 13
# No class name should stand in two modules. These do.
REPEATED = 31
PRIVATE = {"desk": 7, "house": 4, "staff": 2, "vault": 3, "bell": 2, "sight": 2, "office": 4, "dice": 3, "whoever": 0}


def test_operations_are_where_their_names_say() -> None:
    places = list(guessable().values())
    assert sum(handler for handler, _, _ in places) >= HANDLERS
    assert sum(use_case for _, use_case, _ in places) >= USE_CASES
    assert sum(feature for _, _, feature in places) >= FEATURES
    assert sum(map(all, places)) >= ALL_THREE


def test_class_names_are_not_given_twice() -> None:
    repeated = repeated_classes()
    assert len(repeated) <= REPEATED, repeated


def test_identifiers_have_no_private_words() -> None:
    found = private_words()
    assert set(found) == set(PRIVATE)
    assert {word: count for word, count in found.items() if count > PRIVATE[word]} == {}
