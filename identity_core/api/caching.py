"""Encoded answers of resolveDid and resolveIdentifier in the negotiated media type, with their entity tags. They are
cached by (DID, media type) as long as the version from which they were made is in force."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Literal

from msgspec import Struct, field

from identity_codec.strict_json import JsonValue
from identity_codec.structs import UNSET, UnsetType, encode, plain, raw
from identity_codec.times import printed, printed_or_none
from identity_core.api.errors import error_answer, negotiate
from identity_core.api.request import Answer, Headers, Request
from identity_core.cache import BoundedCache
from identity_core.errors import DidDeactivated, InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import DocumentIndex
from identity_core.use_cases.dids.read import Resolution
from identity_core.wire import (
    DeactivatedDidResolution,
    DidDocumentMetadata,
    DidResolution,
    DidResolutionMetadata,
    LedgerPosition,
    ResolveDidQuery,
    W3cDidDocumentMetadata,
    W3cDidResolution,
)

LD_JSON: Final = "application/did+ld+json"
JSON: Final = "application/json"
BARE: Final = "application/did+json"
DID: Final = "application/did"
W3C: Final = "application/did-resolution"
LD: Final = "application/ld+json"
_PROFILE: Final = 'profile="https://w3id.org/did-resolution"'
PROFILED: Final = f"{LD};{_PROFILE}"
RESOLUTION_MEDIA: Final = (LD_JSON, JSON, BARE, W3C, DID, LD)
Shape = Literal["own", "document", "result", "other"]
SHAPES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys((LD_JSON, JSON), "own"),
    **dict.fromkeys((BARE, DID, LD), "document"),
    **dict.fromkeys((W3C, PROFILED), "result"),
}
HEAD_SECONDS: Final = 5
# An answer is valid only while the index has the head of its DID in memory, and it has this many.
CACHED_ANSWERS: Final = 4_096
MAX_ETAGS: Final = 2_048
IMMUTABLE: Final = "public, max-age=31536000, immutable"
NEWEST: Final = f"public, max-age={HEAD_SECONDS}"

_ETAG: Final = re.compile(r'(?:W/)?"[!#-~]*"', re.ASCII)
# A proxy that compresses weakens the tag, or adds the coding's name; the version is the same.
_ETAG_VERSION: Final = re.compile(r'(?:W/)?"([1-9][0-9]{0,15})(?:\.[a-z+-]+)?(?:-gzip)?"', re.ASCII)


class CachedAnswer(Struct, frozen=True):
    """An encoded resolution of the version in force, its 304 twin, and the time when it becomes stale."""

    version_id: int
    etag: str
    answer: Answer
    stale_at: datetime | None = None
    awaits: int | None = None


class AnswerCache(Struct):
    """Cache of the newest answers by (DID, media type), which evicts the oldest first. An entry is valid while two
    conditions hold: the index has no newer version, a cheap check; and fewer entries of the log are cosigned than the
    entry awaits."""

    index: DocumentIndex
    clock: Clock
    cosigned_size: Callable[[], int] = lambda: 0
    hits: int = 0
    asked: int = 0
    _answers: BoundedCache[tuple[str, str], CachedAnswer] = field(default_factory=lambda: BoundedCache(CACHED_ANSWERS))

    def find(self, did: str, media: str) -> CachedAnswer | None:
        """Return the valid answer, or None. Counts requests and hits."""
        self.asked += 1
        cached = self._answers.get((did, media))
        if cached is None or self.index.generation(did) != cached.version_id:
            return None
        if cached.stale_at is not None and self.clock.now() >= cached.stale_at:
            return None
        if cached.awaits is not None and self.cosigned_size() >= cached.awaits:
            return None
        self.hits += 1
        return cached

    def keep(self, did: str, media: str, cached: CachedAnswer) -> None:
        """Store ``cached``."""
        self._answers.store((did, media), cached)


def resolution_media(accept: str | None, offered: tuple[str, ...] = RESOLUTION_MEDIA) -> str:
    """Return the media type of ``offered`` that ``accept`` prefers, or ``PROFILED``. Of all parameters only the
    profile of DID Resolution is evaluated.

    Raises ``NotAcceptable``: when ``accept`` has none of ``offered``.
    """
    media = negotiate(accept, offered)
    return PROFILED if media == LD and _PROFILE in (accept or "") else media


def unless_known(request: Request, etag: str, answer: Answer) -> Answer:
    """Return ``answer``, or 304 when If-None-Match lists its ``etag``, compared weakly, or is ``*`` (RFC 9110 §13.1.2).

    A malformed header, and one that is longer than the document allows, matches nothing."""
    header = request.header("if-none-match") or ""
    is_known = header.strip() == "*" or etag in [tag.removeprefix("W/") for tag in entity_tags(header) or ()]
    return answer.not_modified if is_known else answer


def entity_tags(header: str) -> list[str] | None:
    """Return the tags of a list (RFC 9110 §8.8.3), in which elements may be empty; None for a malformed or too long
    one."""
    tags, parts = _ETAG.findall(header), [part.strip() for part in _ETAG.sub('"', header).split(",")]
    is_list = len(header) <= MAX_ETAGS and {*parts} <= {"", '"'} and 0 < len(tags) == parts.count('"')
    return tags if is_list else None


def content_tag(content: bytes) -> str:
    """Return the strong entity tag of a representation with these bytes (RFC 9110 §8.8.3)."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def if_match(request: Request) -> frozenset[int] | None:
    """Return the versions that If-Match lists; None for ``*`` or without the header. Raises ``InvalidRequest``: for a
    malformed value. Versions are compared strongly: no answer has a weak tag, unless a proxy weakened it."""
    header = request.header("if-match")
    if header is None or header.strip() == "*":
        return None
    if (tags := entity_tags(header)) is None:
        raise InvalidRequest('If-Match must be * or entity tags such as "3".', details={"header": "If-Match"})
    return frozenset(int(found[1]) for found in map(_ETAG_VERSION.fullmatch, tags) if found)


