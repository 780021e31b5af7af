"""Answers of resolveDid, resolveIdentifier and listDidHistory that are composed of stored bytes. They equal those
that ``caching.resolution`` and ``dids.history_page`` encode of the same versions, byte for byte
(`tests/unit/use_cases/test_stored_bytes.py`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from msgspec import Struct

from identity_codec.structs import encode
from identity_codec.times import moment, printed
from identity_core.api.caching import (
    HEAD_SECONDS,
    IMMUTABLE,
    LD_JSON,
    NEWEST,
    SHAPES,
    W3C,
    AnswerCache,
    CachedAnswer,
    Shape,
    content_tag,
    headers_of,
    unless_known,
)
from identity_core.api.decode import cursor
from identity_core.api.errors import negotiate
from identity_core.api.request import Answer, Parts, Request
from identity_core.domain.dids.did import Did
from identity_core.errors import IdentityError, NotAcceptable, PluginUnavailable
from identity_core.ports.repositories import StoredVersion
from identity_core.use_cases.dids.read import DidLog, GetDidLog
from identity_core.use_cases.dids.stored import ListStoredHistory, ResolveStored, StoredHistory, StoredResolution
from identity_core.wire import ListDidHistoryQuery, ResolveDidQuery

T = TypeVar("T")

_OWN: Final = (
    b'{"didDocument":%b,"didDocumentMetadata":{"created":"%b","updated":"%b","versionId":%d,"deactivated":false%b,"ledger":%b},'
    b'"didResolutionMetadata":{"contentType":"' + LD_JSON.encode() + b'","duration":%d}}'
)
_RESULT: Final = (
    b'{"didDocument":%b,"didDocumentMetadata":{"created":"%b"%b,"versionId":"%d"%b,"ledger":%b},'
    b'"didResolutionMetadata":{"contentType":"application/did","duration":%d}}'
)
_HISTORY: Final = b'{"did":"%b","total":%d,"items":[%b],"nextCursor":%b}'
_ITEM: Final = (
    b'{"versionId":%d,"operation":%b,"timestamp":"%b","effectiveAt":"%b","transactionHash":"%b","blockNumber":%d,'
    b'"previousHash":%b,"entryHash":%b,"keyId":%b,"changes":%b'
)


class StoredReads(Struct, frozen=True):
    """Answers from stored bytes, or None if the use case of the operation must answer. Raises ``PluginUnavailable``."""

    parse: Callable[[str], Did]
    resolve: ResolveStored
    list_history: ListStoredHistory
    cache: AnswerCache

    async def __call__(
        self, did: str, media: str, query: ResolveDidQuery, *, key: str, shape: Shape | None = None
    ) -> CachedAnswer | None:
        """Answer resolveDid or resolveIdentifier. The answer is cached by ``key`` if the DID was read lately."""
        started = time.perf_counter_ns()
        found = await self._read(did, self.resolve(did, query))
        if found is None:
            return None
        duration = (time.perf_counter_ns() - started) // 1_000_000
        cached = stored_answer(found, media, duration, query, shape=shape)
        if self.cache.is_asked_again(did):
            self.resolve.heads.keep(did, found.head)
            if query.version_id is None and query.version_time is None:
                self.cache.keep(did, key, cached)
        return cached

    async def history(self, did: str, query: ListDidHistoryQuery, after: int | None) -> Answer | None:
        """Answer listDidHistory."""
        page = await self._read(did, self.list_history(did, query, after=after))
        return None if page is None else stored_history(did, page, include_document=query.include_document)

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


def stored_answer(
    found: StoredResolution, media: str, duration: int, query: ResolveDidQuery, *, shape: Shape | None = None
) -> CachedAnswer:
    """Return ``caching.resolution`` of stored bytes, in each shape except that of dereferencing."""
    version, shape = found.version, shape or SHAPES[media]
    if shape == "document":
        body = version.document
    else:
        created = _printed(version.created)
        updated = created if version.updated == version.created else _printed(version.updated)
        number, ledger = version.version_id, _position(found)
        if shape == "result":
            renewed = b"" if number == 1 else b',"updated":"%b"' % updated
            body = _RESULT % (version.document, created, renewed, number, _next(found, b'"%d"'), ledger, duration)
        else:
            body = _OWN % (version.document, created, updated, number, _next(found, b"%d"), ledger, duration)
    form, has_metadata = W3C if shape == "result" else media, shape != "document"
    is_superseded = has_metadata and found.following is not None
    is_cosigned = has_metadata and found.cosigned is not None
    control = NEWEST if has_metadata or query.version_id is None else IMMUTABLE
    headers = headers_of(version.version_id, form, control, is_cosigned=is_cosigned, is_superseded=is_superseded)
    awaits = version.sequence if has_metadata and found.awaits else None
    return CachedAnswer(found.head.version_id, headers[0][1], Answer(200, body, media, headers), None, awaits)


def _next(found: StoredResolution, number: bytes) -> bytes:
    following, unbound = found.following, found.version.unbound_changes
    counted = b"" if unbound is None else b',"unboundChanges":%d' % unbound
    if following is None:
        return counted
    return (
        b',"nextUpdate":"%b","nextVersionId":' % _printed(following.updated) + number % following.version_id + counted
    )


def _position(found: StoredResolution) -> bytes:
    place = found.version.sequence
    if found.cosigned is None:
        return b'{"index":%d,"treeSize":%d}' % (place - 1, place)
    size, at = found.cosigned
    return b'{"index":%d,"treeSize":%d,"cosignedAt":"%b"}' % (place - 1, size, printed(at).encode())


def _printed(microseconds: int) -> bytes:
    return printed(moment(microseconds)).encode()


def stored_history(did: str, page: StoredHistory, *, include_document: bool) -> Answer:
    """Return ``dids.history_page`` of stored bytes."""
    items = b",".join([_item(version, include_document=include_document) for version in page.items])
    following = b"null" if page.after is None else b'"%b"' % cursor(str(page.after)).encode()
    body = _HISTORY % (did.encode(), page.total, items, following)
    return Answer(200, body, headers=[("Cache-Control", NEWEST)])


def _item(version: StoredVersion, *, include_document: bool) -> bytes:
    times = _printed(version.recorded), _printed(version.updated)
    receipt = version.transaction_hash.encode(), version.block_number
    texts = map(encode, (version.previous_hash, version.entry_hash, version.key_id))
    item = _ITEM % (version.version_id, encode(version.operation), *times, *receipt, *texts, version.changes)
    return b'%b,"didDocument":%b}' % (item, version.document) if include_document else item + b"}"


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
