"""Queries of the timeline and of the verification history, and their results.

Besides the audit log, which is complete and for operators, the timeline has what holder, agent and issuer may see. No row contains
an attribute value, a predicate value or a secret. The row of a verification has the name of the attribute, the kind of question,
and the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct


class TimelineQuery(Struct, frozen=True):
    """A filter of timeline rows: those that concern one of ``dids`` (None: all), of ``kind`` or of the noun that it is (None: all),
    from ``since`` on and before ``until``, with ids before ``before``."""

    dids: frozenset[str] | None
    kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: str | None = None
    limit: int = 50


class VerificationQuery(Struct, frozen=True):
    """A filter of verifications: those that ``caller`` made or that one of ``dids`` made or held (both None: all), limited by the
    other members; from ``since`` on, before ``until``, with ids before ``before``."""

    caller: str | None
    dids: frozenset[str] | None
    since: datetime | None = None
    until: datetime | None = None
    verified: bool | None = None
    holder: str | None = None
    issuer: str | None = None
    before: str | None = None
    limit: int = 50


class VerificationCounts(Struct, frozen=True):
    """The numbers of verifications, of valid ones and of verified ones, and of each reason among the others."""

    total: int
    valid: int
    verified: int
    reasons: Mapping[str, int]
