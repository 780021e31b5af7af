"""Reads of resolveDid, resolveIdentifier and listDidHistory from stored bytes, and the answers with a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import orjson
from msgspec import Struct

from identity_codec.times import micros
from identity_core.api.caching import (
    HEAD_SECONDS,
    AnswerCache,
    CachedAnswer,
    Shape,
    content_tag,
    resolution,
    unless_known,
)
from identity_core.api.errors import negotiate
from identity_core.api.request import Answer, Parts, Request
from identity_core.domain.dids.did import Did
from identity_core.errors import IdentityError, NotAcceptable, PluginUnavailable
from identity_core.ports.repositories import IndexedVersion, StoredVersion
from identity_core.use_cases.dids.read import DidLog, GetDidLog, HistoryPage, Resolution
from identity_core.use_cases.dids.stored import ListStoredHistory, ResolveStored
from identity_core.wire import ListDidHistoryQuery, ResolveDidQuery

T = TypeVar("T")


def stored_version(version: IndexedVersion) -> StoredVersion:
    """Return the version in the form of an answer."""
    state = version.state
    return StoredVersion(
        state.version_id,
        micros(state.created_at),
        micros(state.updated_at),
        state.deactivated,
        state.document.encoded,
        state.operation,
        state.previous_hash,
        state.entry_hash,
        state.key_id,
        orjson.dumps(version.changes),
        state.unbound_changes,
        version.receipt,
    )


def stored_resolution(found: Resolution[IndexedVersion]) -> Resolution[StoredVersion]:
    """Return the resolution in the form of an answer."""
    following = None if found.following is None else stored_version(found.following)
    now = found.deactivated, found.deactivated_at, found.head_version_id
    return Resolution(stored_version(found.version), *now, following, found.stale_at, found.cosigned, found.awaits)


def stored_history(page: HistoryPage[IndexedVersion]) -> HistoryPage[StoredVersion]:
    """Return the page in the form of an answer."""
    return HistoryPage(page.total, [*map(stored_version, page.items)], page.after)


class StoredReads(Struct, frozen=True):
    """Reads from stored bytes. They return None if the use case of the operation must answer. Raises ``PluginUnavailable``."""

    parse: Callable[[str], Did]
    resolve: ResolveStored
    list_history: ListStoredHistory
    cache: AnswerCache

    async def __call__(
        self, did: str, media: str, query: ResolveDidQuery, *, key: str, shape: Shape | None = None
    ) -> CachedAnswer | None:
        """Answer resolveDid or resolveIdentifier. The answer is cached by ``key`` if the DID was read lately."""
        started = time.perf_counter_ns()
        read = await self._read(did, self.resolve(did, query))
        if read is None:
            return None
        head, found = read
        duration = (time.perf_counter_ns() - started) // 1_000_000
        cached = resolution(found, media, duration, query, self.cache.clock.now(), shape=shape)
        if self.cache.is_asked_again(did):
            self.resolve.heads.keep(did, head)
            if query.version_id is None and query.version_time is None:
                self.cache.keep(did, key, cached)
        return cached

    async def history(
        self, did: str, query: ListDidHistoryQuery, after: int | None
    ) -> HistoryPage[StoredVersion] | None:
        """Return the page of listDidHistory, or None."""
        return await self._read(did, self.list_history(did, query, after=after))

    async def _read(self, did: str, reading: Coroutine[Any, Any, T | None]) -> T | None:
        try:
            self.parse(did)
            return await reading
        except PluginUnavailable:
            # The use case would wait again for a plugin that has not answered.
            raise
        except IdentityError:
            # The use case raises it again, with all details.
            return None
        finally:
            reading.close()


_LOG_MEDIA: Final = ("text/jsonl", "application/jsonl")


async def did_log_answer(log: GetDidLog, did: Did, request: Request) -> Answer:
    """Answer getDidLog."""
    if (short := await log.at_once(did)) is not None:
        return log_answer(request, *short, log_media(request), ("Vary", "Accept"))
    found = await log(did)
    return await published_log_answer(log, did, found, request, log_media(request), ("Vary", "Accept"))


def log_media(request: Request) -> str:
    """Return the media type of a log that the client prefers."""
    try:
        return negotiate(request.header("accept"), _LOG_MEDIA)
    except NotAcceptable:
        # A client that accepts JSON gets JSON lines, for compatibility.
        return _LOG_MEDIA[0]


async def published_log_answer(
    log: GetDidLog, did: Did, found: DidLog, request: Request, media: str, *more: tuple[str, str]
) -> Answer:
    """Return a log in a media type."""
    whole, last = await log.read_log_and_last_line(did, found)
    body = Parts(found.byte_count, found.pages) if whole is None else whole
    return log_answer(request, body, last, media, *more)


def log_answer(request: Request, body: Any, last: bytes, media: str, *more: tuple[str, str]) -> Answer:
    """Return a log or its companion file, with an entity tag of its last part, or 304."""
    tag = content_tag(last)
    headers = [*more, ("ETag", tag), ("Cache-Control", f"public, max-age={HEAD_SECONDS}")]
    return unless_known(request, tag, Answer(200, body, media, headers))
