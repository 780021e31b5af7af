"""What the credential commands read: files of JSON, and the claims of a credential from options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from identity_core.cli.options import json_or_text
from identity_core.cli.output import fail
from identity_core.codec import strict_json

MAX_FILE_OCTETS = 1 << 20
F = TypeVar("F", bound=Callable[..., Any])


def read_json(file: Any) -> dict[str, Any]:
    """The JSON object in an open file; anything else ends the command."""
    name = getattr(file, "name", "standard input")
    octets = file.read(MAX_FILE_OCTETS + 1)
    try:
        if len(octets) > MAX_FILE_OCTETS:
            raise strict_json.JsonRefused(f"has more than {MAX_FILE_OCTETS} octets")
        value = strict_json.loads(octets)
    except strict_json.JsonRefused as refused:
        fail(f"the file cannot be read: {refused}", name, "give a file of JSON", status=2)
    if not isinstance(value, dict):
        fail("the file holds no JSON object", name, "see the help of this command", status=2)
    return value


def claims(command: F) -> F:
    """The options that say what a credential says; they arrive as the arguments of ``given_claims``."""
    command = value_options(command)
    command = click.option("--schema", "schema_id", required=True, metavar="ID", help="The schema of the values.")(
        command
    )
    return click.option("--holder", required=True, metavar="DID", help="Of whom it is said.")(command)


def value_options(command: F) -> F:
    """Values and validity."""
    for option in (
        click.option("--valid-until", metavar="TIME", help="RFC 3339; without end by default."),
        click.option("--valid-from", metavar="TIME", help="RFC 3339; now by default."),
        click.option(
            "--value", "single", nargs=2, multiple=True, metavar="ATTRIBUTE VALUE", help="One value; JSON or a text."
        ),
        click.option("--values", type=click.File("rb"), metavar="FILE", help="A JSON object: attribute → value."),
    ):
        command = option(command)
    return command


def given_claims(
    *,
    holder: str,
    schema_id: str,
    values: Any,
    single: tuple[tuple[str, str], ...],
    valid_from: str | None,
    valid_until: str | None,
) -> dict[str, Any]:
    """The body of a request but for the issuer. A VALUE is JSON (18, true, null); anything else is taken as a string."""
    attributes = {} if values is None else read_json(values)
    for name, text in single:
        attributes[name] = json_or_text(text)
    body = {"holderDid": holder, "schemaId": schema_id, "attributes": attributes}
    if valid_from is not None:
        body["validFrom"] = valid_from
    if valid_until is not None:
        body["validUntil"] = valid_until
    return body
