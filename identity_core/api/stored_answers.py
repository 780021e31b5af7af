"""The answers of resolveDid that are put together from stored octets. What ``caching.resolution`` encodes of the same version is the same,
octet for octet (`tests/unit/use_cases/test_stored_octets.py`)."""

from __future__ import annotations

from typing import Final

from identity_core.api.caching import IMMUTABLE, LD_JSON, NEWEST, SHAPES, W3C, CachedAnswer, headers_of
from identity_core.api.request import Answer
from identity_core.codec.times import moment, printed
from identity_core.use_cases.dids.stored import StoredResolution
from identity_core.wire import ResolveDidQuery

_OWN: Final = (
    b'{"didDocument":%b,"didDocumentMetadata":{"created":"%b","updated":"%b","versionId":%d,"deactivated":false%b,"ledger":%b},'
    b'"didResolutionMetadata":{"contentType":"' + LD_JSON.encode() + b'","duration":%d}}'
)
_RESULT: Final = (
    b'{"didDocument":%b,"didDocumentMetadata":{"created":"%b"%b,"versionId":"%d"%b,"ledger":%b},'
    b'"didResolutionMetadata":{"contentType":"application/did","duration":%d}}'
)


def stored_answer(found: StoredResolution, media: str, duration: int, query: ResolveDidQuery) -> CachedAnswer:
    """``caching.resolution`` of what is stored."""
    version, shape = found.version, SHAPES[media]
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
    lasts = query.version_id is not None and not found.awaits
    form, tells = W3C if shape == "result" else media, shape != "document"
    is_cosigned = tells and found.cosigned is not None
    headers = headers_of(version.version_id, form, IMMUTABLE if lasts else NEWEST, is_cosigned=is_cosigned)
    awaits = version.sequence if tells and found.awaits else None
    return CachedAnswer(found.head.version_id, headers[0][1], Answer(200, body, media, headers), None, awaits)


def _next(found: StoredResolution, number: bytes) -> bytes:
    following = found.following
    if following is None:
        return b""
    return b',"nextUpdate":"%b","nextVersionId":' % _printed(following.updated) + number % following.version_id


def _position(found: StoredResolution) -> bytes:
    place = found.version.sequence
    if found.cosigned is None:
        return b'{"index":%d,"treeSize":%d}' % (place - 1, place)
    size, at = found.cosigned
    return b'{"index":%d,"treeSize":%d,"cosignedAt":"%b"}' % (place - 1, size, printed(at).encode())


def _printed(microseconds: int) -> bytes:
    return printed(moment(microseconds)).encode()
