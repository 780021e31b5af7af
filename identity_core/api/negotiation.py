"""Content negotiation: RFC 9110 §12.5.1.

Parameters other than ``q`` are ignored, since no media type of ours has any. So is an ``Accept`` that is longer than any that somebody
needs, as a server may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from identity_core.errors import NotAcceptable

MAX_LENGTH: Final = 4_096

_RANGE = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*((?:;.*)?)", re.DOTALL)
_QUALITY = re.compile(r"[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def negotiate(accept: str | None, offered: tuple[str, ...]) -> str:
    """The media type of ``offered`` that ``accept`` prefers; among equals the first of ``offered``.

    Raises ``NotAcceptable`` with the offered types in its details.
    """
    if not accept or accept == "*/*" or len(accept) > MAX_LENGTH:
        return offered[0]
    chosen = _choose(accept, offered) if len(accept) <= 256 else _choose.__wrapped__(accept, offered)
    if chosen is None:
        raise NotAcceptable(details={"offered": list(offered)})
    return chosen


@lru_cache(maxsize=512)
def _choose(accept: str, offered: tuple[str, ...]) -> str | None:
    ranges = dict(_ranges(accept))
    best, chosen = 0.0, None
    for media in offered:
        kind = media.partition("/")[0]
        # The most specific range decides, even when it is the one that says no.
        quality = next((ranges[name] for name in (media, f"{kind}/*", "*/*") if name in ranges), 0.0)
        if quality > best:
            best, chosen = quality, media
    return chosen


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """(media range, quality); what is no media range is passed over."""
    for part in accept.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            continue
        quality = 1.0
        for parameter in found[2].split(";")[1:]:
            stated = _QUALITY.fullmatch(parameter.strip())
            if stated is not None:
                quality = float(stated[1])
        yield found[1].lower(), quality
