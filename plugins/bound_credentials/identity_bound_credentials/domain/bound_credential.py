"""The content that an issuer of suite 2 signs: a header that names issuer and status list, and slots for holder, validity and
handle (PROTOCOL-2.md §2).

Header and messages of suite 1 contain schema and values. Here the signature also covers the issuer, the holder, the validity, and
the handle by which its status list revokes the credential. So a verifier gets all of that from a proof, without a query. Slots 0
and 1 hold the holder's secret and a blind. They are not part of this module, because the issuer signs them unseen
(``identity_bbs.blind``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from identity_bbs.blind import BOUND_HEADER_TAG
from identity_bound_credentials.domain.status_gaps import BITS, LAST_END, LIST_ID, PERIODS
from identity_codec import jcs, strict_json
from identity_codec.deprecation import OldMember
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.strict_json import JsonValue
from identity_codec.times import printed
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.schema import MAX_HEADER_OCTETS, Message, Schema, attribute_members, read_schema
from identity_core.errors import InvalidCredential

FIRST_DAY_SLOT: Final = 3
LAST_DAY_SLOT: Final = 4
HANDLE_SLOT: Final = 5
ATTRIBUTES_SLOT: Final = 6
"""The slot of the first attribute; those before it are never disclosed."""

NO_FIRST_DAY: Final = 0
NO_LAST_DAY: Final = 65_535
NO_HANDLE: Final = 0
MAX_TEXT: Final = 1024

_METHOD: Final = re.compile(r"(did:[!-\"$-~]+)#([!-\"$-~]+)", re.ASCII)


class SecretKeeper(StrEnum):
    """The origin of the holder's secret, as the issuer states it: ``none`` is a bearer credential, which is delivered with its
    secret."""

    WALLET = "wallet"
    CUSTODIAN = "custodian"
    NONE = "none"


class StatusListReference(Struct, frozen=True):
    """The list that may revoke the credential: its id (22 characters) and the seconds of an epoch. Any assertion key of the issuer
    may sign it, so keys of lists can be rotated."""

    list_id: str
    period: int

    def __post_init__(self) -> None:
        if LIST_ID.fullmatch(self.list_id) is None or self.period not in PERIODS:
            raise ValueRefused(
                "a status list has 22 characters of base64url for a name, and epochs of an hour or a day"
            )

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return the form that the header contains."""
        return {"bits": BITS, "list": self.list_id, "period": self.period}


class BoundHeader(Struct, frozen=True):
    """The signed header. ``method`` is the DID URL of the issuer's key; ``digest`` the SHA-256 of the registered schema document.
    It contains nothing about a single holder."""

    schema: Schema
    method: str
    status: StatusListReference | None
    keeper: SecretKeeper
    digest: bytes

    def __post_init__(self) -> None:
        controller(self.method)
        if len(self.digest) != 32:
            raise ValueRefused("the digest of a schema document has 32 bytes")

    @property
    def issuer(self) -> str:
        """Return the issuer's DID: the controller of the key."""
        return controller(self.method)

    @property
    def encoded(self) -> bytes:
        """Return the canonical bytes. Raises ``ValueRefused``: when they are too many. Equation (2.1)."""
        return _octets(self)

    octets = OldMember("encoded")

    @classmethod
    def from_octets(cls, data: bytes) -> BoundHeader:
        """Parse a header, which must be canonical: it is written again and compared. Raises ``ValueRefused``."""
        return _from_octets(data)

    @property
    def message_count(self) -> int:
        """Return how many messages the signature covers, secret and blind included."""
        return ATTRIBUTES_SLOT + self.schema.message_count

    def hashed_slot(self, name: str) -> int:
        """Return the slot of the attribute's bytes. Raises ``KeyError``."""
        return ATTRIBUTES_SLOT + self.schema.hashed_slot(name)

    def numeric_slot(self, name: str) -> int:
        """Return the slot of the attribute's number. Raises ``KeyError``."""
        return ATTRIBUTES_SLOT + self.schema.numeric_slot(name)

    def known_messages(self, values: Mapping[str, JsonValue], particulars: Particulars) -> tuple[Message, ...]:
        """Return the messages from slot 2 on, which the issuer knows. Raises ``ValueRefused``."""
        if (particulars.handle == NO_HANDLE) != (self.status is None):
            raise ValueRefused("a credential has a handle exactly if it has a status list")
        days = (particulars.first_day, particulars.last_day, particulars.handle)
        return (particulars.meta(self.status), *days, *self.schema.messages(values))


