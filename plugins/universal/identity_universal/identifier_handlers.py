"""The handlers of the tag ``identifiers``: the HTTP binding of W3C DID Resolution (§10.1), as the DIF Universal Resolver has it."""

from __future__ import annotations

import re
import time
from typing import Any, Final, NamedTuple

from msgspec import Struct

from identity_codec.structs import raw, value_or
from identity_core.api import caching
from identity_core.api.caching import BARE, DID, JSON, LD, LD_JSON, PROFILED, W3C, AnswerCache, CachedAnswer, Shape
from identity_core.api.request import Answer, Request
from identity_core.ports.clock import Clock
from identity_core.use_cases.dids.read import Resolution
from identity_core.wire import ResolveDidQuery
from identity_universal.identifiers import Dereferenced, Identifiers
from identity_universal.wire import (
    DereferencingMetadata,
    DidResolutionOptions,
    DidUrlDereferencing,
    ResolveIdentifierQuery,
)


class AnswerForm(NamedTuple):
    """The shape of an answer and its media type. ``alone`` is the media type of the part that a fragment names, if it is not in a
    dereferencing result."""

    shape: Shape
    media: str
    alone: str | None = None


DEREFERENCING: Final = "application/did-url-dereferencing"
_RESULT: Final = AnswerForm("result", W3C)
_PROFILED: Final = AnswerForm("result", PROFILED)
_FORMS: Final[dict[str, AnswerForm]] = {
    W3C: _RESULT,
    DEREFERENCING: AnswerForm("other", DEREFERENCING),
    **{media: AnswerForm("document", media, media) for media in (DID, BARE, LD_JSON, LD)},
    # Clients that are older than the media types above ask for JSON and read a result.
    JSON: AnswerForm("result", JSON, JSON),
}
# JSON stands first, as in the document: a client that lists it beside ``*/*`` gets it under that name.
_OFFERED: Final = (JSON, *_FORMS)
# Those that clients send as they are. Who takes anything and reads JSON (ACA-Py, by aiohttp) knows it by a media type that ends in json.
_USUAL: Final = {"": _RESULT, "*/*": _PROFILED, **_FORMS, _PROFILED.media: _PROFILED}
# The key of an answer in the cache. The result of a DID has the bytes of the answer of resolveDid, so both keep it once.
KEYS: Final = {W3C: W3C, **{media: f"identifiers {media}" for media in (*_FORMS, PROFILED) if media != W3C}}
# A path with plain colons holds a DID as it is, in which no character was percent-encoded again: the colon of a
# port, or another character that no DID has as it is and that does not begin the rest of a DID URL (RFC 3986 §2.2, §6.2.2.2).
_AS_IT_IS: Final = re.compile(rb"did:[a-z0-9]+:(?:[A-Za-z0-9._:-]|%(?:2[146789ABCabc]|3[ABDabd]|40|7[Ee]))+")
_DESCRIBED: Final = [("Cache-Control", "public, max-age=60")]


class IdentifierHandlers(Struct, frozen=True):
    """resolveIdentifier, resolveIdentifierWithOptions, listDidMethods, listDidMethodProperties, listTestIdentifiers, listDidTraits."""

    identifiers: Identifiers
    cache: AnswerCache
    clock: Clock

    async def resolve_identifier(self, request: Request) -> Answer:
        form = form_of(request.header("accept") or "")
        query: ResolveIdentifierQuery = request.query
        text, key = identifier_of(request), KEYS[form.media]
        is_plain = query == _NOTHING_ASKED
        cached = self.cache.find(text, key) if is_plain else None
        if cached is None:
            started = time.perf_counter_ns()
            found = await self.identifiers.dereference(text, query)
            answer = self._special(request, found, form)
            if answer is not None:
                return answer
            cached = self._encoded(found, form, (time.perf_counter_ns() - started) // 1_000_000)
            if is_plain and str(found.url.did) == text:
                self.cache.keep(text, key, cached)
        return caching.unless_known(request, cached.etag, cached.answer)

    async def resolve_identifier_with_options(self, request: Request) -> Answer:
        options: DidResolutionOptions = request.body
        form = form_of(value_or(options.accept, request.header("accept")) or "")
        started = time.perf_counter_ns()
        found = await self.identifiers.dereference_with(identifier_of(request), options)
        answer = self._special(request, found, form)
        return answer or self._encoded(found, form, (time.perf_counter_ns() - started) // 1_000_000).answer

    async def list_did_methods(self, request: Request) -> Answer:
        return Answer(200, self.identifiers.names(), headers=_DESCRIBED)

    async def list_did_method_properties(self, request: Request) -> Answer:
        return Answer(200, self.identifiers.properties(), headers=_DESCRIBED)

    async def list_test_identifiers(self, request: Request) -> Answer:
        return Answer(200, self.identifiers.test_identifiers(), headers=_DESCRIBED)

    async def list_did_traits(self, request: Request) -> Answer:
        return Answer(200, self.identifiers.traits(), headers=_DESCRIBED)

    def _encoded(self, found: Dereferenced, form: AnswerForm, duration: int) -> CachedAnswer:
        body = None
        if form.shape == "other":
            body = dereferencing(raw(found.resolution.version.state.document.encoded), found.resolution)
        return caching.resolution(
            found.resolution, form.media, duration, _resolve_query(found), self.clock.now(), shape=form.shape, body=body
        )

    def _special(self, request: Request, found: Dereferenced, form: AnswerForm) -> Answer | None:
        """Return the answer where it is not the document as a whole."""
        resolution = found.resolution
        if resolution.deactivated:
            selected = found.url.version_id is not None or found.url.version_time is not None
            return caching.answer_gone(request, resolution, W3C, selected=selected, form=W3C)
        is_document = found.endpoint is not None or form.alone is not None
        asked, now = _resolve_query(found), self.clock.now()
        kept = ("Cache-Control", caching.cache_control(resolution, asked, now, is_document=is_document))
        if found.endpoint is not None:
            return Answer(303, b"", "text/uri-list", [("Location", found.endpoint), kept])
        if found.content is None:
            return None
        headers = [("Vary", "Accept"), kept]
        if form.alone is not None:
            return Answer(200, found.content, form.alone, headers)
        return Answer(200, dereferencing(found.content, resolution), DEREFERENCING, headers)


def dereferencing(content: Any, result: Resolution) -> DidUrlDereferencing:
    """Return ``content`` (JSON) as a result of DID URL dereferencing, with the metadata of the document that it is or stands in."""
    return DidUrlDereferencing(
        content=content,
        content_stream=content,
        content_metadata=caching.w3c_metadata(result),
        dereferencing_metadata=DereferencingMetadata(content_type="application/did"),
    )


_NOTHING_ASKED: Final = ResolveIdentifierQuery()


def _resolve_query(found: Dereferenced) -> ResolveDidQuery:
    """Return the version that was asked for, which decides how long an answer holds."""
    return ResolveDidQuery(version_id=found.url.version_id, version_time=found.url.version_time)


def form_of(accept: str) -> AnswerForm:
    """Raise ``NotAcceptable``."""
    usual = _USUAL.get(accept)
    if usual is not None:
        return usual
    media = caching.resolution_media(accept, _OFFERED)
    return _PROFILED if media == PROFILED else _FORMS[media]


def identifier_of(request: Request) -> str:
    """Return the DID or DID URL of the path."""
    if b"%" in request.raw_path:
        as_sent = request.raw_path.rpartition(b"/identifiers/")[2]
        if _AS_IT_IS.fullmatch(as_sent) is not None:
            return as_sent.decode("ascii")
    return request.path["identifier"]
