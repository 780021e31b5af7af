"""GENERATED from openapi/ by `python -m openapi.build`: what identity_observability.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

DOCUMENT: bytes

