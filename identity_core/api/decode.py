"""Strict parsers of the query and the body of a request into the types of ``identity_core.wire``.

A repeated or unknown parameter name, a number that is not in canonical form and a broken escape are 400
``INVALID_REQUEST`` (openapi/DECISIONS.md §1.3). Header parameters are parsed by the code that reads them.
``date-time`` stays text; the domain parses it. Arrays, objects and ``style`` are not supported, because no operation
uses them.

A body's media type is checked before it is read; strict JSON and the type are checked after authentication. The
document's schema decides whether a body is valid. It is applied when the type refuses a body, and before the type if
that cannot express the whole schema. The cursors of lists are made and read here, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

from jsonschema_rs import Draft202012Validator

from identity_codec import multibase
from identity_codec.strict_json import JsonRefused
from identity_codec.structs import ValidationError, convert, python_name
from identity_codec.times import micros, moment
from identity_core.api.contract import percent_decode
from identity_core.api.request import NOTHING, Request
from identity_core.api.schemas import Schemas, check
from identity_core.api.transport import Receive, read_body
from identity_core.errors import InvalidRequest, UnsupportedMediaType
from identity_core.ports.repositories import RowPosition

MAX_SAFE_INTEGER: Final = 2**53 - 1
MAX_CONTENT_TYPE: Final = 256

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,15}", re.ASCII)
# The spellings of generated clients: Python writes ``True``, PHP ``1``.
_BOOLEANS: Final = {"true": True, "false": False, "True": True, "False": False, "1": True, "0": False}
_CONSTRAINTS: Final = ("minLength", "maxLength", "pattern", "enum", "minimum", "maximum", "multipleOf")
_EXPECTED: Final = {"integer": "an integer in canonical form, within 2^53", "boolean": "true or false"}
_PARAMETER = re.compile(r'\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:([!#$%&\'*+.^_`|~0-9A-Za-z-]+)|"([^"\\]*)")\s*')

R = TypeVar("R")

Parse = Callable[[str], Any]


def parser(name: str, schema: Mapping[str, Any], schemas: Schemas, kind: str) -> Parse:
    """Return the function from a parameter's text to its checked value: int, bool or str. It raises
    ``InvalidRequest``."""
    reads: dict[str, Callable[[str], Any]] = {"integer": _integer, "boolean": _BOOLEANS.get}
    read = reads.get(kind)
    constrained = any(word in schema for word in _CONSTRAINTS)
    validator = schemas.compile(schema, formats=False) if constrained else None

    def parse(text: str) -> Any:
        value: Any = text
        if read is not None:
            value = read(text)
            if value is None:
                raise InvalidRequest(f"{name} is not {_EXPECTED[kind]}.", details={"parameter": name})
        if validator is not None and not validator.is_valid(value):
            message = next(iter(validator.iter_errors(value))).message
            raise InvalidRequest(f"{name}: {message}.", details={"parameter": name})
        return value

    return parse


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else None


class Query:
    """The query parameters of one operation. ``make`` takes their values by their Python names."""

    def __init__(
        self,
        declared: Sequence[Mapping[str, Any]],
        schemas: Schemas,
        resolve: Callable[[Any], Any],
        make: Callable[..., Any] | None,
    ) -> None:
        self._parsers: dict[str, tuple[str, Parse]] = {}
        for parameter in declared:
            name, schema = parameter["name"], resolve(parameter.get("schema", {}))
            self._parsers[name] = (python_name(name), parser(name, schema, schemas, schema.get("type", "string")))
        self._required = [parameter["name"] for parameter in declared if parameter.get("required")]
        self._make = make or (lambda: NOTHING)
        self._empty = None if self._required else self._make()

    def parse(self, data: bytes) -> Any:
        """Return the values as the result of ``make``. Raises ``InvalidRequest``: for a malformed query."""
        if not data and not self._required:
            return self._empty
        values: dict[str, Any] = {}
        for pair in data.split(b"&") if data else ():
            name_octets, _, value_octets = pair.partition(b"=")
            try:
                name = percent_decode(name_octets)
                # A form-encoded space; a plus sign is %2B.
                text = percent_decode(value_octets.replace(b"+", b" "))
            except ValueError:
                raise InvalidRequest("The query is not percent-encoded UTF-8 without control characters.") from None
            if name not in self._parsers:
                raise InvalidRequest(
                    "The query holds an unknown parameter.",
                    details={"parameter": name[:64], "supported": [*sorted(self._parsers)]},
                )
            attribute, parse = self._parsers[name]
            if attribute in values:
                raise InvalidRequest("A query parameter is repeated.", details={"parameter": name})
            values[attribute] = parse(text)
        for name in self._required:
            if self._parsers[name][0] not in values:
                raise InvalidRequest(f"The query parameter {name} is missing.", details={"parameter": name})
        return self._make(**values)


class RequestBody:
    """The body that one operation accepts: media types, maximum in bytes, schema and type."""

    def __init__(self, declared: Mapping[str, Any], schemas: Schemas, cap: int) -> None:
        self._media = tuple(media.lower() for media in declared["content"])
        self._required = bool(declared.get("required", False))
        (content,) = declared["content"].values()
        self._schema, self._schemas = content["schema"], schemas
        self._type = schemas.types.build_type(self._schema)
        self._type_says_all = schemas.types.say_all(self._schema)
        self._cap = cap

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return self._schemas.compile(self._schema)

    async def read(self, request: Request, receive: Receive) -> bytes:
        """Return the bytes. Raises ``UnsupportedMediaType``, and the errors of ``read_body``."""
        content_type = request.header("content-type")
        if content_type not in self._media and (content_type is not None or has_body(request)):
            self._check_media(content_type or "")
        if request.header("content-encoding") not in (None, "identity"):
            raise UnsupportedMediaType("Compressed bodies are not read.")
        return await read_body(request, receive, self._cap)

    def parse(self, request: Request) -> Any:
        """Return the body as its type; None if an optional body is missing. Raises ``InvalidRequest``: for an invalid
        body."""
        if not request.body_octets:
            if self._required:
                raise InvalidRequest("The operation needs a body.")
            return None
        try:
            value = request.json()
        except JsonRefused as error:
            raise InvalidRequest(f"The body was refused: {error.reason}.") from None
        return self.typed(value)

    def typed(self, value: Any) -> Any:
        """Return a JSON value as the type. Raises ``InvalidRequest``: with the violations."""
        if not self._type_says_all:
            check(self._validator, value)
        try:
            return convert(value, self._type)
        except ValidationError:
            check(self._validator, value)
        # JSON Schema accepts 1.0 as an integer, so this parser must, too.
        try:
            return convert(value, self._type, strict=False)
        except ValidationError:
            raise InvalidRequest("An integer beyond 2^53 is written in digits, without an exponent.") from None

    def _check_media(self, content_type: str) -> None:
        media, *parameters = content_type.split(";") if len(content_type) <= MAX_CONTENT_TYPE else [""]
        if media.strip().lower() not in self._media:
            raise UnsupportedMediaType(details={"supported": list(self._media)})
        # An empty parameter counts as absent (RFC 9110 §5.6.6).
        for text in filter(str.strip, parameters):
            found = _PARAMETER.fullmatch(text)
            if found is None:
                raise UnsupportedMediaType("Content-Type has a broken parameter.")
            name, value = found[1].lower(), found[2] or found[3] or ""
            if name == "charset" and value.lower() not in ("utf-8", "utf8"):
                raise UnsupportedMediaType("JSON is read as UTF-8 only.")


def has_body(request: Request) -> bool:
    """Return whether the header fields announce a body (RFC 9112 §6.3)."""
    return request.header("content-length") not in (None, "0") or request.header("transfer-encoding") is not None


def refuse_body(request: Request) -> None:
    """Raise ``InvalidRequest`` when a body is announced to an operation without one."""
    if has_body(request):
        raise InvalidRequest("The operation takes no body.")


ROW_ID: Final = "[0-9a-f]{32}"
"""Pattern of the position in a list of rows: an id that ascends with time."""


URI: Final = "[A-Za-z][A-Za-z0-9+.-]*:[!-~]+"
"""Pattern of the position in a list of credentials, schemas or DIDs: a URI."""


def cursor(last: str | RowPosition, of: str = "") -> str:
    """Return the base64url text of the position at which a page of the list ``of`` ended."""
    text = last if isinstance(last, str) else f"{micros(last.created_at)} {last.id}"
    return multibase.base64url_encode(f"{of}{text}".encode())


def row_position(cursor: str | None, id_pattern: str, of: str) -> RowPosition | None:
    """Return the position at which a page of the rows ``of`` ended, None for the first page. Raises ``InvalidRequest``: as
    ``position``."""
    text = position(cursor, f"[0-9]{{1,17}} {id_pattern}", of)
    if text is None:
        return None
    created_at, _, row_id = text.partition(" ")
    return RowPosition(moment(int(created_at)), row_id)


def position(cursor: str | None, pattern: str, of: str = "") -> str | None:
    """Return the text of a cursor of the list ``of``, None for the first page. Raises ``InvalidRequest``: when it is of another form."""
    if cursor is None:
        return None
    try:
        text = multibase.base64url_decode(cursor).decode("ascii")
    except ValueError:
        text = None
    if text is None or not text.startswith(of) or re.fullmatch(pattern, text[len(of) :], re.ASCII) is None:
        raise InvalidRequest("The cursor is not one of ours.", details={"parameter": "cursor", "reason": "cursor"})
    return text[len(of) :]


def page_of(
    rows: Sequence[R], limit: int, place: Callable[[R], str | RowPosition], of: str = ""
) -> tuple[Sequence[R], str | None]:
    """Return a page of the list ``of``, and the cursor of the next page, made of the last ``place``. ``rows`` has at
    most ``limit`` + 1 rows."""
    page = rows[:limit]
    return page, cursor(place(page[-1]), of) if len(rows) > limit else None
