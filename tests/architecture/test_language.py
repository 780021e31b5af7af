"""Ceilings of the language rules. A ceiling only falls, and the end is 0; `language` finds the places."""

from __future__ import annotations

import pytest

from tests.architecture import language

CEILINGS = {
    "wrong_docstrings": 0,
    "missing_docstrings": 0,
    "bare_names": 0,
    "long_test_names": 0,
    "unclear_test_names": 0,
    "bare_test_helpers": 74,
    "refused_words": 0,
    "long_sentences": 0,
    "long_lines": 0,
}


@pytest.mark.parametrize("rule", CEILINGS)
def test_violations_of_a_language_rule_do_not_grow(rule: str) -> None:
    places = getattr(language, rule)()
    assert len(places) <= CEILINGS[rule], places[-20:]


def test_counters_find_a_violation_of_each_rule() -> None:
    """The whole of each counter runs on real files above; here is what a counter of zero would hide."""
    assert language.REFUSED_WORDS.findall("Nobody reads the octets; look it up in turn") == ["Nobody", "octets"]
    stored = 'sql = "SELECT octets FROM usage WHERE octets <= :octets"  # some octets'
    assert language.REFUSED_WORDS.findall(language.without_stored_names(stored)) == ["octets", "octets"]
    assert language.without_stored_names("def octets(octets: bytes) -> None:") == "def octets(octets: bytes) -> None:"
    long = " ".join(["word"] * 31) + "."
    page = f"# Title\n\n{long}\n\n| {long} |\n\n```sh\n{long}\n```\n"
    assert list(language.paragraphs(page)) == [long]
