"""What resolveDid makes of ``Accept``: the profile of DID Resolution counts with the media type that was chosen, and nothing moves for
clients that listed others before."""

from __future__ import annotations

import pytest

from identity_core.api.caching import LD, PROFILED, RESOLUTION_MEDIA, resolution_media
from identity_core.errors import NotAcceptable


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/did+ld+json"),
        ("*/*", "application/did+ld+json"),
        ("application/*", "application/did+ld+json"),
        (LD, LD),
        (PROFILED, PROFILED),
        ('application/ld+json; profile="https://w3id.org/did-resolution"', PROFILED),
        ('application/ld+json;profile="https://www.w3.org/ns/json-ld#flattened"', LD),
        (f"{PROFILED},application/did+ld+json;q=0.5", PROFILED),
        # Equal to both: the form that these clients had before there was the other.
        (f"{PROFILED},application/did+ld+json", "application/did+ld+json"),
        (f"{PROFILED};q=0,application/json", "application/json"),
    ],
)
def test_media_type_is_negotiated(accept: str | None, media: str) -> None:
    assert resolution_media(accept) == media


def test_unsupported_media_type_is_refused() -> None:
    with pytest.raises(NotAcceptable):
        resolution_media(f"{PROFILED};q=0")
    with pytest.raises(NotAcceptable):
        resolution_media(PROFILED, tuple(media for media in RESOLUTION_MEDIA if media != LD))
