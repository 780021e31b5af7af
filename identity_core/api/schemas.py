"""Compilation of the document's schemas (OpenAPI 3.0.3) to validators (JSON Schema 2020-12, formats checked).

``nullable`` becomes a type array, and the boolean ``exclusiveMinimum`` of draft 4 a number. Keywords that
``x-checked-later`` names are left out. The other keywords that the document uses mean the same in both. Messages
never contain the invalid value: it may be a key.

``Promises`` checks every answer of a test or staging run. An answer that the document does not have becomes 500 and a
line in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Final

import orjson
from jsonschema_rs import Draft202012Validator, ValidationError

from identity_codec.strict_json import JsonValue
from identity_codec.structs import Types, checked_now, encode
from identity_core import wire
from identity_core.api.contract import dereference
from identity_core.api.errors import error_answer
from identity_core.api.request import Answer, Operation, Parts, Request
from identity_core.api.transport import Receive, Run, Scope
from identity_core.errors import IdentityError, InvalidRequest

MAX_VIOLATIONS: Final = 20
# Limits for the explanation of an invalid body: up to so many values all violations, up to so many the first one.
MAX_LISTED: Final = 128
MAX_EXPLAINED: Final = 1_024
_TOO_MANY: Final[JsonValue] = {
    "path": "",
    "message": f"somewhere; a body with more than {MAX_EXPLAINED} values is not searched for the place",
}
MAX_MESSAGE: Final = 200
NAMED: Final = "#/components/schemas/"

Schema = dict[str, Any]


class Schemas:
    """Compiler for schemas of one document. ``types``: the types of valid values."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._named: Schema = to_2020_12(document.get("components", {}).get("schemas", {}))

    @cached_property
    def types(self) -> Types:
        """Return the types of ``identity_core.wire`` for the service's own document. They include those of each
        imported extension."""
        own = self._document.get("components", {}).get("schemas", {}).items() <= wire.TYPES.schemas.items()
        return wire.TYPES if own else Types(self._document)

    def compile(self, schema: Mapping[str, Any], *, formats: bool = True) -> Draft202012Validator:
        """Return a validator of ``schema``, whose references point into the document."""
        converted = to_2020_12(schema)
        # Only the schemas that it needs: the validator would read all of the document's again for every parameter,
        # 0.2 s of a start.
        whole: Schema = {**converted, "components": {"schemas": self._reached(converted)}}
        return Draft202012Validator(whole, validate_formats=formats, mask="the value")

    def _reached(self, schema: Schema) -> Schema:
        """Return the named schemas that ``schema`` refers to, directly or indirectly."""
        reached: Schema = {}
        waiting = [*references(schema)]
        while waiting:
            name = waiting.pop()
            # A name that the document does not have is left to the validator, whose construction fails.
            if name in self._named and name not in reached:
                reached[name] = self._named[name]
                waiting += references(reached[name])
        return reached


def references(schema: Any) -> Iterator[str]:
    """Yield the names of the document's schemas that ``schema`` refers to directly."""
    if isinstance(schema, list):
        for item in schema:
            yield from references(item)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            # The rest of the reference points into that schema.
            yield reference.removeprefix(NAMED).partition("/")[0]
        for value in schema.values():
            yield from references(value)


