"""From what the DID use cases return to the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from identity_core.api.dids_cache import CachedAnswer
from identity_core.api.request import Answer
from identity_core.codec import multibase
from identity_core.domain.did import Did
from identity_core.domain.times import printed
from identity_core.errors import JsonValue
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.create import Created, IssuedKey
from identity_core.use_cases.dids.list_history import HistoryPage
from identity_core.use_cases.dids.recover import Recovered
from identity_core.use_cases.dids.resolve import Resolution
from identity_core.use_cases.dids.rotate_key import Rotated

LD_JSON = "application/did+ld+json"
JSON = "application/json"
BARE = "application/did+json"
W3C = "application/did-resolution"
RESOLUTION_MEDIA = (LD_JSON, JSON, BARE, W3C)

HEAD_SECONDS = 5
NO_STORE = ("Cache-Control", "no-store")
NAMED_PURPOSES = ("authentication", "keyAgreement", "assertionMethod", "recovery")


def issued_key(key: IssuedKey) -> dict[str, JsonValue]:
    """{keyId, publicKey, privateKey}; the last only when there is one to return."""
    shown: dict[str, JsonValue] = {"keyId": key.key_id, "publicKey": key.public}
    if key.secret is not None:
        shown["privateKey"] = key.secret
    return shown


def issued_keys(keys: Sequence[IssuedKey]) -> dict[str, JsonValue]:
    """Entries by purpose; the second of a purpose, and purposes without an entry of their own, go to ``additional``."""
    entries: dict[str, JsonValue] = {}
    additional: list[JsonValue] = []
    for key in keys:
        if key.purpose in NAMED_PURPOSES and key.purpose not in entries:
            entries[key.purpose] = issued_key(key)
        else:
            additional.append(issued_key(key) | {"purpose": key.purpose})
    if additional:
        entries["additional"] = additional
    return entries


def receipt(version: IndexedVersion) -> dict[str, JsonValue]:
    """transactionHash and blockNumber; null for a version that is not written yet."""
    if version.receipt is None:
        return {"transactionHash": None, "blockNumber": None}
    return {"transactionHash": version.receipt.transaction_hash, "blockNumber": version.receipt.block_number}


def etag(version: IndexedVersion) -> tuple[str, str]:
    """The entity tag of a write's answer: what If-Match takes."""
    return ("ETag", f'"{version.state.version_id}"')


def created(result: Created) -> Answer:
    """201 with the document, the keys and the receipt."""
    did = str(result.version.state.did)
    body = {
        "did": did,
        "didDocument": result.version.state.document.to_json(),
        "keys": issued_keys(result.keys),
        **receipt(result.version),
    }
    return Answer(201, body, headers=[NO_STORE, ("Location", f"/api/v1/dids/{did}"), etag(result.version)])


def changed(version: IndexedVersion) -> dict[str, Any]:
    """What every change of a document answers."""
    return {
        "did": str(version.state.did),
        "didDocument": version.state.document.to_json(),
        "versionId": version.state.version_id,
        "updated": printed(version.state.updated_at),
        **receipt(version),
    }


def updated(version: IndexedVersion) -> Answer:
    """200 with the new state."""
    return Answer(200, changed(version), headers=[("Cache-Control", "no-store"), etag(version)])


def deactivated(version: IndexedVersion) -> Answer:
    """200 as the specification shows it."""
    return Answer(
        200, {"did": str(version.state.did), "deactivated": True, **receipt(version)}, headers=[NO_STORE, etag(version)]
    )


def rotated(result: Rotated) -> Answer:
    """200 with the new key, once, and the end of the grace period."""
    body = {
        "newKey": issued_key(result.new_key),
        "gracePeriodEnd": printed(result.grace_period_end),
        "versionId": result.version.state.version_id,
        **receipt(result.version),
    }
    return Answer(200, body, headers=[NO_STORE, etag(result.version)])


def recovered(result: Recovered) -> Answer:
    """200 with the new state and the next recovery key."""
    body = changed(result.version) | {"keys": issued_keys((result.recovery_key,))}
    return Answer(200, body, headers=[NO_STORE, etag(result.version)])


def metadata(version: IndexedVersion, following: IndexedVersion | None) -> dict[str, JsonValue]:
    """didDocumentMetadata in the specification's shape."""
    state = version.state
    shown: dict[str, JsonValue] = {
        "created": printed(state.created_at),
        "updated": printed(state.updated_at),
        "versionId": state.version_id,
        "deactivated": state.deactivated,
    }
    if following is not None:
        shown["nextUpdate"] = printed(following.state.updated_at)
        shown["nextVersionId"] = following.state.version_id
    return shown


