"""Typed attributes of a credential, and the messages and header that its issuer signs (PROTOCOL.md §2).

A schema fixes order, type, scale and domain of the attributes. Each attribute has a *hashed slot* (the bytes of its
value, mapped to a scalar as the BBS draft maps any message). Each ordered one (integer, decimal, date, datetime) also has a
*numeric slot* whose scalar is the value itself, so that it can be compared in zero knowledge. The typed value determines both
slots, and an importer recomputes both. Every attribute of the schema is always present, null included. So two holders of one
schema have the same header and proofs of the same size.

Each value has one canonical JSON form, without conversions. A numeral in a string is an integer only above 2^53 - 1, where JSON numbers
lose digits. A JSON number with a fraction or an exponent has one integer or decimal value (``exact``). Left out on purpose: naive times,
units.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum

from msgspec import Struct, structs

from identity_codec import times
from identity_codec.deprecation import OldMember
from identity_codec.strict_json import MAX_SAFE_INTEGER, JsonRefused, JsonValue, exact, is_assigned, is_composed

OFFSET = 1 << 63
"""A signed value v is signed as the scalar v + 2^63, which lies in [0, 2^64)."""
NULL_SCALAR = 1 << 64
"""The numeric slot of a null. It is outside of every domain, so that an exact range refuses it."""
NULL_OCTETS = b"\x00"
MAX_STRING_OCTETS = 1024
MAX_SCALE = 9
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_DECIMAL = re.compile(r"(-?)(0|[1-9][0-9]{0,18})(?:\.([0-9]{1,9}))?", re.ASCII)
_OUTSIDE_DATETIME = re.compile(r"[tz]|\.[0-9]{7}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()


class ValueRefused(ValueError):
    """Error: a value does not have the type, form or range that the schema requires. The text never quotes the value."""


class AttributeType(StrEnum):
    """The types of zk-predicate credentials; the first four are ordered."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    STRING = "string"

    @property
    def ordered(self) -> bool:
        """Return whether values are ordered, and therefore have a numeric slot."""
        return self not in (AttributeType.BOOLEAN, AttributeType.STRING)


_INT64 = (-OFFSET, OFFSET - 1)
_DAYS = (date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY)
_DAY_MICROSECONDS = 86_400_000_000
_MICROSECONDS = (_DAYS[0] * _DAY_MICROSECONDS, (_DAYS[1] + 1) * _DAY_MICROSECONDS - 1)
DOMAINS: Mapping[AttributeType, tuple[int, int]] = {
    AttributeType.INTEGER: _INT64,
    AttributeType.DECIMAL: _INT64,
    AttributeType.DATE: _DAYS,
    AttributeType.DATETIME: _MICROSECONDS,
}
"""The first and last value of each ordered type, in its own unit: 1, 10^-scale, days and microseconds since 1970-01-01 UTC."""


class TypedValue(Struct, frozen=True):
    """A value in its canonical form. ``number`` is its signed integer, None for types without an order."""

    type: AttributeType
    text: str
    number: int | None
    octets = OldMember("encoded")

    @property
    def json(self) -> JsonValue:
        """Return the canonical JSON form of this value."""
        if self.type is AttributeType.BOOLEAN:
            return self.text == "true"
        if self.type is AttributeType.INTEGER and self.number is not None and abs(self.number) <= MAX_SAFE_INTEGER:
            return self.number
        return self.text

    @property
    def encoded(self) -> bytes:
        """Return the message of the hashed slot. The first byte distinguishes every value from a null."""
        return b"\x01" + self.text.encode()

    @property
    def scalar(self) -> int:
        """Return the message of the numeric slot."""
        if self.number is None:
            raise ValueRefused(f"a {self.type.value} has no numeric slot")
        return self.number + OFFSET

    def __repr__(self) -> str:
        # Attribute values must not reach logs or tracebacks.
        return f"TypedValue({self.type.value}, …)"


class Attribute(Struct, frozen=True):
    """One attribute of a schema. ``low`` and ``high`` restrict the domain of an ordered type, in that type's unit; they default to
    the domain of the type."""

    name: str
    type: AttributeType
    scale: int = 0
    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        most = MAX_SCALE if self.type is AttributeType.DECIMAL else 0
        if type(self.scale) is not int or not 0 <= self.scale <= most:
            raise ValueRefused(f"only a decimal has a scale, and it is 0 to {MAX_SCALE}")
        if not self.type.ordered:
            if self.low is not None or self.high is not None:
                raise ValueRefused(f"a {self.type.value} has no domain to narrow")
            return
        first, last = DOMAINS[self.type]
        low, high = (first if self.low is None else self.low), (last if self.high is None else self.high)
        if not first <= low < high <= last:
            raise ValueRefused("the domain is empty, a single value, or wider than the type")
        structs.force_setattr(self, "low", low)
        structs.force_setattr(self, "high", high)

    @property
    def domain(self) -> tuple[int, int]:
        """Return the first and last permitted number of an ordered attribute."""
        if self.low is None or self.high is None:
            raise ValueRefused(f"a {self.type.value} has no domain")
        return self.low, self.high

    def read(self, value: JsonValue) -> TypedValue:
        """Return the typed value of a JSON value. Raises ``ValueRefused``."""
        try:
            typed = _READERS[self.type](value, self.scale)
        except JsonRefused as error:
            raise ValueRefused(error.reason) from error
        if typed.number is not None and not self.domain[0] <= typed.number <= self.domain[1]:
            raise ValueRefused(f"the {self.type.value} is outside the attribute's domain")
        return typed

    def accept(self, value: JsonValue) -> TypedValue:
        """Read a value for issuance or for a predicate. Raises ``ValueRefused``: also when its text is not of Unicode 14.0."""
        typed = self.read(value)
        if not is_assigned(typed.text):
            raise ValueRefused("the string has a character that Unicode 14.0 does not assign")
        return typed


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= 64 or not name.isprintable() or not is_composed(name):
        raise ValueRefused("an attribute name is 1 to 64 printable characters in NFC")


