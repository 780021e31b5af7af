"""If-Match and If-None-Match take lists of entity tags (RFC 9110 §13.1). A proxy that compresses weakens a tag or adds its coding: the
version in it is the same."""

from __future__ import annotations

import pytest

from identity_core.api.caching import if_match, unless_known
from identity_core.api.request import Answer, Request
from identity_core.errors import InvalidRequest


@pytest.mark.parametrize(
    "tag", ['"3"', 'W/"3"', '"3.ld+json"', 'W/"3.did+ld+json"', '"3-gzip"', '"3.did+ld+json-gzip"']
)
def test_the_version_is_read(tag: str) -> None:
    assert if_match(Request(headers={"if-match": tag})) == {3}


@pytest.mark.parametrize(
    ("header", "versions"),
    [
        ('"3", "4"', {3, 4}),
        ('"3","4"', {3, 4}),
        (', "3" ,,\tW/"4.did+ld+json-gzip",', {3, 4}),
        ('"a,b", "3"', {3}),
        ('"3", "another-tag!"', {3}),
        ('"03"', set()),
        ('"0"', set()),
        ('""', set()),
        ('"-gzip", "3-br-x"', set()),
    ],
)
def test_every_tag_of_a_list_counts(header: str, versions: set[int]) -> None:
    """A tag that no answer of the service has names no version, so that the change is refused (412)."""
    assert if_match(Request(headers={"if-match": header})) == versions


def test_any_version_matches_an_asterisk() -> None:
    assert if_match(Request(headers={"if-match": " * "})) is None
    assert if_match(Request(headers={})) is None


@pytest.mark.parametrize(
    "tag",
    ['w/"3"', "W/3", "3", 'W/W/"3"', '"3" "4"', '"3""4"', '"3", "', '"3", *', '*, "3"', "", ",", '"3" x', '"' * 3],
)
def test_malformed_list_is_refused(tag: str) -> None:
    with pytest.raises(InvalidRequest):
        if_match(Request(headers={"if-match": tag}))


def test_list_longer_than_the_document_allows_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        if_match(Request(headers={"if-match": ", ".join(['"3"'] * 500)}))


@pytest.mark.parametrize(
    ("header", "is_known"),
    [
        ('"x", "3.did"', True),
        ('W/"3.did"', True),
        ('"a,b",W/"3.did"', True),
        ("*", True),
        ('"3"', False),
        ('"a, "3.did"', False),
        ('"x" "3.did"', False),
    ],
)
def test_read_has_the_same_lists(header: str, is_known: bool) -> None:
    """If-None-Match compares weakly; a malformed list matches nothing."""
    answer = unless_known(Request(headers={"if-none-match": header}), '"3.did"', Answer(200, b"content"))
    assert (answer.status == 304) == is_known
