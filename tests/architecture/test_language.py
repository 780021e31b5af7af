"""The language rules hold everywhere; `language` finds the places."""

from __future__ import annotations

import pytest

from tests.architecture import language

RULES = (
    "wrong_docstrings",
    "speaking_docstrings",
    "missing_docstrings",
    "bare_names",
    "long_test_names",
    "unclear_test_names",
    "bare_test_helpers",
    "refused_words",
    "long_sentences",
    "long_lines",
)


@pytest.mark.parametrize("rule", RULES)
def test_no_place_violates_a_language_rule(rule: str) -> None:
    assert getattr(language, rule)() == []


def test_counters_find_a_violation_of_each_rule() -> None:
    """Run the patterns on text that violates them: without violations in real files, a broken counter would pass."""
    assert language.REFUSED_WORDS.findall("Nobody reads the octets; look it up in turn") == ["Nobody", "octets"]
    assert language.SPEECH.findall("It says so, and is told; essays, foretell") == ["says", "told"]
    stored = 'sql = "SELECT octets FROM usage WHERE octets <= :octets"  # some octets'
    assert language.REFUSED_WORDS.findall(language.without_stored_names(stored)) == ["octets", "octets"]
    assert language.without_stored_names("def octets(octets: bytes) -> None:") == "def octets(octets: bytes) -> None:"
    long = " ".join(["word"] * 31) + "."
    page = f"# Title\n\n{long}\n\n| {long} |\n\n```sh\n{long}\n```\n"
    assert list(language.paragraphs(page)) == [long]


def test_prose_pages_contain_plugins_without_protocols() -> None:
    names = {str(path.relative_to(language.ROOT)) for path in language.pages()}
    assert {"plugins/did_ids/README.md", "packages/identity_tlog/README.md", "plugins/ui/DESIGN.md"} <= names
    assert "plugins/prover_bbs/identity_prover_bbs/PROTOCOL.md" not in names
