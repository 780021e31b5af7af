"""GENERATED from openapi/ by `python -m openapi.build`: what identity_operations.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes


class EraseRecordsRequest(Struct, frozen=True, kw_only=True):
    kinds: tuple[str, ...]
    holder_did: str | UnsetType = UNSET

class ErasedCounts(Struct, frozen=True, kw_only=True):
    credentials: int
    proofs: int
    timeline: int
    verifications: int
    labels: int
    requests: int

class ErasedRecords(Struct, frozen=True, kw_only=True):
    holder_did: str
    erased: ErasedCounts
    waiting: int