class Particulars(Struct, frozen=True):
    """The particulars of one credential: id, holder's DID, validity from ``valid_from`` until just before ``valid_until``, both at
    00:00:00Z, and its handle, 0 without a status list. Raises ``ValueRefused``."""

    id: str
    subject: str
    valid_from: datetime
    valid_until: datetime | None
    handle: int

    def __post_init__(self) -> None:
        if not all(1 <= len(text) <= MAX_TEXT and text.isprintable() for text in (self.id, self.subject)):
            raise ValueRefused(f"id and subject are 1 to {MAX_TEXT} printable characters")
        if type(self.handle) is not int or not NO_HANDLE <= self.handle < LAST_END:
            raise ValueRefused("a handle lies between 0 and 2^32 - 1")
        first = day_of(self.valid_from)
        if not 0 <= first < NO_LAST_DAY:
            raise ValueRefused("a credential is valid from a day between 1970-01-01 and 2149-06-05")
        last = NO_LAST_DAY if self.valid_until is None else day_of(self.valid_until) - 1
        if not first <= last or (self.valid_until is not None and last >= NO_LAST_DAY):
            raise ValueRefused("a credential is valid for a day at least, and until 2149-06-05 at most")

    @property
    def first_day(self) -> int:
        """Return the first valid day, in days since 1970-01-01. 0: no beginning."""
        return day_of(self.valid_from)

    @property
    def last_day(self) -> int:
        """Return the last valid day, in days since 1970-01-01. 65,535: no end."""
        return NO_LAST_DAY if self.valid_until is None else day_of(self.valid_until) - 1

    def meta(self, status: StatusListReference | None) -> bytes:
        """Return the message of slot 2: everything that the other slots do not contain, as one canonical text."""
        entry: dict[str, JsonValue] | None = None if status is None else {**status.json, "handle": self.handle}
        return jcs.canonicalize(
            {
                "id": self.id,
                "status": entry,
                "subject": self.subject,
                "validFrom": printed(self.valid_from),
                "validUntil": None if self.valid_until is None else printed(self.valid_until),
            }
        )


def check_bound_signature(
    public_key: bytes,
    signature: bytes,
    header: BoundHeader,
    values: Mapping[str, JsonValue],
    particulars: Particulars,
    commitment: bytes,
) -> None:
    """Verify that this key (96 bytes) signed exactly this header, these values and particulars for the holder of the commitment K
    (48 bytes). Raises ``InvalidCredential``."""
    # The curve backends are slow to load, and most processes of the command line never need them.
    from identity_bbs.blind import verify_blind
    from identity_bbs.bls12381 import select
    from identity_bbs.encoding import mixed_messages_to_scalars, octets_to_signature
    from identity_bbs.suite import BbsSignatureInvalid, ciphersuite

    suite = ciphersuite(select())
    try:
        known = mixed_messages_to_scalars(header.known_messages(values, particulars))
        verify_blind(suite, public_key, header.encoded, known, commitment, octets_to_signature(suite, signature))
    except (BbsSignatureInvalid, ValueError):
        raise InvalidCredential(details={"reason": "the signature is not the issuer's on these values"}) from None


def day_of(moment: datetime) -> int:
    """Return the days since 1970-01-01 of an instant at 00:00:00Z. Raises ``ValueRefused`` for any other."""
    if moment.tzinfo is None:
        raise ValueRefused("a time has a zone")
    days, rest = divmod(moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC), _ONE_DAY)
    if rest:
        raise ValueRefused("validity begins and ends at 00:00:00Z")
    return days


_ONE_DAY: Final = datetime(1970, 1, 2, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)


def midnight(moment: datetime) -> datetime:
    """Return 00:00:00Z of the moment's day."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def controller(method: str) -> str:
    """Return the DID of a verification method's DID URL. Raises ``ValueRefused``."""
    found = _METHOD.fullmatch(method) if len(method) <= MAX_TEXT else None
    if found is None:
        raise ValueRefused("a verification method is a DID URL with a fragment")
    return found[1]


@lru_cache(maxsize=256)
def _octets(header: BoundHeader) -> bytes:
    data = BOUND_HEADER_TAG + jcs.canonicalize(
        {
            "attributes": attribute_members(header.schema, ATTRIBUTES_SLOT),
            "digest": base64url_encode(header.digest),
            "holder": header.keeper.value,
            "issuer": header.issuer,
            "method": header.method,
            "schema": header.schema.id,
            "status": None if header.status is None else header.status.json,
        }
    )
    if len(data) > MAX_HEADER_OCTETS:
        raise ValueRefused(f"the header is longer than {MAX_HEADER_OCTETS} bytes")
    return data


@lru_cache(maxsize=256)
def _from_octets(data: bytes) -> BoundHeader:
    if len(data) > MAX_HEADER_OCTETS or not data.startswith(BOUND_HEADER_TAG):
        raise ValueRefused("not the header of a credential of suite 2")
    try:
        value: dict[str, Any] = strict_json.loads(data[len(BOUND_HEADER_TAG) :])
        status = value["status"]
        header = BoundHeader(
            read_schema(value),
            value["method"],
            None if status is None else StatusListReference(status["list"], status["period"]),
            SecretKeeper(value["holder"]),
            base64url_decode(value["digest"]),
        )
        canonical = header.encoded
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueRefused("not the header of a credential of suite 2") from None
    if canonical != data:
        raise ValueRefused("the header is not in its canonical form")
    return header
