"""For each operation of the document the bodies, queries and headers that should cost a service the most.

The document is read as anybody reads it, as JSON. ``texts`` knows no schema: what costs a JSON parser, its checks and canonical
forms. ``bodies`` knows the operation's: each array, map, text and free value filled up to the cap, wrongly and (where it can
be) rightly, beside members that fit. An adversary needs no library, so nothing of ours is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]
DOCUMENT: Json = json.loads((Path(__file__).parents[2] / "openapi" / "reference.json").read_bytes())
CAP = 262_144
METHODS = ("post", "patch", "delete", "put", "get")


def operations() -> Iterator[tuple[str, str, Json]]:
    """(method, path, operation) of the whole document."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield method.upper(), path, operation


def resolved(part: Json) -> Json:
    """``part``, or what it refers to."""
    while "$ref" in part:
        target: Any = DOCUMENT
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part


def repeated(before: bytes, item: bytes, after: bytes, cap: int, *, most: int = 1_000_000) -> bytes:
    """As many ``item`` between commas as fit, ``most`` at the most."""
    count = min(most, (cap - len(before) - len(after) + 1) // (len(item) + 1))
    return before + b",".join([item] * count) + after


def numbered(before: bytes, item: bytes, after: bytes, count: int) -> bytes:
    """``item`` with a number of its own for each ``%x``, ``count`` times."""
    return before + b",".join(item % number for number in range(count)) + after


def texts(cap: int) -> dict[str, bytes]:
    """What costs a parser, whatever the schema is."""
    nest = b"[" * 30 + b"]" * 30
    return {
        "empty arrays": repeated(b"[", b"[]", b"]", cap),
        "empty objects": repeated(b"[", b"{}", b"]", cap),
        "arrays 30 deep": repeated(b"[", nest, b"]", cap),
        "arrays 30 deep, few": repeated(b"[", nest, b"]", cap, most=64),
        "zeros": repeated(b"[", b"0", b"]", cap),
        "zeros, as many as are read": repeated(b"[", b"0", b"]", cap, most=9_990),
        "fractions": repeated(b"[", b"0.1", b"]", cap),
        "fractions, as many as are read": repeated(b"[", b"1.7976931348623157e308", b"]", cap, most=100),
        "one fraction among zeros": repeated(b"[0.5,", b"0", b"]", cap, most=9_900),
        "one null among zeros": repeated(b"[null,", b"0", b"]", cap, most=9_900),
        "18 digits": repeated(b"[", b"9" * 18, b"]", cap),
        "19 digits": repeated(b"[", b"9" * 19, b"]", cap),
        "20 digits": repeated(b"[", b"1" + b"0" * 19, b"]", cap),
        "negative, 19 digits": repeated(b"[", b"-1" + b"0" * 18, b"]", cap),
        "fractions of 24 digits": repeated(b"[", b"0." + b"1" * 24, b"]", cap, most=99),
        "exponents of 24 digits": repeated(b"[", b"1e-" + b"0" * 24, b"]", cap, most=99),
        "a number of so many digits": b"[" + b"9" * (cap - 2) + b"]",
        "a fraction of so many digits": b"[0." + b"9" * (cap - 4) + b"]",
        "an exponent of so many digits": b"[1e-" + b"0" * (cap - 6) + b"1]",
        "so deep": b"[" * (cap // 2) + b"]" * (cap // 2),
        "objects so deep": b'{"a":' * (cap // 6) + b"0" + b"}" * (cap // 6),
        "one name": repeated(b"{", b'"":0', b"}", cap),
        "one name, as often as is read": repeated(b"{", b'"":0', b"}", cap, most=1_000),
        "one name, escaped": repeated(b"{", b'"\\u0061":0', b"}", cap),
        "many names": numbered(b"{", b'"%x":0', b"}", cap // 12),
        "many names, as many as are read": numbered(b"{", b'"%x":0', b"}", 990),
        "long names": numbered(b"{", b'"%0120x":0', b"}", min(990, cap // 130)),
        "names past ASCII": numbered(b"{", '"é😀%x":0'.encode(), b"}", min(990, cap // 16)),
        "names and a fraction": numbered(b'{"f":0.5,', '"é%x":{}'.encode(), b"}", min(990, cap // 16)),
        "a name twice, at the end": numbered(b"{", b'"%x":0', b',"1":0}', 990),
        "many short texts": repeated(b"[", b'""', b"]", cap),
        "many short texts, as many as are read": repeated(b"[", b'"a"', b"]", cap, most=9_990),
        "texts past ASCII": repeated(b"[", '"é"'.encode(), b"]", cap, most=9_990),
        "commas in a text": b'["' + b"," * (cap - 4) + b'"]',
        "colons in a text": b'["' + b":" * (cap - 4) + b'"]',
        "quotes in a text": b'["' + b'\\"' * (cap // 2 - 2) + b'"]',
        "backslashes in a text": b'["' + b"\\\\" * (cap // 2 - 2) + b'"]',
        "ends of names in a text": b'["' + b'\\":' * (cap // 3 - 2) + b'"]',
        "unicode escapes": b'["' + b"\\u00e9" * (cap // 6 - 1) + b'"]',
        "pairs of surrogates": b'["' + b"\\ud83d\\ude00" * (cap // 12 - 1) + b'"]',
        "control characters": b'["' + b"\\u0001" * (cap // 6 - 1) + b'"]',
        "a lone surrogate at the end": b'["' + b"a" * (cap - 11) + b'\\ud800"]',
        "not UTF-8 at the end": b'["' + b"a" * (cap - 6) + b'\xff"]',
        "blanks": b" " * (cap - 1) + b"0",
        "cut off": b'["' + b"a" * (cap - 2),
        "true": repeated(b"[", b"true", b"]", cap, most=9_990),
    }


HOSTILE: dict[str, bytes] = {
    "null": b"null", "0": b"0", "-1": b"-1", "0.5": b"0.5", "true": b"true", "empty": b'""', "object": b"{}", "array": b"[]",
    "member": b'{"":0}', "letter": b'"a"', "ones": b'"' + b"1" * 1000 + b'"', "z": b'"z' + b"z" * 1000 + b'"',
    "percents": b'"did:ids:' + b"%41" * 300 + b'"', "colons": b'"did:ids' + b":a" * 250 + b'"', "e": '"é"'.encode(),
    "action": b'"zkp.prove.' + b"%C3%A9" * 160 + b'.gte"', "time": b'"2030-01-01T00:00:00.' + b"9" * 40 + b'Z"',
    "uri": b'"https://' + b"%41" * 600 + b'?#"',
}  # fmt: skip


def fitting(schema: Json, depth: int = 0) -> Any:
    """A small value that fits ``schema``."""
    schema = resolved(schema)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: fitting(schema["properties"][name], depth + 1) for name in schema.get("required", ())}
        case "array":
            return [fitting(schema["items"], depth + 1)] * schema.get("minItems", 0)
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
        case "string":
            if schema.get("format") == "date-time":
                return "2030-01-01T00:00:00Z"
            return "did:ids:QmPVx7hg7oeJzWfZAuLy1UTrWJTbaF2ZaQTTnmEESMwFPr"[: schema.get("maxLength", 60)]
    return 1


def fullest(schema: Json, item: bytes, cap: int) -> bytes:
    """A value of the schema's kind, as long as its bounds and ``cap`` allow, of copies of ``item`` where it holds others."""
    schema = resolved(schema)
    kind = schema.get("type")
    if kind == "array":
        return repeated(b"[", item, b"]", cap, most=schema.get("maxItems", 1_000_000))
    if kind == "object":
        count = min(schema.get("maxProperties", 1_000_000), cap // (len(item) + 8))
        return b"{" + b",".join(b'"%x":%s' % (number, item) for number in range(count)) + b"}"
    if kind == "string":
        return b'"' + b"a" * min(schema.get("maxLength", cap), cap - 2) + b'"'
    return repeated(b"[", item, b"]", cap, most=schema.get("maxItems", 1_000_000))


def bodies(operation: Json) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of the worst bodies of an operation, none above its cap."""
    cap = operation.get("x-max-body", CAP)
    yield from texts(cap).items()
    (content,) = resolved(operation["requestBody"])["content"].values()
    whole = resolved(content["schema"])
    for path, schema in members(whole, ()):
        for name, data in value_at_place(schema, cap - 8_192):
            body = body_with(whole, path, data)
            if len(body) <= cap:
                yield f"{'.'.join(path)}: {name}", body
    for item, data in HOSTILE.items():
        yield f"unknown members, {item}", body_with(whole, ("zzz",), repeated(b"[", data, b"]", cap - 8_192))
    yield "unknown names", body_with(whole, ("zzz",), b"0," + numbered(b"", b'"%x":0', b"", 900))


def value_at_place(schema: Json, room: int) -> Iterator[tuple[str, bytes]]:
    """What may stand in one place."""
    kind = resolved(schema).get("type")
    if kind in ("boolean", "integer", "number"):
        yield "digits", b"9" * min(room, 100_000)
        return
    if kind == "string":
        yield "longest", fullest(schema, b"", room)
        for character in (b"1", b"z", "é".encode(), b"%41", b":", b"\\u0001", b"9"):
            yield f"of {character!r}", b'"' + character * ((room - 2) // len(character)) + b'"'
        yield from ((name, data) for name, data in HOSTILE.items() if data.startswith(b'"'))
        return
    for name, item in HOSTILE.items():
        yield f"full of {name}", fullest(schema, item, room)
        yield f"past its bound with {name}", repeated(b"[", item, b"]", room)
    if kind == "array":
        inner = json.dumps(fitting(resolved(schema)["items"])).encode()
        yield "full of what fits", fullest(schema, inner, room)
        yield "full of what fits but the last", fullest(schema, inner, room)[:-1] + b",0]"


def members(schema: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Every member that the schema names, however deep, with the way to it. ``[]`` is an element of an array."""
    schema = resolved(schema)
    for name, member in schema.get("properties", {}).items():
        yield (*path, name), member
        inner = resolved(member)
        if inner.get("type") == "array":
            yield from members(inner["items"], (*path, name, "[]"))
        else:
            yield from members(inner, (*path, name))


def body_with(schema: Json, path: tuple[str, ...], data: bytes) -> bytes:
    """A body that fits but for ``data``, which stand at ``path``."""
    if not path:
        return data
    name, *rest = path
    schema = resolved(schema)
    if name == "[]":
        return b"[" + body_with(schema["items"], tuple(rest), data) + b"]"
    beside = {other: value for other, value in fitting(schema).items() if other != name}
    inner = body_with(schema.get("properties", {}).get(name, {}), tuple(rest), data)
    return (
        json.dumps(beside).encode()[:-1] + (b"," if beside else b"") + json.dumps(name).encode() + b":" + inner + b"}"
    )
