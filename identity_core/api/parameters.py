"""Query and path parameters, strictly.

A repeated or unknown name, a number that is not in canonical form, a broken escape is 400 ``INVALID_REQUEST``
(contract.md §1). Header parameters have no place here: each belongs to whoever reads it.

Values leave here typed: int, bool, str. ``date-time`` stays text, its parser belongs to the domain. Arrays, objects and
``style`` are left out: no operation uses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from identity_core.api.request import NOTHING
from identity_core.api.routes import percent_decode
from identity_core.api.schemas import Schemas
from identity_core.errors import InvalidRequest

MAX_SAFE_INTEGER: Final = 2**53 - 1

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,15}", re.ASCII)
_BOOLEANS: Final = {"true": True, "false": False}
_CONSTRAINTS: Final = ("minLength", "maxLength", "pattern", "enum", "minimum", "maximum", "multipleOf")

Parse = Callable[[str], Any]


def parser(name: str, schema: Mapping[str, Any], schemas: Schemas, kind: str) -> Parse:
    """The function from a parameter's text to its checked value; raises ``InvalidRequest``."""
    convert = {"integer": _integer, "boolean": _boolean}.get(kind)
    constrained = any(word in schema for word in _CONSTRAINTS)
    validator = schemas.compile(schema, formats=False) if constrained else None

    def parse(text: str) -> Any:
        value: Any = text
        if convert is not None:
            value = convert(text)
            if value is None:
                raise InvalidRequest(f"{name} is not {_EXPECTED[kind]}.", details={"parameter": name})
        if validator is not None and not validator.is_valid(value):
            message = next(iter(validator.iter_errors(value))).message
            raise InvalidRequest(f"{name}: {message}.", details={"parameter": name})
        return value

    return parse


_EXPECTED: Final = {"integer": "an integer in canonical form, within 2^53", "boolean": "true or false"}


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else None


def _boolean(text: str) -> bool | None:
    return _BOOLEANS.get(text)


class Query:
    """The query parameters of one operation."""

    def __init__(self, declared: Sequence[Mapping[str, Any]], schemas: Schemas, resolve: Callable[[Any], Any]) -> None:
        self._parsers: dict[str, Parse] = {}
        self._defaults: dict[str, Any] = {}
        self._required: list[str] = []
        for parameter in declared:
            name = parameter["name"]
            schema = resolve(parameter.get("schema", {}))
            self._parsers[name] = parser(name, schema, schemas, schema.get("type", "string"))
            if "default" in schema:
                self._defaults[name] = schema["default"]
            if parameter.get("required"):
                self._required.append(name)

    def parse(self, octets: bytes) -> Mapping[str, Any]:
        """Name → value. Raises ``InvalidRequest``."""
        if not octets and not self._required and not self._defaults:
            return NOTHING
        values: dict[str, Any] = {}
        for pair in octets.split(b"&") if octets else ():
            name_octets, _, value_octets = pair.partition(b"=")
            try:
                name = percent_decode(name_octets)
                # A form-encoded space; a plus sign is %2B.
                text = percent_decode(value_octets.replace(b"+", b" "))
            except ValueError:
                raise InvalidRequest("The query is not percent-encoded UTF-8 without control characters.") from None
            parse = self._parsers.get(name)
            if parse is None:
                raise InvalidRequest(
                    "The query holds an unknown parameter.",
                    details={"parameter": name[:64], "supported": [*sorted(self._parsers)]},
                )
            if name in values:
                raise InvalidRequest("A query parameter is repeated.", details={"parameter": name})
            values[name] = parse(text)
        for name in self._required:
            if name not in values:
                raise InvalidRequest(f"The query parameter {name} is missing.", details={"parameter": name})
        return {**self._defaults, **values} if self._defaults else values
