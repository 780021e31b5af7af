"""describeDids: the website of a DID, and the name that it claims."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote

from identity_did_web.location import Location, locate
from msgspec import Struct, field

from identity_codec.strict_json import JsonValue
from identity_core.cache import BoundedCache
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import DidDeactivated, DidNotFound, DidQuarantined, InvalidDid, Overloaded, PluginUnavailable
from identity_core.use_cases.dids.index import DidReader
from identity_records.linked_domains import PATH, SERVICE, is_linked
from identity_records.wire import DescribeDidsRequest

SCOPE: Final = "audit:read"
LINKED_SECONDS: Final = 86_400.0
"""Time for which a website is shown without a new check."""

NOT_LINKED_SECONDS: Final = 3_600.0
UNREACHABLE_SECONDS: Final = 60.0
KEPT: Final = 10_000
MAX_CLAIM: Final = 80
_CLAIM_SERVICE: Final = "ProfileName"
_NAME: Final = "urn:identity-service:name:"
# Quotation marks of pages, characters without a shape, that of undecodable bytes, and accents over other text.
_MISLEADING: Final = re.compile(
    r"[“”\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufffd\U000e0100-\U000e01ef]|[\u0300-\u036f]{3}"
)

FetchConfiguration = Callable[[Did, Location], Awaitable[Mapping[str, JsonValue] | None]]
"""Returns the DID configuration at a place on the web, or None."""


class CheckedWebsite(Struct, frozen=True):
    """The result of a check: the linked ``origin`` or None, and until when (monotonic seconds) it is not checked again."""

    origin: str | None
    checked_at: datetime
    until: float


class DescribedDid(Struct, frozen=True):
    """A DID, its website, and the name that it claims, which is not checked."""

    did: str
    website: CheckedWebsite | None
    claim: str | None


class DescribeDids(Struct, frozen=True):
    """Use case describeDids. Without ``fetch`` no website is checked. Raises ``Forbidden``, ``InvalidDid``."""

    reader: DidReader
    fetch: FetchConfiguration | None
    known: BoundedCache[tuple[str, str], CheckedWebsite] = field(default_factory=lambda: BoundedCache(KEPT))

    async def __call__(self, wish: DescribeDidsRequest, caller: Caller) -> Sequence[DescribedDid]:
        """Return the descriptions in the order of the request, each DID once."""
        caller.require_scope(SCOPE)
        dids = [self.reader.parse(one) for one in dict.fromkeys(wish.dids)]
        return await asyncio.gather(*(self._describe(one) for one in dids))

    async def _describe(self, did: Did) -> DescribedDid:
        try:
            document = (await self.reader.active(did)).head.state.document
        except (DidNotFound, DidDeactivated, DidQuarantined, PluginUnavailable):
            return DescribedDid(str(did), None, None)
        claims = (claim_of(one.endpoint) for one in document.services if one.type == _CLAIM_SERVICE)
        websites = (one.endpoint.removesuffix("/") for one in document.services if one.type == SERVICE)
        origin = next(websites, None)
        website = None if origin is None else await self._check(did, origin, document.to_json())
        linked = website if website is not None and website.origin is not None else None
        return DescribedDid(str(did), linked, next(filter(None, claims), None))

    async def _check(self, did: Did, origin: str, document: Mapping[str, Any]) -> CheckedWebsite | None:
        clock = self.reader.clock
        kept = self.known.get((str(did), origin))
        if self.fetch is None or (kept is not None and clock.monotonic() < kept.until):
            return kept
        configuration, seconds = None, NOT_LINKED_SECONDS
        try:
            configuration = await self.fetch(did, _place(origin))
        except (Overloaded, PluginUnavailable):
            seconds = UNREACHABLE_SECONDS
        except InvalidDid:
            pass
        linked = configuration is not None and is_linked(configuration, origin, document, clock.now())
        until = clock.monotonic() + (LINKED_SECONDS if linked else seconds)
        return self.known.store((str(did), origin), CheckedWebsite(origin if linked else None, clock.now(), until))


def _place(origin: str) -> Location:
    """Return the place of the configuration. Raises ``InvalidDid``: when ``origin`` is not ``https://`` with a domain name."""
    if not origin.startswith("https://") or "/" in origin.removeprefix("https://"):
        raise InvalidDid("The website is not an https origin.")
    found = locate(Did.parse("did:web:" + origin.removeprefix("https://").replace(":", "%3A")))
    return Location(found.host, found.port, PATH)


def claim_of(endpoint: str) -> str | None:
    """Return the TEXT of ``urn:identity-service:name:TEXT``, percent-decoded; None if it is another URL, too long, or not visible text."""
    text = unquote(endpoint.removeprefix(_NAME), errors="replace")
    is_name = endpoint.startswith(_NAME) and 0 < len(text) <= MAX_CLAIM and text.isprintable() and text.strip() == text
    return text if is_name and _MISLEADING.search(text) is None else None
