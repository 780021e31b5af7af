"""The examples of the tag ``identifiers``: a DID in each form that a resolver's client may ask for, and the description of the methods."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import orjson
from identity_did_ids import DidIds, DidIdsSettings
from identity_did_jwk import DidJwk
from identity_did_key import DidKey, DidKeySettings
from identity_universal.did_url import secondary_resource
from identity_universal.identifier_handlers import DEREFERENCING, dereferencing
from identity_universal.identifiers import Identifiers

from identity_codec.multibase import base64url_encode
from identity_codec.structs import plain, raw
from identity_codec.times import printed
from identity_core.api import caching
from identity_core.api.caching import BARE, DID, JSON, LD, LD_JSON, W3C, Shape
from identity_core.domain.dids.did import Did
from identity_core.ports.did_method import DidMethod
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.read import Resolution
from identity_core.wire import ResolveDidQuery
from openapi.story import Json

# RFC 7517 appendix A.1.
P256: Final = {
    "kty": "EC",
    "crv": "P-256",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
}
SHAPES: Final[dict[str, Shape]] = {
    JSON: "result",
    W3C: "result",
    DEREFERENCING: "other",
    DID: "document",
    BARE: "document",
    LD_JSON: "document",
    LD: "document",
}


def identifiers(current: IndexedVersion, stale_at: datetime) -> Json:
    """operationId → examples. ``stale_at`` is when a grace period of the current version ends."""
    methods: dict[str, DidMethod] = {"ids": DidIds(DidIdsSettings()), "key": DidKey(DidKeySettings())}
    unused: Any = None
    known, forms = Identifiers(unused, methods), _forms(current, stale_at)
    options = {
        "versionAsDocument": {"accept": DID, "versionId": str(current.state.version_id), "noCache": True},
        "withMultikeys": {"publicKeyFormat": "Multikey"},
        "serviceAsItWas": {"service": "hub", "relativeRef": "/box", "versionTime": printed(current.state.updated_at)},
    }
    return {
        "resolveIdentifier": forms,
        "resolveIdentifierWithOptions": {"request": options, **forms},
        "listDidMethods": {"200": {"names": plain(known.names())}},
        "listDidMethodProperties": {"200": {"properties": plain(known.properties())}},
        "listTestIdentifiers": {"200": {"dids": plain(known.test_identifiers())}},
        "listDidTraits": {"200": {"traits": plain(known.traits())}},
    }


def _forms(current: IndexedVersion, stale_at: datetime) -> Json:
    result = Resolution(current, False, None, current.state.version_id, None, stale_at)
    at, fragment = current.state.updated_at, current.state.document.methods[0].id.partition("#")[2]
    shown: Json = {}
    for media, shape in SHAPES.items():
        own = dereferencing(raw(current.state.document.encoded), result) if shape == "other" else None
        body = caching.resolution(result, media, 1, ResolveDidQuery(), at, shape=shape, body=own).answer.body
        shown[f"200 {media}"] = {"keyInGrace": orjson.loads(body) if isinstance(body, bytes) else body}
    known = {"use": "sig", "alg": "ES256", "kid": "2026-01"} | P256
    expanded = DidJwk().expand(Did.parse(f"did:jwk:{base64url_encode(orjson.dumps(known))}"))
    found = Resolution(IndexedVersion(expanded, None), False, None, 1, None, None)
    body = caching.resolution(found, W3C, 1, ResolveDidQuery(), at, shape="result").answer.body
    shown[f"200 {W3C}"]["jsonWebKey"] = orjson.loads(body) if isinstance(body, bytes) else body
    key = secondary_resource(current.state.did, current.state.document.encoded, fragment)
    shown[f"200 {DID}"]["keyByItsFragment"] = plain(key)
    shown[f"200 {DEREFERENCING}"]["keyByItsFragment"] = plain(dereferencing(key, result))
    return shown
