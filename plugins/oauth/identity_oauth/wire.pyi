"""GENERATED from openapi/ by `python -m openapi.build`: what identity_oauth.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes


class IssueTokenRequest(Struct, frozen=True, kw_only=True):
    grant_type: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    subject: str | UnsetType = UNSET

class Jwk(Struct, frozen=True, kw_only=True):
    kty: str
    crv: str
    x: str
    use: str
    alg: str
    kid: str

class JwkSet(Struct, frozen=True, kw_only=True):
    keys: tuple[Jwk, ...]

class TokenAnswer(Struct, frozen=True, kw_only=True):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str | UnsetType = UNSET
