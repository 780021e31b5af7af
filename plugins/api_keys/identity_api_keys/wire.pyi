"""GENERATED from openapi/ by `python -m openapi.build`: what identity_api_keys.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes

ApiKeyName = str
Burst = int | None
RequestsPerSecond = float | None
Scopes = tuple[str, ...]

class ApiKeyList(Struct, frozen=True, kw_only=True):
    items: tuple[ApiKeyRecord, ...]
    next_cursor: str | None

class ApiKeyRecord(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    fingerprint: str
    admin: bool
    scopes: tuple[str, ...] | None
    allowed_targets: tuple[str, ...] | None
    requests_per_second: float | None
    burst: int | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    lineage: str | None
    source: str

class CreateApiKeyRequest(Struct, frozen=True, kw_only=True):
    name: str
    admin: bool | UnsetType = UNSET
    scopes: tuple[str, ...] | UnsetType = UNSET
    allowed_targets: tuple[str, ...] | None | UnsetType = UNSET
    requests_per_second: float | None | UnsetType = UNSET
    burst: int | None | UnsetType = UNSET
    expires_at: str | None | UnsetType = UNSET

class IssuedApiKey(Struct, frozen=True, kw_only=True):
    api_key: str
    record: ApiKeyRecord

class ListApiKeysQuery(Struct, frozen=True, kw_only=True):
    limit: int = 50
    cursor: str | None = None

class RotateApiKeyRequest(Struct, frozen=True, kw_only=True):
    grace_seconds: int | UnsetType = UNSET

class RotatedApiKey(Struct, frozen=True, kw_only=True):
    api_key: str
    record: ApiKeyRecord
    predecessor: ApiKeyRecord

class UpdateApiKeyRequest(Struct, frozen=True, kw_only=True):
    name: str | UnsetType = UNSET
    admin: bool | UnsetType = UNSET
    scopes: tuple[str, ...] | UnsetType = UNSET
    allowed_targets: tuple[str, ...] | None | UnsetType = UNSET
    requests_per_second: float | None | UnsetType = UNSET
    burst: int | None | UnsetType = UNSET
    expires_at: str | None | UnsetType = UNSET
