"""Answers with the log of a DID, as JSON lines."""

from __future__ import annotations

from typing import Any, Final

from identity_core.api.caching import HEAD_SECONDS, content_tag, unless_known
from identity_core.api.errors import negotiate
from identity_core.api.request import Answer, Parts, Request
from identity_core.domain.dids.did import Did
from identity_core.errors import NotAcceptable
from identity_core.use_cases.dids.read import DidLog, GetDidLog

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
