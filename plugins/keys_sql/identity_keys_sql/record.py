"""An API key as one line of JSON, and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from identity_codec import strict_json
from identity_codec.times import parse, printed_exactly
from identity_codec.values import replace
from identity_core.domain.callers import ApiKey


def to_record(key: ApiKey) -> str:
    """Return the one text for a key: equal keys have equal records."""
    return json.dumps(
        {
            "id": key.id,
            "name": key.name,
            "digest": key.digest,
            "scopes": None if key.scopes is None else sorted(key.scopes),
            "allowedTargets": None if key.allowed_targets is None else sorted(key.allowed_targets),
            "requestsPerSecond": key.requests_per_second,
            "burst": key.burst,
            "createdAt": printed_exactly(key.created_at),
            "expiresAt": None if key.expires_at is None else printed_exactly(key.expires_at),
            "revokedAt": None if key.revoked_at is None else printed_exactly(key.revoked_at),
            "lineage": key.lineage,
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def from_record(record: str) -> ApiKey:
    """Return the key of a record that ``to_record`` made."""
    value = strict_json.loads(record.encode())
    scopes, targets = value["scopes"], value["allowedTargets"]
    expires_at, revoked_at = value["expiresAt"], value["revokedAt"]
    return ApiKey(
        id=value["id"],
        name=value["name"],
        digest=value["digest"],
        scopes=None if scopes is None else frozenset(scopes),
        allowed_targets=None if targets is None else frozenset(targets),
        requests_per_second=value["requestsPerSecond"],
        burst=value["burst"],
        created_at=parse(value["createdAt"]),
        expires_at=None if expires_at is None else parse(expires_at),
        revoked_at=None if revoked_at is None else parse(revoked_at),
        source="sql",
        lineage=value["lineage"],
    )


def read_row(key_id: str, digest: str, record: str) -> ApiKey:
    """Return the key of a row, with the id and the digest by which it is found. One whose record cannot be read may do nothing and
    is revoked: it was edited, and the service reports a key that is not as it left it."""
    try:
        return replace(from_record(record), id=key_id, digest=digest)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        began = datetime.fromtimestamp(0, UTC)
        return ApiKey(key_id, "", digest, frozenset(), frozenset(), None, None, created_at=began, revoked_at=began)