def w3c_metadata(version: IndexedVersion, following: IndexedVersion | None) -> dict[str, JsonValue]:
    """didDocumentMetadata as DID Resolution has it: version ids are strings, a first version has no ``updated``."""
    shown = metadata(version, following)
    shown["versionId"] = str(version.state.version_id)
    if version.state.version_id == 1:
        del shown["updated"]
    if not version.state.deactivated:
        del shown["deactivated"]
    if following is not None:
        shown["nextVersionId"] = str(following.state.version_id)
    return shown


def resolution(
    result: Resolution, media: str, duration: int, query: Mapping[str, object], now: datetime
) -> CachedAnswer:
    """200 in the negotiated media type, with its 304 twin."""
    version = result.version
    document = version.state.document.to_json()
    body: dict[str, Any]
    if media == BARE:
        body = document
    elif media == W3C:
        body = {
            "didDocument": document,
            "didDocumentMetadata": w3c_metadata(version, result.following),
            "didResolutionMetadata": {"contentType": "application/did", "duration": duration},
        }
    else:
        body = {
            "didDocument": document,
            "didDocumentMetadata": metadata(version, result.following),
            "didResolutionMetadata": {"contentType": LD_JSON, "duration": duration},
        }
    # A document from elsewhere has no versions to tell apart: its hash does.
    mark = version.state.entry_hash if version.receipt is None else ""
    tag = f'"{mark or version.state.version_id}.{media.removeprefix("application/")}"'
    headers = [("ETag", tag), ("Vary", "Accept"), ("Cache-Control", _cache_control(result, query, now))]
    return CachedAnswer(
        version_id=result.head_version_id if result.version.receipt is not None else -1,
        etag=tag,
        answer=Answer(200, orjson.dumps(body), media_type=media, headers=headers),
        not_modified=Answer(304, b"", media_type=media, headers=headers),
        stale_at=result.stale_at,
    )


def _cache_control(result: Resolution, query: Mapping[str, object], now: datetime) -> str:
    if "versionId" in query:
        return "public, max-age=31536000, immutable"
    seconds = HEAD_SECONDS
    if result.stale_at is not None:
        seconds = max(0, min(seconds, int((result.stale_at - now).total_seconds())))
    return f"public, max-age={seconds}"


def deactivation(result: Resolution) -> dict[str, JsonValue]:
    """The details of DID_DEACTIVATED."""
    return {
        "did": str(result.version.state.did),
        "deactivatedAt": printed(result.deactivated_at) if result.deactivated_at else None,
        "versionId": result.head_version_id,
    }


def gone(result: Resolution, media: str, *, selected: bool) -> dict[str, JsonValue]:
    """What a 410 says beside the error: the version that was asked for, or a W3C result without a document."""
    if media == W3C:
        shown = w3c_metadata(result.version, result.following)
        return {
            "didDocument": result.version.state.document.to_json() if selected else None,
            "didDocumentMetadata": shown | {"deactivated": True},
            "didResolutionMetadata": {"contentType": "application/did"},
        }
    if not selected:
        return {}
    return {
        "didDocument": result.version.state.document.to_json(),
        "didDocumentMetadata": metadata(result.version, result.following) | {"deactivated": True},
    }


def cursor(text: str) -> str:
    """The opaque form of where a page ended."""
    return multibase.base64url_encode(text.encode())


def listing(heads: Sequence[IndexedVersion], limit: int) -> Answer:
    """A page of DIDs, with a cursor when there are more."""
    page = heads[:limit]
    items = [
        {
            "did": str(head.state.did),
            "versionId": head.state.version_id,
            "created": printed(head.state.created_at),
            "updated": printed(head.state.updated_at),
            "deactivated": head.state.deactivated,
        }
        for head in page
    ]
    following = cursor(str(page[-1].state.did)) if len(heads) > limit else None
    return Answer(200, {"items": items, "nextCursor": following}, headers=[NO_STORE])


def history_item(version: IndexedVersion, *, include_document: bool) -> dict[str, Any]:
    """One version. ``timestamp`` is when the ledger recorded it, ``effectiveAt`` from when it is in force."""
    state = version.state
    recorded_at = state.updated_at if version.receipt is None else version.receipt.recorded_at
    item: dict[str, Any] = {
        "versionId": state.version_id,
        "operation": state.operation,
        "timestamp": printed(recorded_at),
        "effectiveAt": printed(state.updated_at),
        **receipt(version),
        "previousHash": state.previous_hash,
        "entryHash": state.entry_hash if version.receipt is not None else None,
        "keyId": version.key_id,
        "changes": list(version.changes),
    }
    if include_document:
        item["didDocument"] = state.document.to_json()
    return item


def history_page(did: Did, page: HistoryPage, *, include_document: bool) -> Answer:
    """A page of history."""
    body = {
        "did": str(did),
        "total": page.total,
        "items": [history_item(version, include_document=include_document) for version in page.items],
        "nextCursor": None if page.after is None else cursor(str(page.after)),
    }
    return Answer(200, body, headers=[("Cache-Control", f"public, max-age={HEAD_SECONDS}")])
