"""The handlers of the tag ``dids``: parse, call, render.

Bodies have passed the document's schemas when they arrive here; what is left to parse are values (DIDs, times, which
members belong together).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import orjson

from identity_core.api import did_parse, did_render
from identity_core.api.dids_cache import AnswerCache
from identity_core.api.errors import error_answer
from identity_core.api.negotiation import negotiate
from identity_core.api.request import Answer, Parts, Request
from identity_core.errors import DidDeactivated
from identity_core.use_cases.dids.create import CreateDid
from identity_core.use_cases.dids.deactivate import DeactivateDid
from identity_core.use_cases.dids.get_log import GetDidLog
from identity_core.use_cases.dids.list_history import ListDidHistory
from identity_core.use_cases.dids.list_owned import ListDids
from identity_core.use_cases.dids.reader import DidReader
from identity_core.use_cases.dids.recover import RecoverDid
from identity_core.use_cases.dids.resolve import Resolution, ResolveDid
from identity_core.use_cases.dids.rotate_key import RotateDidKey
from identity_core.use_cases.dids.update import UpdateDid


@dataclass(frozen=True, slots=True)
class DidHandlers:
    """createDid, listDids, resolveDid, updateDid, deactivateDid, rotateDidKey, recoverDid, listDidHistory, getDidLog."""

    reader: DidReader
    create: CreateDid
    resolve: ResolveDid
    update: UpdateDid
    deactivate: DeactivateDid
    rotate: RotateDidKey
    recover: RecoverDid
    history: ListDidHistory
    log: GetDidLog
    owned: ListDids
    cache: AnswerCache

    async def create_did(self, request: Request) -> Answer:
        did_parse.caller(request).require_key("dids:create")
        created = await self.create(did_parse.creation(request.body), did_parse.occasion(request))
        return did_render.created(created)

    async def list_dids(self, request: Request) -> Answer:
        limit = request.query.get("limit", 50)
        after = did_parse.cursor(request.query.get("cursor"))
        heads = await self.owned(did_parse.caller(request), after=after, limit=limit + 1)
        return did_render.listing(heads, limit)

    async def resolve_did(self, request: Request) -> Answer:
        media = negotiate(request.header("accept"), did_render.RESOLUTION_MEDIA)
        selected = bool(request.query)
        text = request.path["did"]
        cached = None if selected else self.cache.find(text, media)
        if cached is None:
            started = time.perf_counter_ns()
            did = self.reader.parse(text)
            resolution = await self.resolve(did, **did_parse.selection(request.query))
            if resolution.deactivated:
                return self._gone(request, resolution, media, selected=selected)
            duration = (time.perf_counter_ns() - started) // 1_000_000
            cached = did_render.resolution(resolution, media, duration, request.query, self.reader.clock.now())
            if not selected:
                self.cache.keep(text, media, cached)
        if did_parse.etag_matches(request.header("if-none-match"), cached.etag):
            return cached.not_modified
        return cached.answer

    def _gone(self, request: Request, resolution: Resolution, media: str, *, selected: bool) -> Answer:
        error = DidDeactivated(details=did_render.deactivation(resolution))
        answer = error_answer(error, request.request_id)
        body = orjson.loads(answer.body) if isinstance(answer.body, bytes) else answer.body
        body.update(did_render.gone(resolution, media, selected=selected))
        return Answer(answer.status, body, headers=answer.headers)

    async def update_did(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        operations = did_parse.operations(request.body, did)
        version = await self.update(
            did,
            operations,
            did_parse.authorization(request),
            did_parse.occasion(request),
            if_match=did_parse.if_match(request),
        )
        return did_render.updated(version)

    async def deactivate_did(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        version = await self.deactivate(
            did,
            confirm=request.body["confirm"],
            authorization=did_parse.authorization(request),
            occasion=did_parse.occasion(request, note=request.body.get("reason")),
            if_match=did_parse.if_match(request),
        )
        return did_render.deactivated(version)

    async def rotate_did_key(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        rotated = await self.rotate(
            did,
            did_parse.rotation(request.body, did),
            did_parse.authorization(request),
            did_parse.occasion(request),
            if_match=did_parse.if_match(request),
        )
        return did_render.rotated(rotated)

    async def recover_did(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        recovered = await self.recover(
            did, did_parse.recovery(request.body), did_parse.authorization(request), did_parse.occasion(request)
        )
        return did_render.recovered(recovered)

    async def list_did_history(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        page = await self.history(
            did,
            after=did_parse.version_cursor(request.query.get("cursor")),
            limit=request.query.get("limit", 50),
            descending=request.query.get("order", "asc") == "desc",
        )
        return did_render.history_page(did, page, include_document=request.query.get("includeDocument", False))

    async def get_did_log(self, request: Request) -> Answer:
        log = await self.log(self.reader.parse(request.path["did"]))
        return Answer(200, Parts(log.octets, log.pages), media_type="application/jsonl")
