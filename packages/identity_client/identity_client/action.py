"""The grammar of actions, which IBCTs name, and of grants, which delegations give (also documented in ``createDelegation``).

::

    action = "zkp.prove." attribute "." type [ "." pin ] | "zkp.credential" [ "." pin ] | "zkp.pseudonym" [ "." pin ]
    grant  = the same, with "*" allowed as the whole attribute or the whole type
    pin    = decimal without leading zeros, 0 .. 10^19 - 1 | "h" 22 base64url characters
    ibct   = action *63( " " action ), one for each of several predicates, in their order

An attribute is written in ``A-Za-z0-9_-/``, every other byte of its UTF-8 as ``%XX`` in upper case: one name, one form. A
pin fixes the value: a non-negative integer is its own pin, everything else the first 16 bytes of SHA-256 of its JCS. Matching
is by whole segments, never by prefix. Left out on purpose: negation, ranges and paths.

``*`` as a type stands for the six types of the specification. What came later is granted by its name alone, so that what a holder once
allowed never grows: ``neq``; ``same``, that the attribute is the same as others, pinned to the number of their class in the request;
``zkp.credential``, that a credential is shown together with others, pinned to its id; and ``zkp.pseudonym``, pinned to the verifier's
context.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from enum import StrEnum
from functools import lru_cache
from typing import Final, NoReturn

from msgspec import Struct

from identity_codec import jcs, multibase
from identity_codec.deprecation import OldName
from identity_codec.strict_json import JsonValue, exact, is_assigned

MAX_SET_SIZE: Final = 4096
"""Elements of one set, and of all sets of a statement together."""

NOT_EQUAL: Final = "neq"
"""A predicate of suite 2 alone (PROTOCOL-2.md §4.1): the attribute has a value, and another one."""


class PredicateType(StrEnum):
    """The six types of ``ZKPredicate``."""

    GTE = "gte"
    GT = "gt"
    LTE = "lte"
    LT = "lt"
    EQ = "eq"
    SET_MEMBER = "set_member"

    @property
    def takes_array(self) -> bool:
        """Return whether the value is an array of operands, not one operand."""
        return self is PredicateType.SET_MEMBER

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise ValueError(f"the type is not one of {', '.join(cls)}")


PREDICATE_NAMES: Final = (*(kind.value for kind in PredicateType), NOT_EQUAL)
"""The types of predicates, in the order in which schemas list them."""

MAX_TEXT: Final = 1024
MAX_ACTIONS: Final = 64
ANY: Final = "*"
SAME: Final = "same"
CREDENTIAL: Final = "credential"
PSEUDONYM: Final = "pseudonym"
_PREFIX: Final = "zkp.prove."
_ATTRIBUTE_TYPES: Final = (*PREDICATE_NAMES, SAME)
_WHOLE: Final = (CREDENTIAL, PSEUDONYM)
"""Actions that are about no attribute."""
_SEGMENT: Final = re.compile(r"(?:[A-Za-z0-9_/-]|%[0-9A-F]{2})+", re.ASCII)
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-/")
_LITERAL: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
# 16 bytes are 21 characters and two bits: the last character has four forms.
_DIGEST: Final = re.compile(r"h[A-Za-z0-9_-]{21}[AQgw]", re.ASCII)
_DIGEST_OCTETS: Final = 16
_SAFE: Final = (1 << 53) - 1
_ANY_TYPE: Final = frozenset(kind.value for kind in PredicateType)


class Action(Struct, frozen=True):
    """The request of one IBCT. ``attribute`` is the name itself, decoded; empty for a credential and a pseudonym;
    ``pin`` None leaves the value to the agent."""

    attribute: str
    type: str
    pin: str | None

    @classmethod
    def parse(cls, text: str) -> Action:
        """Raise ``ValueError`` with a reason that may be shown."""
        attribute, kind, pin = _segments(text)
        if attribute is None or kind is None:
            raise ValueError("an action names one attribute and one type, without wildcards")
        return cls(attribute, kind, pin)

    @classmethod
    def parse_all(cls, text: str) -> tuple[Action, ...]:
        """Return the actions of an IBCT: one for each predicate, in their order, with a space between. Raises ``ValueError``."""
        if text.count(" ") >= MAX_ACTIONS:
            raise ValueError(f"an IBCT names at most {MAX_ACTIONS} actions")
        return tuple(map(cls.parse, text.split(" ")))

    def __str__(self) -> str:
        return _text(self.attribute, self.type, self.pin)

    def check_names(self, attribute: str, type_: str, value: JsonValue) -> None:
        """Raise ``ValueError`` unless the action is exactly this predicate, whose value is as the request has it."""
        if (self.attribute, self.type) != (attribute, type_):
            raise ValueError("the action names another predicate")
        if not _admits(self.pin, value):
            raise ValueError("the action is pinned to another value")


class Grant(Struct, frozen=True):
    """The permission of a delegation. None stands for ``*`` in ``attribute`` and ``type``, and for any value in
    ``pin``."""

    attribute: str | None
    type: str | None
    pin: str | None

    @classmethod
    def parse(cls, text: str) -> Grant:
        """Raise ``ValueError`` with a reason that may be shown."""
        return cls(*_segments(text))

    def __str__(self) -> str:
        return _text(self.attribute, self.type, self.pin)

    def names(self, action: Action) -> bool:
        """Return whether the grant is about the action's attribute and type, whatever the value."""
        return self.attribute in (None, action.attribute) and _includes(self.type, action.type)

    def covers(self, action: Action, value: JsonValue) -> bool:
        """Return whether the grant allows the action for this value."""
        return self.names(action) and _admits(self.pin, value)

    def is_within(self, other: Grant) -> bool:
        """Return whether everything that this grant covers is covered by ``other`` too."""
        return (
            other.attribute in (None, self.attribute)
            and _includes(other.type, self.type)
            and other.pin in (None, self.pin)
        )

    within = OldName("Grant.within", is_within)


