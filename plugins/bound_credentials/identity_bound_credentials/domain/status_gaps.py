"""Signed gaps: pairs of a list's handles, between which a holder proves its handle to lie, so that it is not revoked.

A credential has a *handle*, a random number that no other credential of its list ever has. Each epoch the status issuer sorts the
handles that are revoked or suspended, puts 0 and 2^32 - 1 around them, which no credential has, and signs each pair of neighbours
with BBS as two raw scalars (low, high), under one header for the epoch::

    "IDENTITY-SERVICE-STATUS-V2:" ‖ JCS{"bits": 32, "epoch": k, "issuer", "list", "method", "period"}

A handle strictly between two neighbours is not in the list. Adjacent neighbours are signed too, so the list is a chain without
holes. Epoch k is [k·period, (k + 1)·period) in seconds since 1970-01-01T00:00:00Z.

Every verifier sees a revocation after lead + period + grace at most. The list of an epoch is made some time before it begins. A gap
is valid for its whole epoch, even if the list is published again. And a verifier accepts an ended epoch for a while.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final, NamedTuple

from msgspec import Struct

from identity_client.status_list import StatusListRefused
from identity_codec import jcs, strict_json
from identity_codec.multibase import base64url_encode

HEADER_TAG: Final = b"IDENTITY-SERVICE-STATUS-V2:"
BITS: Final = 32
FIRST_END: Final = 0
LAST_END: Final = (1 << BITS) - 1
"""The ends of every list; handles lie strictly between them."""

PERIODS: Final = frozenset({3_600, 86_400})
"""Seconds of an epoch. Others are refused by readers too: a list with a longer one would be current for as long as its issuer likes."""

MAX_GAPS: Final = 1 << 20
SKEW: Final = timedelta(seconds=300)
GRACE: Final = timedelta(hours=1)
"""How long after its end a verifier takes an epoch that has said nothing else: holders fetch the new list in this time."""
LINGERS: Final = timedelta(days=2)
"""A handle stays in the lists this long after the credential's last day: no list that is taken together with that day lacks it."""

_MAX_HEADER_OCTETS: Final = 2_048
_LAST_SECOND: Final = (1 << 16) * 86_400
"""Days of credentials are numbers of 16 bits; no epoch ends later."""
_MAX_TEXT: Final = 768
_LIST_TAG: Final = "identity status gaps v1"
LIST_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
_DAY: Final = timedelta(days=1)
_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)


class HandleListed(Exception):
    """A handle in the list, as a signed gap that ends there shows: its credential is revoked or suspended."""


class Gap(NamedTuple):
    """Two neighbours of a list. The handles strictly between them are not in it."""

    low: int
    high: int


