"""From the schemas of the document to Python types: one ``TypedDict`` an object, one alias for anything else with a name.

Only what the document uses: objects, arrays, scalars, ``enum`` of strings, ``nullable``, references. A schema that
needs more is refused, so that a type never promises less than it seems to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Final

SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
KNOWN: Final = {
    "type", "format", "description", "required", "properties", "items", "enum", "nullable", "additionalProperties",
    "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems",
    "minProperties", "maxProperties",
    "$ref",
}  # fmt: skip

HEADER: Final = '''"""GENERATED from openapi/ by `python -m openapi.build`: the JSON values that travel, as types. Do not edit.

SHA-256 of identity.json: {digest}
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

DOCUMENT_SHA256 = "{digest}"
'''


def write_types(schemas: Mapping[str, Any], *, digest: str) -> str:
    """The module. ``digest`` is the SHA-256 of the document that ``schemas`` are of, in hex. Raises ``ValueError``."""
    types = _Types(schemas)
    records = [name for name in sorted(schemas) if types.is_record(name)]
    parts = [HEADER.format(digest=digest)]
    # Aliases are evaluated: one of records comes behind the records, whose own annotations are not.
    late = [name for name in types.aliases() if types.uses_record(name)]
    parts += [types.alias(name) for name in types.aliases() if name not in late]
    parts += [types.record(name) for name in records]
    parts += [f"\n{types.alias(name)}" for name in late]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Types:
    schemas: Mapping[str, Any]

    def is_record(self, name: str) -> bool:
        """Whether every member has a name; a map whose other members have a type of their own is no record."""
        schema = self.schemas[name]
        return bool(schema.get("properties")) and not isinstance(schema.get("additionalProperties"), dict)

    def aliases(self) -> list[str]:
        """What is no record. Aliases are evaluated, so one that uses another comes after it; otherwise by name."""
        names = sorted(name for name in self.schemas if not self.is_record(name))
        done: list[str] = []

        def visit(name: str) -> None:
            for other in names:
                if other != name and f"'#/components/schemas/{other}'" in str(self.schemas[name]):
                    visit(other)
            if name not in done:
                done.append(name)

        for name in names:
            visit(name)
        return done

    def uses_record(self, name: str) -> bool:
        """Whether the schema of an alias refers to a record, itself or through another alias."""
        used = [other for other in self.schemas if f"'#/components/schemas/{other}'" in str(self.schemas[name])]
        return any(self.is_record(other) or (other != name and self.uses_record(other)) for other in used)

    def alias(self, name: str) -> str:
        """``Name = type``."""
        return f"{name} = {self.type_of(self.schemas[name])}\n"

    def record(self, name: str) -> str:
        """A class; where a member such as ``@context`` is no identifier, the call that means the same."""
        schema = self.schemas[name]
        _refuse_unknown(schema)
        members = {member: self.type_of(declared) for member, declared in schema["properties"].items()}
        for member in members.keys() - set(schema.get("required", ())):
            members[member] = f"NotRequired[{members[member]}]"
        if all(member.isidentifier() and not iskeyword(member) for member in members):
            lines = [f"class {name}(TypedDict):", *(f"    {member}: {used}" for member, used in members.items())]
        else:
            lines = [f"{name} = TypedDict(", f'    "{name}",', "    {"]
            lines += [f'        "{member}": {used!r},' for member, used in members.items()]
            lines += ["    },", ")"]
        return "\n".join(["", *lines, ""])

    def type_of(self, schema: Mapping[str, Any]) -> str:
        """The annotation for a value of ``schema``."""
        _refuse_unknown(schema)
        if "$ref" in schema:
            name = str(schema["$ref"].rpartition("/")[2])
            # A class cannot say that its value may be null; whoever refers to it must.
            return f"{name} | None" if self.is_record(name) and self.schemas[name].get("nullable") else name
        if "enum" in schema:
            used = "Literal[" + ", ".join(f'"{value}"' for value in schema["enum"]) + "]"
        elif schema.get("type") == "array":
            used = f"list[{self.type_of(schema['items'])}]"
        elif schema.get("type") == "object":
            more = schema.get("additionalProperties")
            used = f"dict[str, {self.type_of(more) if isinstance(more, dict) else 'Any'}]"
        else:
            used = SCALARS[schema["type"]] if "type" in schema else "Any"
        return f"{used} | None" if schema.get("nullable") else used


def _refuse_unknown(schema: Mapping[str, Any]) -> None:
    unknown = schema.keys() - KNOWN
    if unknown:
        raise ValueError(f"the wire types do not know {sorted(unknown)}")