def _read_integer(value: JsonValue, scale: int) -> TypedValue:
    value = exact(value)
    if isinstance(value, str):
        if _INTEGER.fullmatch(value) is None or abs(int(value)) <= MAX_SAFE_INTEGER:
            raise ValueRefused("an integer up to 2^53 - 1 is a JSON number, a larger one a string in canonical form")
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAX_SAFE_INTEGER:
            raise ValueRefused("an integer past 2^53 - 1 is sent as a string")
        number = value
    else:
        raise ValueRefused("not an integer")
    return TypedValue(AttributeType.INTEGER, str(number), number)


def _read_decimal(value: JsonValue, scale: int) -> TypedValue:
    value = exact(value)
    is_exact = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_SAFE_INTEGER
    text = str(value) if is_exact else value
    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueRefused(
            "a decimal is a number, or a string such as -12.50, without exponent, plus sign or leading zeros"
        )
    sign, whole, fraction = match[1], match[2], match[3] or ""
    if len(fraction) > scale:
        raise ValueRefused(f"the decimal has more than {scale} fraction digits")
    magnitude = int(whole + fraction.ljust(scale, "0"))
    if sign and magnitude == 0:
        raise ValueRefused("minus zero is not a canonical decimal")
    number = -magnitude if sign else magnitude
    return TypedValue(AttributeType.DECIMAL, decimal_text(number, scale), number)


def decimal_text(number: int, scale: int) -> str:
    """Return ``number`` / 10^scale with exactly ``scale`` fraction digits."""
    digits = str(abs(number)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if number < 0 else text


def _read_date(value: JsonValue, scale: int) -> TypedValue:
    try:
        day = times.parse_date(value)
    except ValueError:
        raise ValueRefused("a date is YYYY-MM-DD, and in the calendar") from None
    return TypedValue(AttributeType.DATE, day.isoformat(), day.toordinal() - _EPOCH_DAY)


def _read_datetime(value: JsonValue, scale: int) -> TypedValue:
    if not isinstance(value, str) or _OUTSIDE_DATETIME.search(value):
        raise ValueRefused("a datetime is RFC 3339 with a zone and at most microseconds; leap seconds are refused")
    try:
        moment = times.parse(value)
    except ValueError as error:
        raise ValueRefused(f"a datetime is RFC 3339 with a zone and at most microseconds: {error}") from None
    elapsed = moment - _EPOCH
    number = elapsed.days * _DAY_MICROSECONDS + elapsed.seconds * 1_000_000 + elapsed.microseconds
    return TypedValue(AttributeType.DATETIME, moment.isoformat().replace("+00:00", "Z"), number)


def _read_boolean(value: JsonValue, scale: int) -> TypedValue:
    if not isinstance(value, bool):
        raise ValueRefused("not a boolean")
    return TypedValue(AttributeType.BOOLEAN, "true" if value else "false", None)


def _read_string(value: JsonValue, scale: int) -> TypedValue:
    if not isinstance(value, str):
        raise ValueRefused("not a string")
    if len(value) > MAX_STRING_OCTETS:
        raise ValueRefused(f"a string is at most {MAX_STRING_OCTETS} bytes of UTF-8")
    text = unicodedata.normalize("NFC", value)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ValueRefused("the string is not Unicode text") from None
    if len(data) > MAX_STRING_OCTETS:
        raise ValueRefused(f"a string is at most {MAX_STRING_OCTETS} bytes of UTF-8")
    return TypedValue(AttributeType.STRING, text, None)


_READERS: Mapping[AttributeType, Callable[[JsonValue, int], TypedValue]] = {
    AttributeType.INTEGER: _read_integer,
    AttributeType.DECIMAL: _read_decimal,
    AttributeType.DATE: _read_date,
    AttributeType.DATETIME: _read_datetime,
    AttributeType.BOOLEAN: _read_boolean,
    AttributeType.STRING: _read_string,
}
