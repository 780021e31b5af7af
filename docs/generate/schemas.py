"""The page of schemas: a table of members for each that the document names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from docs.generate.document import Document, page, table

# What bounds a value, as a reader meets it.
LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "the minimum itself is refused",
    "minProperties": "at least {} members",
    "maxProperties": "at most {} members",
    "pattern": "matches `{}`",
}


def schema_page(document: Document) -> str:
    """Every schema of the document in alphabetical order, each with an anchor."""
    schemas = document.body["components"]["schemas"]
    return page(
        "# Schemas",
        "The bodies of requests and answers. A member that is not required may be left out; one that may be `null` says so.",
        *(_schema(name, schemas) for name in sorted(schemas, key=str.lower)),
    )


def _schema(name: str, schemas: Mapping[str, Any]) -> str:
    schema = schemas[name]
    required = set(schema.get("required", ()))
    rows = [
        (f"`{member}`", type_of(one), "yes" if member in required else "", _meaning(one, schemas))
        for member, one in schema.get("properties", {}).items()
    ]
    kind = "" if rows else f"{type_of(schema)}{_limits(schema)}"
    members = table(("member", "type", "required", "meaning"), rows)
    return page(f"(schema-{name})=\n## {name}", schema.get("description", ""), kind, members)


def type_of(schema: Mapping[str, Any]) -> str:
    """The type in words, with a link where it is a schema of its own."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#schema-{name})"
    if "enum" in schema:
        shown = ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    elif schema.get("type") == "array":
        shown = f"array of {type_of(schema['items'])}"
    else:
        shown = str(schema.get("type", "any value"))
        shown += f" ({schema['format']})" if "format" in schema else ""
    return f"{shown} or `null`" if schema.get("nullable") else shown


def _meaning(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        # Its schema says the rest, and is one click away.
        said = schemas[schema["$ref"].rpartition("/")[2]].get("description", "")
        return re.split(r"(?<=\.)\s", said, maxsplit=1)[0]
    return f"{schema.get('description', '')}{_limits(schema)}".strip()


def _limits(schema: Mapping[str, Any]) -> str:
    said = [text.format(schema[key]) for key, text in LIMITS.items() if key in schema]
    return f" ({', '.join(said)})" if said else ""
