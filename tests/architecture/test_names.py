"""What a newcomer can guess: where an operation is, and what a name means. Limits move towards the target, and not back."""

from __future__ import annotations

from tests.architecture.measure import guessable, private_words, repeated_classes


def test_operations_are_where_their_names_say() -> None:
    """Every operation of the kernel's document, in all three places."""
    assert {name for name, places in guessable().items() if not all(places)} == set()


def test_class_names_are_not_given_twice() -> None:
    assert repeated_classes() == {}


def test_identifiers_have_no_private_words() -> None:
    assert {word: count for word, count in private_words().items() if count} == {}
