"""``identity credential schema``: register a schema, get one, list all."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from identity_core.cli.asking import asks, wallet_option
from identity_core.cli.credential_input import read_json
from identity_core.cli.options import shown
from identity_core.cli.output import as_json, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import api_key_option, session, url_option


@click.group(cls=OpenGroup, place="credential.schema")
def schema() -> None:
    """Register, get and list credential schemas."""


@schema.command()
@click.argument("file", type=click.File("rb"))
@url_option
@api_key_option
@wallet_option
@click.option("--id", "schema_id", metavar="URI", help="Its id, in place of the one in FILE.")
@as_json
def create(
    file: Any, url: str, api_key: str | None, wallet: Path | None, schema_id: str | None, json_output: bool
) -> None:
    """Register a schema, for good: FILE holds {"id": …, "attributes": […]}, `-` is standard input."""
    value = read_json(file)
    body = {"attributes": value.get("attributes")}
    named = schema_id or value.get("id")
    if named is not None:
        body["id"] = named
    with session(url, api_key) as opened:
        answer = asks(opened, wallet)("POST", "/credential-schemas", "credential", body)
    show(answer, json_output=json_output, text=_text)


@schema.command()
@click.argument("schema_id")
@url_option
@as_json
def get(schema_id: str, url: str, json_output: bool) -> None:
    """Get a schema. With --json it is what `identity credential sign --schema` takes."""
    with session(url) as opened:
        answer = opened.call("GET", f"/credential-schemas/{quote(schema_id, safe=':')}", signed_in=False)
    show(answer, json_output=json_output, text=_text)


@schema.command(name="list")
@url_option
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="The most items.")
@click.option("--cursor", help="`nextCursor` of the page before.")
@as_json
def list_them(url: str, limit: int, cursor: str | None, json_output: bool) -> None:
    """List the schemas in order of id."""
    with session(url) as opened:
        query = {"limit": limit, "cursor": cursor}
        answer = opened.call("GET", "/credential-schemas", query=query, signed_in=False)
    show(answer, json_output=json_output, text=_page)


def _text(body: dict[str, Any]) -> str:
    return "\n".join([body["id"], *(f"  {one['name']}  {_kind(one)}" for one in body["attributes"])])


def _kind(attribute: dict[str, Any]) -> str:
    rules = {name: attribute[name] for name in attribute if name not in ("name", "type")}
    return str(attribute["type"]) + "".join(f"  {name} {shown(value)}" for name, value in rules.items())


def _page(body: dict[str, Any]) -> str:
    lines = [one["id"] for one in body["items"]]
    if body["nextCursor"]:
        lines.append(f"more: --cursor {body['nextCursor']}")
    return "\n".join(lines) or "none"
