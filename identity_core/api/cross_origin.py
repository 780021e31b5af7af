"""Which pages of other origins a browser lets read what is public here (Fetch, "CORS protocol").

Only GET of operations that need no credential, and the pages outside the document. Never with credentials: whoever needs one is
asked by a program that holds it, not by a page that borrows a browser's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from identity_codec.values import value_class
from identity_core.api.request import Headers, Request

ANY: Final = "*"
# What a script sees beside the safelisted ones, and what it may send; Accept is not safelisted when it has a quoted profile.
_EXPOSED: Final = (
    "Access-Control-Expose-Headers",
    "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id",
)
_PREFLIGHT: Final = (
    ("Access-Control-Allow-Methods", "GET, HEAD"),
    ("Access-Control-Allow-Headers", "Accept, If-None-Match, X-Request-Id"),
    ("Access-Control-Max-Age", "7200"),
)
_EVERYBODY: Final = (("Access-Control-Allow-Origin", ANY), _EXPOSED)
_BY_ORIGIN: Final = ("Vary", "Origin")


@value_class
class Origins:
    """The origins whose pages may read; ``*`` among them stands for all, none for nobody."""

    allowed: Sequence[str]

    def headers(self, request: Request) -> Headers:
        """Of an answer. A cache must know where they depend on the origin, also when none was sent."""
        if ANY in self.allowed:
            return _EVERYBODY
        if not self.allowed:
            return ()
        origin = request.header("origin")
        if origin is None or origin not in self.allowed:
            return (_BY_ORIGIN,)
        return (("Access-Control-Allow-Origin", origin), _EXPOSED, _BY_ORIGIN)

    def preflight(self, request: Request) -> Headers:
        """Of the answer to OPTIONS, where a browser asks whether a page may send its GET."""
        headers = self.headers(request)
        if request.header("access-control-request-method") in ("GET", "HEAD") and len(headers) > 1:
            return (*headers, *_PREFLIGHT)
        return headers