class StatusEpoch(Struct, frozen=True):
    """A list at one epoch, with the members of its header. ``method`` is the DID URL of the BBS key that signs, ``issuer`` its
    controller.

    Raises ``StatusListRefused``.
    """

    issuer: str
    method: str
    list_id: str
    epoch: int
    period: int

    def __post_init__(self) -> None:
        if LIST_ID.fullmatch(self.list_id) is None:
            raise StatusListRefused("a list has a name of 22 characters of base64url")
        if not self.method.startswith(f"{self.issuer}#") or not 1 <= len(self.issuer) <= len(self.method) <= _MAX_TEXT:
            raise StatusListRefused("the key of a list is one of its issuer's")
        if self.period not in PERIODS:
            raise StatusListRefused("an epoch takes an hour or a day")
        if not 0 <= self.epoch < _LAST_SECOND // self.period:
            raise StatusListRefused("there is no such epoch")

    @property
    def header(self) -> bytes:
        """Return the canonical bytes of the header under which every gap of the epoch is signed."""
        return HEADER_TAG + jcs.canonicalize(self.members)

    @property
    def members(self) -> dict[str, str | int]:
        """Return the members of the header's JSON."""
        return {
            "bits": BITS,
            "epoch": self.epoch,
            "issuer": self.issuer,
            "list": self.list_id,
            "method": self.method,
            "period": self.period,
        }

    @classmethod
    def from_header(cls, data: bytes) -> StatusEpoch:
        """Return the epoch of a signed header. Raises ``StatusListRefused``: for a malformed header."""
        if len(data) > _MAX_HEADER_OCTETS or not data.startswith(HEADER_TAG):
            raise StatusListRefused("not the header of a status list")
        try:
            read = cls.from_members(strict_json.loads(data[len(HEADER_TAG) :]))
        except strict_json.JsonRefused:
            raise StatusListRefused("not the header of a status list") from None
        if read.header != data:
            raise StatusListRefused("the header is not in its canonical form")
        return read

    @classmethod
    def from_members(cls, value: Any) -> StatusEpoch:
        """Return the epoch of these JSON members. Other members are ignored, so the caller must write it again and compare."""
        try:
            texts = value["issuer"], value["method"], value["list"]
            numbers = value["epoch"], value["period"]
            is_right = value["bits"] == BITS and all(type(number) is int for number in (*numbers, value["bits"]))
        except (KeyError, TypeError, IndexError):
            raise StatusListRefused("a member of the status list is missing") from None
        if not is_right or not all(type(text) is str for text in texts):
            raise StatusListRefused("a member of the status list has the wrong type")
        return cls(*texts, *numbers)

    @property
    def begins(self) -> datetime:
        """Return the first moment of the epoch."""
        return _1970 + timedelta(seconds=self.epoch * self.period)

    @property
    def ends(self) -> datetime:
        """Return the moment after its last one."""
        return self.begins + timedelta(seconds=self.period)

    def is_acceptable(self, now: datetime, max_age: timedelta) -> bool:
        """Return whether a verifier may take it at ``now``: it has begun, but for the skew of clocks, and ended at most ``max_age``
        ago.

        A future epoch is refused, because its list may lack a handle whose credential is on its last day.
        """
        return self.begins - SKEW <= now < self.ends + max(max_age, timedelta(0))

    @property
    def earliest_last_day(self) -> int:
        """Return the earliest last day, in days since 1970-01-01, of a revoked credential in this epoch's list."""
        return max(0, (self.begins - LINGERS - _1970) // _DAY)


def list_id(issuer: str, period: int) -> str:
    """Return the id of an issuer's list of that period: 22 characters that follow from both."""
    return base64url_encode(sha256(f"{_LIST_TAG}\n{issuer}\n{period}".encode()).digest()[:16])


def epoch_at(moment: datetime, period: int) -> int:
    """Return the number of the epoch that the moment lies in."""
    return int((moment - _1970) // timedelta(seconds=period))


def chain(handles: Iterable[int]) -> tuple[int, ...]:
    """Return the ends of all gaps, ascending: 0, the listed handles, 2^32 - 1. A list of n handles has n + 1 gaps.

    Raises ``StatusListRefused``: for invalid or repeated handles, and for more than ``MAX_GAPS`` gaps.
    """
    ends = (FIRST_END, *sorted(handles), LAST_END)
    check_ascending(ends)
    if len(ends) - 1 > MAX_GAPS:
        raise StatusListRefused(f"a list has at most {MAX_GAPS} gaps")
    return ends


def check_ascending(ends: Sequence[int]) -> None:
    """Check that each end is greater than the one before. Raises ``StatusListRefused``."""
    if any(low >= high for low, high in pairwise(ends)):
        raise StatusListRefused("the ends of the gaps do not ascend")


def place(ends: Sequence[int], handle: int) -> int:
    """Return the index of the gap whose lower end is the handle, or the next below it. Raises ``StatusListRefused``: when there is
    none."""
    check_handle(handle)
    index = bisect_right(ends, handle) - 1
    if not 0 <= index < len(ends) - 1:
        raise StatusListRefused("the handle lies outside of these gaps")
    return index


def check_handle(handle: int) -> None:
    """Check that a credential can have this handle. Raises ``StatusListRefused``."""
    if not FIRST_END < handle < LAST_END:
        raise StatusListRefused("a handle lies between 0 and 2^32 - 1")
