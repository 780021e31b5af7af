"""The answers of resolveDid, resolveIdentifier and listDidHistory that are put together from stored octets. What ``caching.resolution`` and
``dids.history_page`` encode of the same versions is the same, octet for octet (`tests/unit/use_cases/test_stored_octets.py`)."""

from __future__ import annotations

from typing import Final

from identity_core.api.caching import IMMUTABLE, LD_JSON, NEWEST, SHAPES, W3C, CachedAnswer, Shape, headers_of
from identity_core.api.request import Answer, cursor
from identity_core.codec.structs import encode
from identity_core.codec.times import moment, printed
from identity_core.domain.dids.stored_version import StoredVersion
from identity_core.use_cases.dids.stored import StoredHistory, StoredResolution
from identity_core.wire import ResolveDidQuery

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


def stored_answer(
    found: StoredResolution, media: str, duration: int, query: ResolveDidQuery, *, shape: Shape | None = None
) -> CachedAnswer:
    """``caching.resolution`` of what is stored, in each shape but that of dereferencing."""
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
    """``dids.history_page`` of what is stored."""
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
