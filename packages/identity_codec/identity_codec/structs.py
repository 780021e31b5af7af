"""From the schemas of an OpenAPI 3.0.3 document to types: one ``msgspec.Struct`` a record, one type for any other schema with a name,
and one Struct ``<OperationId>Query`` for the query parameters of an operation.

Members are in snake case and bear the document's name on the wire. A member of a body that may be missing is ``UNSET`` then, which
null is not; a query has no null, so that one of its parameters is None, or the document's default.

Only what the document uses: objects, arrays, scalars, ``enum``, ``nullable``, limits, references. A schema with another keyword is
refused, so that a type never promises less than it seems to.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET as UNSET
from msgspec import Meta, Struct
from msgspec import UnsetType as UnsetType
from msgspec import ValidationError as ValidationError

from identity_codec.deprecation import OldName

NAMED: Final = "#/components/schemas/"
METHODS: Final = ("get", "put", "post", "delete", "patch")
LIMITS: Final = {
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "minProperties": "min_length",
    "maxProperties": "max_length",
    "minimum": "ge",
    "maximum": "le",
}
TEXT: Final = ("minLength", "maxLength", "pattern")
ARRAY: Final = ("minItems", "maxItems")
OBJECT: Final = ("minProperties", "maxProperties")
NUMBER: Final = ("minimum", "maximum")
KEYWORDS: Final = {
    *("type", "format", "description", "required", "properties", "items", "enum", "nullable", "additionalProperties"),
    *("x-enum-varnames", "exclusiveMinimum", "default", "title", "$ref", *TEXT, *ARRAY, *OBJECT, *NUMBER),
    *((LATER := "x-checked-later"), (NOW := "x-checked-now")),
}

Schema = Mapping[str, Any]
T = TypeVar("T")

convert = msgspec.convert
encode = msgspec.json.Encoder().encode
"""A JSON value, with Structs in it, as bytes."""


def raw(data: bytes) -> Any:
    """JSON bytes, to stand in an answer as they are."""
    return msgspec.Raw(data)


def plain(value: Any) -> Any:
    """Return a value with Structs in it as the JSON value that it came from, without the members that were missing."""
    return msgspec.json.decode(encode(value))


def value_or(member: T | UnsetType, otherwise: T) -> T:
    """Return the member, or ``otherwise`` where it is missing."""
    return otherwise if isinstance(member, UnsetType) else member


given: Final = OldName("given", value_or)


def member_names(value: Struct) -> set[str]:
    """Return the members that are there, as the document names them."""
    names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
    return {encoded for name, encoded in names if not isinstance(getattr(value, name), UnsetType)}


def checked_now(schema: Schema) -> Schema:
    """Return ``schema`` as the service checks it.

    ``x-checked-now`` has keywords that are stricter than in the document, ``x-checked-later`` names those of a later check, which has an
    error code of its own."""
    return {key: value for key, value in {**schema, **schema.get(NOW, {})}.items() if key not in schema.get(LATER, ())}


def python_name(name: str) -> str:
    """``holderDid`` → ``holder_did``, ``@context`` → ``context``, ``from`` → ``from_``."""
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower().lstrip("@")
    return f"{snake}_" if iskeyword(snake) else snake


def pascal_name(operation_id: str) -> str:
    """``createDid`` → ``CreateDid``."""
    return operation_id[:1].upper() + operation_id[1:]


class Types:
    """The types of one document, by name in ``named``. Raises ``ValueError`` for a schema that they cannot express."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._components: dict[str, dict[str, Any]] = {}
        self.schemas: dict[str, Any] = self._components.setdefault("schemas", {})
        self.named: dict[str, Any] = {}
        self.add(document)

    def add(self, document: Mapping[str, Any]) -> None:
        """Add the types of a document, or of a part that refers to one added before."""
        for kind, members in document.get("components", {}).items():
            self._components.setdefault(kind, {}).update(members)
        for name in document.get("components", {}).get("schemas", ()):
            self._of_name(name)
        for operation_id, parameters in self._queries(document):
            self.named[f"{pascal_name(operation_id)}Query"] = self._query(operation_id, parameters)

    def build_type(self, schema: Schema) -> Any:
        """Return the type of the values of ``schema``."""
        schema = checked_now(schema)
        if schema.keys() - KEYWORDS:
            raise ValueError(f"the wire types do not know {sorted(schema.keys() - KEYWORDS)}")
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(NAMED)
            made = self._of_name(name)
            return made | None if is_record(self.schemas[name]) and self.schemas[name].get("nullable") else made
        if "enum" in schema:
            made = Literal[tuple(schema["enum"])]
        elif schema.get("type") == "array":
            made = _limited(types.GenericAlias(tuple, (self.build_type(schema["items"]), ...)), schema, ARRAY)
        elif schema.get("type") == "object":
            more = schema.get("additionalProperties")
            values = self.build_type(more) if isinstance(more, Mapping) else Any
            made = _limited(types.GenericAlias(dict, (str, values)), schema, OBJECT)
        elif "type" in schema:
            kind = {"string": str, "integer": int, "number": float, "boolean": bool}[schema["type"]]
            made = _limited(kind, schema, TEXT if kind is str else NUMBER)
        else:
            made = _anything(schema)
        return made | None if schema.get("nullable") else made

    of = OldName("Types.of", build_type)

    def say_all(self, schema: Any, above: tuple[str, ...] = ()) -> bool:
        """Return whether the type of ``schema`` refuses whatever the schema refuses; members without a limit of their number, and
        text without a format."""
        if isinstance(schema, list):
            return all(self.say_all(item, above) for item in schema)
        if not isinstance(schema, Mapping):
            return True
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(NAMED)
            # A schema that refers to itself is any value there.
            return name not in above and self.say_all(self.schemas[name], (*above, name))
        if checked_now(schema).get("format") == "date-time" or (is_record(schema) and schema.keys() & {*OBJECT}):
            return False
        parts = (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties"))
        return all(self.say_all(part, above) for part in parts)

    def _of_name(self, name: str) -> Any:
        if name not in self.named:
            self.named[name] = Any
            schema = self.schemas[name]
            self.named[name] = self._record(name, schema) if is_record(schema) else self.build_type(schema)
        return self.named[name]

    def _record(self, name: str, schema: Schema) -> type[Struct]:
        if schema.keys() - KEYWORDS:
            raise ValueError(f"the wire types do not know {sorted(schema.keys() - KEYWORDS)}")
        members: dict[str, tuple[Any, ...]] = {}
        for member, declared in schema["properties"].items():
            kind = self.build_type(declared)
            members[member] = (kind,) if member in schema.get("required", ()) else (kind | UnsetType, UNSET)
        return _struct(name, members, closed=schema.get("additionalProperties") is False)

    def _query(self, operation_id: str, parameters: list[Mapping[str, Any]]) -> type[Struct]:
        members: dict[str, tuple[Any, ...]] = {}
        for parameter in parameters:
            schema = self._resolved(parameter["schema"])
            kind = self.build_type({name: value for name, value in schema.items() if name in ("type", "enum")})
            if parameter.get("required"):
                members[parameter["name"]] = (kind,)
            elif "default" in schema:
                members[parameter["name"]] = (kind, schema["default"])
            else:
                members[parameter["name"]] = (kind | None, None)
        return _struct(f"{pascal_name(operation_id)}Query", members, closed=True)

    def _queries(self, document: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
        """operationId and query parameters of every operation that has some."""
        for item in document.get("paths", {}).values():
            for operation in (item[method] for method in METHODS if method in item):
                parameters = [self._resolved(parameter) for parameter in operation.get("parameters", ())]
                if any(parameter["in"] == "query" for parameter in parameters):
                    yield operation["operationId"], [each for each in parameters if each["in"] == "query"]

    def _resolved(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in part:
            kind, _, name = part["$ref"].removeprefix("#/components/").partition("/")
            part = self._components[kind][name]
        return part


def is_record(schema: Schema) -> bool:
    """Return whether every member has a name: not where others may come, or have a type of their own."""
    return bool(schema.get("properties")) and schema.get("additionalProperties", False) is False


def _struct(name: str, members: Mapping[str, tuple[Any, ...]], *, closed: bool) -> type[Struct]:
    rename = {python_name(member): member for member in members}
    fields = [(name, *members[member]) for name, member in rename.items()]
    return msgspec.defstruct(
        name,
        fields,
        namespace={"__repr__": _hidden},
        module="identity_core.wire",
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=closed,
        rename=rename,
        gc=False,
    )


def _hidden(self: Struct) -> str:
    """Requests and answers hold keys, tokens and attributes, which must reach no log."""
    return f"{type(self).__name__}(…)"


def _limited(kind: Any, schema: Schema, words: tuple[str, ...]) -> Any:
    limits = {LIMITS[word]: schema[word] for word in words if word in schema and word in LIMITS}
    if schema.get("exclusiveMinimum") is True and "ge" in limits:
        limits["gt"] = limits.pop("ge")
    if "pattern" in schema and "pattern" in words:
        # In Python a dollar sign lets a newline through, in JSON Schema it does not.
        limits["pattern"] = re.sub(r"\$$", r"\\Z", schema["pattern"])
    return Annotated[kind, Meta(**limits)] if limits else kind


def _anything(schema: Schema) -> Any:
    """Return a value of any type, with the limits that the schema has for some of them."""
    if not schema.keys() & LIMITS.keys():
        return Any
    array, record = _limited(list[Any], schema, ARRAY), _limited(dict[str, Any], schema, OBJECT)
    return _limited(str, schema, TEXT) | array | record | int | float | bool | None
