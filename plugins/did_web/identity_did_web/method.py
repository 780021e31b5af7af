"""The method object: checks identifiers, resolves them over the network, and makes or changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NoReturn

from identity_did_ids import foreign
from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_core.cache import BoundedCache
from identity_core.domain.dids.changes import Change
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import IdentityError, InvalidDocument, PluginUnavailable
from identity_core.ports.clock import Clock
from identity_did_web.location import Location, locate

if TYPE_CHECKING:
    from identity_did_web.fetch import Fetch


class _Kept(Struct, frozen=True):
    """An answer and until when (monotonic seconds) it is given again."""

    until: float
    give: Callable[[], DidState | None]


TRAITS: Final[dict[str, bool]] = json.loads(files(__package__).joinpath("traits.json").read_bytes())


class DidWeb:
    """``ResolvingDidMethod``. Without ``fetch`` it is off, and no DID is found."""

    name = "web"
    mutable = False
    traits = TRAITS
    test_identifiers = ()

    def __init__(
        self, fetch: Fetch | None, clock: Clock, cache_seconds: float = 60.0, cache_entries: int = 1000
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._cache_seconds = cache_seconds
        self._kept: BoundedCache[str, _Kept] = BoundedCache(cache_entries)
        self._asking: dict[str, asyncio.Task[_Kept]] = {}

    def check(self, did: Did) -> None:
        """Raise ``InvalidDid`` unless the identifier names a place in the web."""
        locate(did)

    def expand(self, did: Did) -> DidState | None:
        """Nothing: the identifier is a place, and what is there has to be fetched."""
        self.check(did)
        return None

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> NoReturn:
        """Raise ``InvalidDocument``: DIDs of others are theirs."""
        raise InvalidDocument("DIDs of did:web are made by publishing a document, not here.")

    def apply(self, state: DidState | None, entry: bytes) -> NoReturn:
        """Raise ``LogInvalid``: there are no logs."""
        raise LogInvalid("did:web has no log.")

    async def resolve(self, did: Did) -> DidState | None:
        """Return the document as it is published now, or was a short while ago. See ``ResolvingDidMethod``."""
        location = locate(did)
        if self._fetch is None:
            return None
        name = str(did)
        kept = self._kept.get(name)
        if kept is None or kept.until <= self._clock.monotonic():
            # One fetch for all callers that wait for the same DID. It continues when one of them is cancelled.
            if name not in self._asking:
                self._asking[name] = asyncio.create_task(self._ask(self._fetch, did, location))
                self._asking[name].add_done_callback(partial(self._store_answer, name))
            kept = await asyncio.shield(self._asking[name])
        return kept.give()

    def _store_answer(self, name: str, task: asyncio.Task[_Kept]) -> None:
        del self._asking[name]
        # Read here, so that an error which no caller waits for any more is not logged by the event loop.
        if not task.cancelled() and task.exception() is None:
            self._kept.store(name, task.result())

    async def _ask(self, fetch: Fetch, did: Did, location: Location) -> _Kept:
        """Return the answer of the host. An empty or invalid answer is cached as well, else every request would go out;
        an unreachable host is cached only as long as the answer requires to wait."""
        seconds = self._cache_seconds
        try:
            members = await fetch(did, location)
            state = None if members is None else foreign.build_foreign_state(did, members, self._clock.now())
        except (InvalidDocument, PluginUnavailable) as error:
            if isinstance(error, PluginUnavailable):
                seconds = min(seconds, 5.0)
            return _Kept(self._clock.monotonic() + seconds, _raising(type(error), str(error), error.details))
        return _Kept(self._clock.monotonic() + seconds, lambda: state)

    def close(self) -> None:
        """End the threads of the look-ups."""
        if self._fetch is not None:
            self._fetch.close()


def _raising(kind: type[IdentityError], message: str, details: dict[str, JsonValue]) -> Callable[[], DidState | None]:
    # A new error each time: one that is raised again and again grows a traceback as long as its life.
    def give() -> DidState | None:
        raise kind(message, details=details)

    return give
