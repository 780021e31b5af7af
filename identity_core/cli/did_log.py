"""``identity did log``: the log of a DID, fetched from a service or checked without one."""

from __future__ import annotations

import json
from typing import Any

import click
import orjson

from identity_core.cli.options import counted
from identity_core.cli.output import as_json, fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.remote import session, url_option


@click.group(cls=OpenGroup, place="did.log")
def log() -> None:
    """The hash-chained, signed log of a DID."""


@log.command(name="get")
@click.argument("did")
@url_option
@as_json
def log_get(did: str, url: str, json_output: bool) -> None:
    """Print the log as JSON lines, ready for `identity did log verify -`; with --json as one array."""
    with session(url) as opened:
        text = opened.log(did)
    if json_output:
        show([orjson.loads(line) for line in text.splitlines()], json_output=True)
    else:
        click.echo(text, nl=False)


@log.command(name="verify")
@click.argument("file", type=click.File("rb"))
@as_json
def log_verify(file: Any, json_output: bool) -> None:
    """Check a log alone, without the service: FILE holds JSON lines, `-` is standard input."""
    from identity_core.domain.log import LogInvalid, verify

    try:
        checked = verify(file.read())
    except LogInvalid as error:
        where = f"{getattr(file, 'name', 'standard input')}, {json.dumps(error.details)}"
        fail(f"the log is not valid: {error}", where, "do not trust this DID's history")
    show(
        checked.summary(),
        json_output=json_output,
        text=_verdict,
    )


def _verdict(checked: dict[str, Any]) -> str:
    state = "deactivated" if checked["deactivated"] else "active"
    return f"{checked['did']}\nvalid, {counted(checked['versions'], 'version')}, {state}"
