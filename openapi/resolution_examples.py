"""The examples of resolveDid: a version in each media type, and what is said of a DID that has ended."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from identity_core.api import caching
from identity_core.api.request import Request
from identity_core.codec.structs import plain
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.read import Resolution
from identity_core.wire import ResolveDidQuery
from openapi.build import EXAMPLE_REQUEST_ID
from openapi.story import Json


def resolutions(current: IndexedVersion, before: IndexedVersion, stale_at: datetime) -> Json:
    """In each media type, now and for an earlier version; ``stale_at`` is when a grace period of the current one ends."""
    newest = current.state.version_id
    now = Resolution(current, False, None, newest, None, stale_at)
    old = Resolution(before, False, None, newest, current, None, cosigned=(12, current.state.updated_at))

    def body(result: Resolution, media: str) -> Any:
        octets = caching.resolution(result, media, 1, ResolveDidQuery(), current.state.updated_at).answer.body
        return orjson.loads(octets) if isinstance(octets, bytes) else octets

    forms = (caching.JSON, caching.LD_JSON, caching.BARE, caching.DID, caching.W3C, caching.LD)
    return {f"200 {media}": {"keyInGrace": body(now, media), "anEarlierVersion": body(old, media)} for media in forms}


def gone(first: IndexedVersion, second: IndexedVersion, last: IndexedVersion) -> Json:
    """What is said of a DID that ``last`` has ended: of the DID itself, and of its ``first`` version, which ``second`` followed."""
    head = Resolution(last, True, last.state.updated_at, last.state.version_id, None, None)
    old = Resolution(first, True, last.state.updated_at, last.state.version_id, second, None)

    def body(result: Resolution, media: str, *, selected: bool = False) -> Any:
        request = Request(request_id=EXAMPLE_REQUEST_ID)
        return plain(caching.gone(request, result, media, selected=selected).body)

    return {
        "now": body(head, caching.JSON),
        "withVersionId": body(old, caching.JSON, selected=True),
        "asW3cResult": body(head, caching.W3C),
    }