def resolution(
    result: Resolution,
    media: str,
    duration: int,
    query: ResolveDidQuery,
    now: datetime,
    *,
    shape: Shape | None = None,
    body: Any = None,
) -> CachedAnswer:
    """Return 200 in the negotiated media type, with its 304 twin.

    ``duration``: in milliseconds. ``shape``: the shape of the answer, if it differs from resolveDid's in this media
    type.
    ``body``: the body of the shape ``other``.
    """
    version = result.version
    document = raw(version.state.document.encoded)
    shape = shape or SHAPES[media]
    if shape == "document":
        body = document
    elif shape == "result":
        found = DidResolutionMetadata(content_type="application/did", duration=duration)
        body = W3cDidResolution(
            did_document=document, did_document_metadata=w3c_metadata(result), did_resolution_metadata=found
        )
    elif shape == "own":
        found = DidResolutionMetadata(content_type=LD_JSON, duration=duration)
        body = DidResolution(
            did_document=document, did_document_metadata=_metadata(result), did_resolution_metadata=found
        )
    # A document from another registry has no version numbers, so its hash is used.
    mark = (version.state.entry_hash if version.receipt is None else "") or version.state.version_id
    form = media if shape != "result" else W3C
    has_metadata, receipt = shape != "document", version.receipt
    is_cosigned = has_metadata and result.cosigned is not None
    is_superseded = has_metadata and result.following is not None
    control = cache_control(result, query, now, is_document=not has_metadata)
    headers = headers_of(mark, form, control, is_cosigned=is_cosigned, is_superseded=is_superseded)
    return CachedAnswer(
        version_id=result.head_version_id if receipt is not None else -1,
        etag=headers[0][1],
        answer=Answer(200, encode(body), media, headers),
        stale_at=result.stale_at,
        awaits=receipt.sequence if has_metadata and result.awaits and receipt is not None else None,
    )