def to_2020_12(schema: Any) -> Any:
    """Return ``schema`` (any part of it) in JSON Schema 2020-12."""
    if isinstance(schema, list):
        return [to_2020_12(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {
        name: value if name in ("enum", "example", "default") else to_2020_12(value)
        for name, value in checked_now(schema).items()
    }
    if converted.get("nullable") is True and isinstance(converted.get("type"), str):
        converted["type"] = [converted["type"], "null"]
        if "enum" in converted and None not in converted["enum"]:
            converted["enum"] = [*converted["enum"], None]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(converted.get(exclusive), bool):
            strict = converted.pop(exclusive)
            if strict and bound in converted:
                converted[exclusive] = converted.pop(bound)
    return converted


def check(validator: Draft202012Validator, value: object) -> None:
    """Raise ``InvalidRequest`` with the violations in ``details.errors``.

    ``path`` is a JSON pointer into the body, ``message`` the expectation. Checking a value costs next to nothing.
    Explaining violations costs microseconds for each value and more for each violation. So a small body gets every
    violation, at most ``MAX_VIOLATIONS``, a larger one the first. A body with more than ``MAX_EXPLAINED`` values gets
    none.
    """
    if validator.is_valid(value):
        return
    errors: list[JsonValue] = [
        {"path": _pointer(error.instance_path), "message": error.message[:MAX_MESSAGE]}
        for error in islice(_violations(validator, value), MAX_VIOLATIONS)
    ]
    raise InvalidRequest("The body does not fit the operation's schema.", details={"errors": errors or [_TOO_MANY]})


def _violations(validator: Draft202012Validator, value: object) -> Iterator[ValidationError]:
    values = _count(value)
    if values <= MAX_LISTED:
        yield from validator.iter_errors(value)
    elif values <= MAX_EXPLAINED:
        try:
            validator.validate(value)
        except ValidationError as error:
            yield error


def _count(value: object) -> int:
    """Return the number of values, including the outermost and those of members; beyond ``MAX_EXPLAINED`` the result
    may be too low."""
    count, waiting = 1, [value]
    while waiting and count <= MAX_EXPLAINED:
        item = waiting.pop()
        if isinstance(item, dict | list):
            count += len(item)
            waiting += item.values() if isinstance(item, dict) else item
    return count


def _pointer(path: list[str | int]) -> str:
    """Return a JSON pointer (RFC 6901), cut to a length that fits an error body."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)[:MAX_MESSAGE]


class PromiseBroken(Exception):
    """An answer of an operation is not in its document."""


class Promises:
    """The responses of one operation: status → media type → validator (None if it is not JSON), and its codes."""

    def __init__(
        self, document: Mapping[str, Any], operation: Operation, declared: Mapping[str, Any], schemas: Schemas
    ) -> None:
        self._operation = operation
        self._operation_id = operation.operation_id
        self._media: dict[int, dict[str, Draft202012Validator | None]] = {}
        self._codes: dict[int, set[str]] = {}
        for status, reference in declared["responses"].items():
            response = dereference(document, reference)
            self._codes[int(status)] = set(response.get("x-error-codes", ()))
            self._media[int(status)] = {
                media: schemas.compile(content["schema"]) if media.endswith("json") and "schema" in content else None
                for media, content in response.get("content", {}).items()
            }

    def check_answer(self, answer: Answer) -> None:
        """Raise ``PromiseBroken`` if the document does not have the answer."""
        promised = self._media.get(answer.status)
        if promised is None:
            raise PromiseBroken(f"{self._operation_id}: {answer.status} is not in the document")
        if answer.body in (None, b"") or (not promised and answer.status == 304):
            return
        media = answer.media_type.partition(";")[0]
        if media not in promised:
            raise PromiseBroken(f"{self._operation_id}: {answer.status} as {media} is not in the document")
        validator = promised[media]
        if validator is None:
            return
        if isinstance(answer.body, Parts):
            raise PromiseBroken(f"{self._operation_id}: a stream of JSON cannot be checked")
        value = orjson.loads(answer.body if isinstance(answer.body, bytes) else encode(answer.body))
        for error in validator.iter_errors(value):
            place = "/".join(map(str, error.instance_path))
            raise PromiseBroken(f"{self._operation_id}: {answer.status} /{place}: {error.message}")

    def check_error(self, error: IdentityError) -> None:
        """Raise ``PromiseBroken`` if the document does not have the error."""
        status = error.status
        if error.code not in self._codes.get(status, ()):
            raise PromiseBroken(f"{self._operation_id}: {status} {error.code} is not in the document") from error
        self.check_answer(error_answer(error, "-", self._operation))


def verified(run: Run, promises: Promises) -> Run:
    """Return ``run``, with every outcome checked."""

    async def checked(request: Request, scope: Scope, receive: Receive) -> Answer:
        try:
            answer = await run(request, scope, receive)
        except IdentityError as error:
            promises.check_error(error)
            raise
        promises.check_answer(answer)
        return answer

    return checked
