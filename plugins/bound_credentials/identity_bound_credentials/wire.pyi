"""GENERATED from openapi/ by `python -m openapi.build`: what identity_bound_credentials.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes

StatusGapsManifest = dict[str, Any]

class BoundToFormerSecret(Struct, frozen=True, kw_only=True):
    credential_id: str
    issuer_did: str
    generation: int

class HolderSecretRotation(Struct, frozen=True, kw_only=True):
    holder_did: str
    generation: int
    credentials: tuple[BoundToFormerSecret, ...]
    complete: bool

class RotateHolderSecretRequest(Struct, frozen=True, kw_only=True):
    forget_former: bool
