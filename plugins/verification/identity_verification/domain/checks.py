"""The checks of a verification and its verdict.

A proof is verified only if every check is right. It is valid only if it was also compared with a predicate, a challenge, a domain and
an issuer. Otherwise it is genuine, but unbound: it could be a replay, or the answer to another question.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from identity_codec.multibase import base64url_encode


class CheckCode(StrEnum):
    """The cause of a failed or undecided check, or of a warning. The OpenAPI document describes each code."""

    PROOF_INVALID = "PROOF_INVALID"
    PUBLIC_SIGNALS_MISMATCH = "PUBLIC_SIGNALS_MISMATCH"
    PROOF_EXPIRED = "PROOF_EXPIRED"
    PROOF_NOT_YET_VALID = "PROOF_NOT_YET_VALID"
    PROOF_TOO_OLD = "PROOF_TOO_OLD"
    PROOF_REVOKED = "PROOF_REVOKED"
    STATUS_TOO_OLD = "STATUS_TOO_OLD"
    NOT_PROVEN = "NOT_PROVEN"
    PREDICATE_MISMATCH = "PREDICATE_MISMATCH"
    CHALLENGE_MISMATCH = "CHALLENGE_MISMATCH"
    CHALLENGE_UNKNOWN = "CHALLENGE_UNKNOWN"
    CHALLENGE_SPENT = "CHALLENGE_SPENT"
    DOMAIN_MISMATCH = "DOMAIN_MISMATCH"
    SCHEMA_MISMATCH = "SCHEMA_MISMATCH"
    ISSUER_MISMATCH = "ISSUER_MISMATCH"
    AGENT_MISMATCH = "AGENT_MISMATCH"
    AGENT_SIGNATURE_MISSING = "AGENT_SIGNATURE_MISSING"
    ISSUER_NOT_FOUND = "ISSUER_NOT_FOUND"
    ISSUER_DEACTIVATED = "ISSUER_DEACTIVATED"
    ISSUER_KEY_UNKNOWN = "ISSUER_KEY_UNKNOWN"
    ISSUER_UNAVAILABLE = "ISSUER_UNAVAILABLE"
    ISSUER_HAS_MANY_KEYS = "ISSUER_HAS_MANY_KEYS"
    CREDENTIAL_REVOKED = "CREDENTIAL_REVOKED"
    CREDENTIAL_SUSPENDED = "CREDENTIAL_SUSPENDED"
    CREDENTIAL_EXPIRED = "CREDENTIAL_EXPIRED"
    CREDENTIAL_UNKNOWN = "CREDENTIAL_UNKNOWN"
    DELEGATION_REVOKED = "DELEGATION_REVOKED"
    DELEGATION_EXPIRED = "DELEGATION_EXPIRED"
    DELEGATION_SUSPENDED = "DELEGATION_SUSPENDED"
    DELEGATION_UNKNOWN = "DELEGATION_UNKNOWN"
    ANCHOR_FAILED = "ANCHOR_FAILED"
    ANCHOR_REVOKED = "ANCHOR_REVOKED"


BoundPart: TypeAlias = Literal["predicate", "challenge", "domain", "issuerDid"]
BOUND: Final[tuple[BoundPart, ...]] = ("predicate", "challenge", "domain", "issuerDid")
"""Parts that a verifier must compare. Without one of them a genuine proof may be a replay, or answer another question."""

MAX_SHOWN: Final = 120
"""The maximum number of characters of the expected and found texts of a check."""


class Check(Struct, frozen=True):
    """One check by name. ``ok`` None: it could not be made. ``code`` is set unless it is right. ``expected`` and ``found`` are short
    texts of a failed check, without the values of predicates."""

    name: str
    ok: bool | None
    code: CheckCode | None = None
    expected: str | None = None
    found: str | None = None


def right(name: str) -> Check:
    """Return a successful check."""
    return Check(name, True)


def wrong(name: str, code: CheckCode, expected: object = None, found: object = None) -> Check:
    """Return a failed check, with the expected and the found part as texts."""
    return Check(name, False, code, _format_part(expected), _format_part(found))


def _format_part(part: object) -> str | None:
    """Return a short text of a compared part; for predicates only the attributes and types."""
    if isinstance(part, list):
        part = ", ".join(f"{one['attributeName']} {one['type']}" for one in map(json.loads, part))
    if isinstance(part, bytes):
        text = part.decode(errors="replace")
        part = text if text.encode() == part else base64url_encode(part)
    return "".join(one if one.isprintable() else "?" for one in part[:MAX_SHOWN]) if isinstance(part, str) else None


def undecided(name: str, code: CheckCode) -> Check:
    """Return a check that could not be made."""
    return Check(name, None, code)


Verdict: TypeAlias = Literal["valid", "unbound", "invalid"]


def compared_of(missing: Collection[str]) -> tuple[BoundPart, ...]:
    """Return the parts of ``BOUND`` that are not in ``missing``."""
    return tuple(name for name in BOUND if name not in missing)


def verdict_of(verified: bool, missing: Sequence[str]) -> Verdict:
    """Return the verdict of a verification."""
    return "invalid" if not verified else "unbound" if missing else "valid"
