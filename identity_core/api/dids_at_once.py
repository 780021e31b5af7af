"""resolveDid, listDidHistory and getDidLog while a request is parsed: what an embedded database and ledger tell by look-ups, which take
microseconds, needs no task. The rest (a DID that is unknown, or behind the ledger, a long log) is None, and takes the way of all requests;
so does what is refused."""

from __future__ import annotations

import time
from collections.abc import Mapping

from identity_core.api import caching
from identity_core.api.did_logs import did_log_answer
from identity_core.api.dids import DidHandlers, after_version, history_page
from identity_core.api.quick import ReadAtOnce
from identity_core.api.request import Answer, Request
from identity_core.api.stored_answers import stored_answer
from identity_core.use_cases.dids.read import ENTRIES_OF_A_PAGE
from identity_core.use_cases.dids.stored import ResolveStored
from identity_core.values import value_class


@value_class
class DidsAtOnce:
    """The reads of ``dids`` that never wait."""

    dids: DidHandlers
    stored: ResolveStored

    def operations(self) -> Mapping[str, ReadAtOnce]:
        """By operationId; none where reads may wait."""
        reader = self.dids.reader
        if not (reader.index.is_embedded and reader.check.is_embedded):
            return {}
        return {"resolveDid": self.resolve, "listDidHistory": self.history, "getDidLog": self.log}

    async def resolve(self, request: Request) -> Answer | None:
        media, query, did = caching.resolution_media(request.header("accept")), request.query, request.path["did"]
        started = time.perf_counter_ns()
        found = await self.stored(did, query)
        if found is None:
            return None
        duration = (time.perf_counter_ns() - started) // 1_000_000
        cached = stored_answer(found, media, duration, query)
        is_plain = query.version_id is None and query.version_time is None
        self.dids.cache.asked += is_plain
        if self.dids.cache.is_asked_again(did):
            self.stored.keep(did, found.head)
            if is_plain:
                self.dids.cache.keep(did, media, cached)
        return cached.answer_to(request)

    async def history(self, request: Request) -> Answer | None:
        did = self.dids.reader.parse(request.path["did"])
        page = await self.dids.history.at_once(did, request.query, after=after_version(request.query))
        return None if page is None else history_page(did, page, include_document=request.query.include_document)

    async def log(self, request: Request) -> Answer | None:
        did = self.dids.reader.parse(request.path["did"])
        found = await self.dids.log.at_once(did)
        if found is None or found.versions > ENTRIES_OF_A_PAGE:
            return None
        return await did_log_answer(self.dids.log, did, found, request)