def _includes(granted: str | None, type_: str | None) -> bool:
    """Return whether what stands for a type in a grant stands for this one too."""
    return granted == type_ or (granted is None and type_ in _ANY_TYPE)


def pin_of(value: JsonValue) -> str:
    """Return the pin of a predicate's value as it is sent. Each value has one pin, each decimal pin one value.

    A string is pinned in NFC; a set as its elements in the order of their JCS, each once. An integer past 2^53 - 1 travels as
    a string and is pinned as the integer; a number with a fraction is pinned as its shortest decimal text (``exact``). Raises
    ``ValueError`` for what is not a value of a predicate.
    """
    value = exact(value)
    if isinstance(value, list):
        if not 1 <= len(value) <= MAX_SET_SIZE:
            raise ValueError(f"a set is an array of 1 to {MAX_SET_SIZE} values")
        elements = set(jcs.canonicalize_each(map(_canonical, value)))
        return _hashed(b"[" + b",".join(sorted(elements)) + b"]")
    data = jcs.canonicalize(_canonical(value))
    literal = value if isinstance(value, str) else data.decode()
    # Only the one JSON form of an integer is its literal: the text "18" is not the number 18.
    return literal if literal_of(literal) == value else _hashed(data)


def literal_of(pin: str) -> JsonValue:
    """Return the value of a decimal pin, as JSON has it. None for a hashed pin, which does not reveal its value."""
    if _LITERAL.fullmatch(pin) is None:
        return None
    return int(pin) if int(pin) <= _SAFE else pin


def _admits(pin: str | None, value: JsonValue) -> bool:
    if pin is None:
        return True
    try:
        return pin_of(value) == pin
    except ValueError:
        return False


def _canonical(value: JsonValue) -> str | int:
    value = exact(value)
    if isinstance(value, str):
        if not is_assigned(value):
            raise ValueError("a text has a character that Unicode 14.0 does not assign")
        return unicodedata.normalize("NFC", value)
    if isinstance(value, int):
        return value
    raise ValueError("a value is a string, a number, a boolean, or an array of these")


def _hashed(data: bytes) -> str:
    return "h" + multibase.base64url_encode(hashlib.sha256(data).digest()[:_DIGEST_OCTETS])


# The few grants of a delegation are read at each of its uses.
@lru_cache(maxsize=1024)
def _segments(text: str) -> tuple[str | None, str | None, str | None]:
    for kind in _WHOLE:
        if text == f"zkp.{kind}":
            return "", kind, None
        if text.startswith(f"zkp.{kind}."):
            return "", kind, _read_pin(text.removeprefix(f"zkp.{kind}."))
    attribute, *rest = text.removeprefix(_PREFIX).split(".")
    if not text.startswith(_PREFIX) or len(text) > MAX_TEXT or not 1 <= len(rest) <= 2:
        raise ValueError(f"it is not {_PREFIX}<attribute>.<type>[.<pin>] of at most {MAX_TEXT} characters")
    return _read_attribute(attribute), _read_type(rest[0]), _read_pin(rest[1]) if len(rest) > 1 else None


def _read_attribute(segment: str) -> str | None:
    if segment == ANY:
        return None
    if _SEGMENT.fullmatch(segment) is None:
        raise ValueError("the attribute is written in A-Za-z0-9_-/ and %XX")
    data = re.sub(rb"%(..)", lambda match: bytes.fromhex(match[1].decode()), segment.encode())
    try:
        name = data.decode()
    except UnicodeDecodeError:
        raise ValueError("the attribute is not UTF-8") from None
    if _written(name) != segment:
        raise ValueError("the attribute escapes what stands for itself")
    return name


def _read_type(segment: str) -> str | None:
    if segment == ANY:
        return None
    return check_type(segment)


def check_type(name: str) -> str:
    """``name`` where it is the type of an action about an attribute. Raises ``ValueError``."""
    if name not in _ATTRIBUTE_TYPES:
        raise ValueError(f"the type is not one of {', '.join(_ATTRIBUTE_TYPES)}")
    return name


def _read_pin(segment: str) -> str:
    if _LITERAL.fullmatch(segment) is None and _DIGEST.fullmatch(segment) is None:
        raise ValueError("the pin is neither a decimal without leading zeros nor h and 22 base64url characters")
    return segment


def _text(attribute: str | None, kind: str | None, pin: str | None) -> str:
    if kind in _WHOLE:
        return ".".join(["zkp", kind, *([] if pin is None else [pin])])
    segments = [ANY if attribute is None else _written(attribute), ANY if kind is None else kind]
    return _PREFIX + ".".join(segments if pin is None else [*segments, pin])


def _written(name: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())