# Most DIDs have one version only; these are the metadata of a first version.
@lru_cache(maxsize=256)
def headers_of(mark: int | str, form: str, control: str, *, is_cosigned: bool, is_superseded: bool) -> Headers:
    """Return ETag (first), Vary and Cache-Control of an answer.

    ``mark`` is a version id or a hash, ``form`` the media type that the tag names. The tag also covers metadata
    beside the version: that a checkpoint is cosigned, and that a next version exists (RFC 9110 §8.8.1).
    """
    marks = ("+cosigned" if is_cosigned else "") + ("+superseded" if is_superseded else "")
    tag = f'"{mark}.{form.removeprefix("application/")}{marks}"'
    return (("ETag", tag), ("Vary", "Accept"), ("Cache-Control", control))


def answer_gone(request: Request, result: Resolution, media: str, *, selected: bool, form: str = JSON) -> Answer:
    """Return the 410 of a deactivated DID in the media type ``form``. Beside the error it has the requested version,
    or a W3C result without a document. The details name the transaction of the requested version, else of the
    deactivation."""
    state, receipt = result.version.state, result.version.receipt
    details: dict[str, JsonValue] = {
        "did": str(state.did),
        "deactivatedAt": printed_or_none(result.deactivated_at),
        "versionId": result.head_version_id,
        "transactionHash": None if receipt is None else receipt.transaction_hash,
    }
    answer = error_answer(DidDeactivated(details=details), request.request_id)
    body = DeactivatedDidResolution(error=answer.body.error)
    if selected or SHAPES[media] == "result":
        document = raw(state.document.encoded) if selected else None
        w3c = DidResolutionMetadata(content_type="application/did") if SHAPES[media] == "result" else UNSET
        metadata = plain(_metadata(result) if w3c is UNSET else w3c_metadata(result)) | {"deactivated": True}
        body = DeactivatedDidResolution(
            error=body.error, did_document=document, did_document_metadata=metadata, did_resolution_metadata=w3c
        )
    return Answer(answer.status, body, form, answer.headers)


def _metadata(result: Resolution) -> DidDocumentMetadata:
    """Return the metadata in the shape of the specification."""
    state, following = result.version.state, result.following
    return DidDocumentMetadata(
        created=printed(state.created_at),
        updated=printed(state.updated_at),
        version_id=state.version_id,
        deactivated=state.deactivated,
        next_update=UNSET if following is None else printed(following.state.updated_at),
        next_version_id=UNSET if following is None else following.state.version_id,
        unbound_changes=UNSET if state.unbound_changes is None else state.unbound_changes,
        ledger=_position(result),
    )


def w3c_metadata(result: Resolution) -> W3cDidDocumentMetadata:
    """Return the metadata of DID Resolution: version ids are strings, and a first version has no ``updated``."""
    state, following = result.version.state, result.following
    return W3cDidDocumentMetadata(
        created=printed(state.created_at),
        updated=UNSET if state.version_id == 1 else printed(state.updated_at),
        version_id=str(state.version_id),
        next_update=UNSET if following is None else printed(following.state.updated_at),
        next_version_id=UNSET if following is None else str(following.state.version_id),
        unbound_changes=UNSET if state.unbound_changes is None else state.unbound_changes,
        ledger=_position(result),
    )


def _position(result: Resolution) -> LedgerPosition | UnsetType:
    """Return the position of the version in the log."""
    receipt = result.version.receipt
    if receipt is None:
        return UNSET
    if result.cosigned is None:
        return LedgerPosition(index=receipt.sequence - 1, tree_size=receipt.sequence)
    size, at = result.cosigned
    return LedgerPosition(index=receipt.sequence - 1, tree_size=size, cosigned_at=printed(at))


def cache_control(result: Resolution, query: ResolveDidQuery, now: datetime, *, is_document: bool) -> str:
    """Return the Cache-Control value of the answer to ``query``.

    Only a version's document never changes. Its metadata change with the next version and at deactivation (RFC 8246
    §2).
    """
    if query.version_id is not None and is_document:
        return IMMUTABLE
    left = HEAD_SECONDS if result.stale_at is None else int((result.stale_at - now).total_seconds())
    seconds = max(0, min(HEAD_SECONDS, left))
    return f"public, max-age={seconds}"
