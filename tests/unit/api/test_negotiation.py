import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.api import errors
from identity_core.api.errors import negotiate
from identity_core.errors import NotAcceptable

OFFERED = ("application/did+ld+json", "application/json", "application/did+json")


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/did+ld+json"),
        ("", "application/did+ld+json"),
        ("*/*", "application/did+ld+json"),
        ("application/*", "application/did+ld+json"),
        ("application/json", "application/json"),
        ("APPLICATION/JSON", "application/json"),
        ("application/did+json, application/json;q=0.9", "application/did+json"),
        ("application/did+json;q=0.2, application/json;q=0.9", "application/json"),
        ("text/html, application/json;q=0.1", "application/json"),
        ("*/*;q=0.1, application/did+json", "application/did+json"),
        ("application/did+ld+json;q=0, */*", "application/json"),
        ('application/json;profile="x"', "application/json"),
        ("application/json; Q=0.5 , application/did+json ;q=0.4", "application/json"),
        ("nonsense, application/json", "application/json"),
    ],
)
def test_chooses_what_the_client_likes_best(accept: str | None, media: str) -> None:
    assert negotiate(accept, OFFERED) == media


@pytest.mark.parametrize(
    "accept", ["text/html", "*/*;q=0", "application/json;q=0", "nonsense", "application/*;q=0.000", ", ,"]
)
def test_refuses_and_says_what_there_is(accept: str) -> None:
    with pytest.raises(NotAcceptable) as refusal:
        negotiate(accept, OFFERED)
    assert refusal.value.details == {"offered": list(OFFERED)}


def test_a_long_header_is_not_kept() -> None:
    before = errors._choose.cache_info().currsize
    assert negotiate("text/x," * 500 + "application/json", OFFERED) == "application/json"
    assert errors._choose.cache_info().currsize == before


@given(st.text())
def test_any_header_gives_an_offer_or_a_refusal(accept: str) -> None:
    with contextlib.suppress(NotAcceptable):
        assert negotiate(accept, OFFERED) in OFFERED
