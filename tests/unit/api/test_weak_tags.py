"""If-Match through a proxy that compresses: the tag is weakened or names the coding, and the version in it is the same."""

from __future__ import annotations

import pytest

from identity_core.api.caching import if_match
from identity_core.api.request import Request
from identity_core.errors import InvalidRequest


@pytest.mark.parametrize(
    "tag", ['"3"', 'W/"3"', '"3.ld+json"', 'W/"3.did+ld+json"', '"3-gzip"', '"3.did+ld+json-gzip"']
)
def test_the_version_is_read(tag: str) -> None:
    assert if_match(Request(headers={"if-match": tag})) == 3


@pytest.mark.parametrize("tag", ['w/"3"', "W/3", "3", '"03"', '"3", "4"', '"-gzip"', '"3-br-x" ', 'W/W/"3"'])
def test_unknown_tag_is_refused(tag: str) -> None:
    with pytest.raises(InvalidRequest):
        if_match(Request(headers={"if-match": tag}))
