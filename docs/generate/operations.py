"""A page for each tag of the document, with a section for each operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docs.generate.document import Document, Operation, as_json, page, table
from docs.generate.schemas import type_of

SCHEMES = {
    "ApiKeyHeader": "an API key",
    "ApiKeyAuth": "an API key",
    "BearerAuth": "an access token",
    "DidAuth": "`DIDAuth`",
    "RecoveryKeyAuth": "`RecoveryKey`",
}


HEAD = """# Operations

The service is described by one OpenAPI document: `/openapi.json`, and `/docs` on a running service shows it interactively. These pages
are made of the same document, one for each of its tags. Paths begin with `{prefix}`.
"""


def operation_pages(document: Document) -> dict[str, str]:
    """Name of the file → page, and the page that leads to them."""
    names = "\n".join(tag["name"] for tag in document.body["tags"])
    pages = {"operations.md": page(HEAD.format(prefix=prefix(document)), f"```{{toctree}}\n{names}\n```")}
    for tag in document.body["tags"]:
        own = [one for one in document.operations() if tag["name"] in one.body["tags"]]
        sections = [_section(document, one) for one in own]
        pages[f"{tag['name']}.md"] = page(f"# {tag['name']}", tag["description"], *sections)
    return pages


def prefix(document: Document) -> str:
    """What stands before every path."""
    return str(document.body["servers"][0]["url"]).rstrip("/")


def _section(document: Document, operation: Operation) -> str:
    body = operation.body
    return page(
        f"(operation-{operation.id})=\n## {operation.id}",
        f"**{body['summary']}**: `{operation.method} {prefix(document)}{operation.path}`",
        body.get("description", ""),
        f"Callers: {_callers(body)}.",
        _parameters(document, body),
        _request(document, body),
        _answers(document, body),
    )


def _callers(body: Mapping[str, Any]) -> str:
    ways = body.get("security", [])
    named = list(dict.fromkeys(SCHEMES[name] for way in ways for name in way))
    if not named:
        return "anybody"
    return f"anybody, or with {', '.join(named)}" if {} in ways else f"with {' or '.join(named)}"


def _parameters(document: Document, body: Mapping[str, Any]) -> str:
    rows = []
    for one in map(document.resolved, body.get("parameters", ())):
        meaning = one.get("description", "") + (" Required." if one.get("required") and one["in"] != "path" else "")
        rows.append((f"`{one['name']}`", one["in"], type_of(one["schema"]), meaning))
    return table(("parameter", "in", "type", "meaning"), rows)


def _request(document: Document, body: Mapping[str, Any]) -> str:
    if "requestBody" not in body:
        return ""
    parts = []
    for media, content in document.resolved(body["requestBody"])["content"].items():
        parts.append(f"Body: {type_of(content['schema'])} as `{media}`.")
        parts += _example(document, content)
    return page(*parts)


def _answers(document: Document, body: Mapping[str, Any]) -> str:
    rows: list[tuple[str, str]] = []
    examples: list[str] = []
    for status, reference in body["responses"].items():
        answer = document.resolved(reference)
        if codes := answer.get("x-error-codes"):
            # What a code means stands at the code.
            rows.append((status, ", ".join(f"[{code}](#{code})" for code in codes)))
            continue
        contents = answer.get("content", {})
        kinds = ", ".join(f"{type_of(one['schema'])} as `{media}`" for media, one in contents.items())
        rows.append((status, f"{answer['description']} {kinds}"))
        for media, content in contents.items():
            if media.endswith("json") and not examples:
                examples = list(_example(document, content))
    return page(table(("status", "answer"), rows), *examples)


def _example(document: Document, content: Mapping[str, Any]) -> Iterator[str]:
    """The first example, if there is one."""
    for one in content.get("examples", {}).values():
        yield as_json(document.resolved(one)["value"])
        return
    if "example" in content:
        yield as_json(content["example"])
