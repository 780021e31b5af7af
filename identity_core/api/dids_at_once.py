"""resolveDid, listDidHistory, getDidLog and resolveIdentifier while a request is parsed: what an embedded database and ledger tell by
look-ups, which take microseconds, needs no task. At most a page of history or ``ENTRIES_AT_ONCE`` entries are read for one.

The answer is put together from what is stored; where more is to be said (of a DID that is unknown or deactivated, or has a key in grace)
the handler gives it, if it waits for nothing. The rest (a DID that is behind the ledger, or looked for elsewhere, a long log) is None, and
takes the way of all requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from identity_core.api import caching
from identity_core.api.caching import CachedAnswer
from identity_core.api.did_logs import log_answer, log_media
from identity_core.api.dids import DidHandlers, after_version
from identity_core.api.identifiers import KEYS, IdentifierHandlers, form_of, identifier_of
from identity_core.api.quick import ReadAtOnce
from identity_core.api.request import Answer, Handler, Request
from identity_core.api.stored_answers import stored_answer, stored_history
from identity_core.domain.dids.did_url import DidUrl
from identity_core.errors import IdentityError
from identity_core.use_cases.dids.stored import ListStoredHistory, ResolveStored, StoredResolution
from identity_core.values import value_class
from identity_core.wire import ListDidHistoryQuery, ResolveDidQuery, ResolveIdentifierQuery


def _did_of(request: Request) -> str:
    return request.path["did"]


@value_class
class DidsAtOnce:
    """The reads of ``dids`` and ``identifiers`` from stored octets."""

    dids: DidHandlers
    identifiers: IdentifierHandlers
    stored: ResolveStored
    stored_history: ListStoredHistory

    @property
    def is_embedded(self) -> bool:
        """Whether they never wait."""
        return self.dids.reader.index.is_embedded and self.dids.reader.check.is_embedded

    def operations(self) -> Mapping[str, ReadAtOnce]:
        """By operationId; none where reads may wait."""
        if not self.is_embedded:
            return {}
        return {
            "resolveDid": self.resolve,
            "listDidHistory": self.history,
            "getDidLog": self.log,
            "resolveIdentifier": self.resolve_identifier,
        }

    def before_handlers(self) -> Mapping[str, ReadAtOnce]:
        """What is read on a server, and answered so, before a handler is asked. Over an embedded index the handlers remember answers."""
        if self.dids.reader.index.is_embedded:
            return {}
        return {
            "resolveDid": self._checked(self.resolve),
            "listDidHistory": self._checked(self.history),
            "resolveIdentifier": self._checked(self.resolve_identifier, identifier_of),
        }

    def _checked(self, read: ReadAtOnce, text_of: Callable[[Request], str] = _did_of) -> ReadAtOnce:
        """The same of what the DID's method takes for one."""

        async def checked(request: Request) -> Answer | None:
            self.dids.reader.parse(text_of(request))
            return await read(request)

        return checked

    async def resolve(self, request: Request) -> Answer | None:
        media, query, did = caching.resolution_media(request.header("accept")), request.query, request.path["did"]
        started = time.perf_counter_ns()
        found = await self.stored(did, query)
        if found is None:
            return await self._handled(did, self.dids.resolve_did, request)
        cached = stored_answer(found, media, _milliseconds(started), query)
        return self._kept(did, media, found, cached, query).answer_to(request)

    async def resolve_identifier(self, request: Request) -> Answer | None:
        form, text = form_of(request.header("accept") or ""), identifier_of(request)
        query: ResolveIdentifierQuery = request.query
        found, versions = None, ResolveDidQuery(version_id=query.version_id, version_time=query.version_time)
        started = time.perf_counter_ns()
        if form.shape != "dereferenced" and query == _asking(versions):
            found = await self.stored(text, versions)
        if found is None:
            return await self._handled(text, self.identifiers.resolve_identifier, request, is_url=True)
        cached = stored_answer(found, form.media, _milliseconds(started), versions, shape=form.shape)
        return self._kept(text, KEYS[form.media], found, cached, versions).answer_to(request)

    async def history(self, request: Request) -> Answer | None:
        did = request.path["did"]
        query: ListDidHistoryQuery = request.query
        if query.cursor is not None:
            # What is wrong with the DID is said before what is wrong with the cursor.
            self.dids.reader.parse(did)
        page = await self.stored_history(did, query, after=after_version(query))
        if page is not None:
            return stored_history(did, page, include_document=query.include_document)
        return await self._handled(did, self.dids.list_did_history, request)

    async def log(self, request: Request) -> Answer | None:
        found = await self.dids.log.at_once(self.dids.reader.parse(request.path["did"]))
        return None if found is None else log_answer(request, *found, log_media(request), ("Vary", "Accept"))

    def _kept(
        self, did: str, key: str, found: StoredResolution, cached: CachedAnswer, query: ResolveDidQuery
    ) -> CachedAnswer:
        """``cached``, which is remembered by ``key`` where its DID was read lately, if the version in force was asked for."""
        cache, is_plain = self.dids.cache, query.version_id is None and query.version_time is None
        cache.asked += is_plain
        if self.is_embedded and cache.is_asked_again(did):
            self.stored.heads.keep(did, found.head)
            if is_plain:
                cache.keep(did, key, cached)
        return cached

    async def _handled(self, text: str, handler: Handler, request: Request, *, is_url: bool = False) -> Answer | None:
        if not self.is_embedded:
            return None
        reader = self.dids.reader
        try:
            did = reader.parse(str(DidUrl.parse(text).did) if is_url else text)
        except IdentityError:
            # As the handler says, and before it asks anybody.
            return await handler(request)
        return await handler(request) if await reader.is_settled(did) else None


def _asking(versions: ResolveDidQuery) -> ResolveIdentifierQuery:
    return ResolveIdentifierQuery(version_id=versions.version_id, version_time=versions.version_time)


def _milliseconds(started: int) -> int:
    return (time.perf_counter_ns() - started) // 1_000_000
