"""The examples of resolveDid: a version in each media type, a document from elsewhere, and a DID that has ended."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import orjson
from identity_did_ids import foreign

from identity_codec.structs import plain
from identity_core.api import caching
from identity_core.api.request import Request
from identity_core.domain.dids.did import Did
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.read import Resolution
from identity_core.wire import ResolveDidQuery
from openapi.build import EXAMPLE_REQUEST_ID
from openapi.story import Json

ELSEWHERE: Final = Did.parse("did:web:issuer.example")
FOREIGN: Final[Json] = {
    "@context": "https://www.w3.org/ns/did/v1",
    "id": ELSEWHERE.text,
    "controller": [ELSEWHERE.text, "did:web:parent.example"],
    "alsoKnownAs": ["https://issuer.example/"],
    "verificationMethod": [
        {
            "id": "#key-1",
            "type": "JsonWebKey2020",
            "controller": ELSEWHERE.text,
            "publicKeyJwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"},
        }
    ],
    "authentication": ["#key-1"],
    "keyAgreement": [
        {
            "id": f"{ELSEWHERE}#key-2",
            "type": "Multikey",
            "controller": ELSEWHERE.text,
            "publicKeyMultibase": "z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc",
            "revoked": "2026-06-01T00:00:00Z",
        }
    ],
    "service": [
        {"id": "#messages", "type": ["DIDCommMessaging"], "serviceEndpoint": {"uri": "https://issuer.example/didcomm"}}
    ],
}
"""A document of did:web, in forms that no document has which is recorded here."""


def resolutions(current: IndexedVersion, before: IndexedVersion, stale_at: datetime) -> Json:
    """In each media type, now and for an earlier version; ``stale_at`` is when a grace period of the current one ends."""
    newest = current.state.version_id
    now = Resolution(current, False, None, newest, None, stale_at)
    old = Resolution(before, False, None, newest, current, None, cosigned=(12, current.state.updated_at))
    elsewhere = IndexedVersion(foreign.build_foreign_state(ELSEWHERE, FOREIGN, current.state.updated_at), None)
    found = Resolution(elsewhere, False, None, 1, None, None)

    def body(result: Resolution, media: str) -> Any:
        data = caching.resolution(result, media, 1, ResolveDidQuery(), current.state.updated_at).answer.body
        return orjson.loads(data) if isinstance(data, bytes) else data

    forms = (caching.JSON, caching.LD_JSON, caching.BARE, caching.DID, caching.W3C, caching.LD)
    shown = {"keyInGrace": now, "anEarlierVersion": old, "publishedElsewhere": found}
    return {f"200 {media}": {name: body(one, media) for name, one in shown.items()} for media in forms}


def gone(first: IndexedVersion, second: IndexedVersion, last: IndexedVersion) -> Json:
    """What is said of a DID that ``last`` has ended: of the DID itself, and of its ``first`` version, which ``second`` followed."""
    head = Resolution(last, True, last.state.updated_at, last.state.version_id, None, None)
    old = Resolution(first, True, last.state.updated_at, last.state.version_id, second, None)

    def body(result: Resolution, media: str, *, selected: bool = False) -> Any:
        request = Request(request_id=EXAMPLE_REQUEST_ID)
        return plain(caching.answer_gone(request, result, media, selected=selected).body)

    return {
        "now": body(head, caching.JSON),
        "withVersionId": body(old, caching.JSON, selected=True),
        "asW3cResult": body(head, caching.W3C),
    }
