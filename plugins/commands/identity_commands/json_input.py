"""Options and files of JSON that commands read."""

from __future__ import annotations

from typing import Any, Final

import click

from identity_codec import strict_json
from identity_codec.strict_json import JsonValue
from identity_core.cli.output import fail, failing

MAX_FILE_OCTETS: Final = 1 << 20

input_argument = click.argument("file", type=click.File("rb"))


def json_or_text(text: str) -> JsonValue:
    """Return the value of an option: ``18`` is a number, ``["JP","DE"]`` an array, ``JP`` and ``2008-01-01`` are strings.

    ``1000.00`` is a string too: a decimal is always written as one, and nothing here is a float.
    """
    try:
        value: JsonValue = strict_json.loads(text.encode())
    except strict_json.JsonRefused:
        return text
    return text if isinstance(value, float) else value


def predicate_value(text: str) -> JsonValue:
    """Return the value of a predicate, as ``json_or_text`` does. Null ends the command, because null cannot be pinned."""
    value = json_or_text(text)
    if value is None:
        raise click.UsageError("null is not a value of a predicate.")
    return value


def name_of(file: Any) -> str:
    """Return the name of an open file for an error."""
    return str(getattr(file, "name", "standard input"))


def load_json(file: Any, most: int = MAX_FILE_OCTETS) -> JsonValue:
    """Return the JSON value in an open file. Raises ``ValueError`` for anything else, and for more than ``most`` bytes."""
    data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it has more than {most} bytes")
    value: JsonValue = strict_json.loads(data)
    return value


def read_json(file: Any) -> dict[str, Any]:
    """Return the JSON object in an open file; anything else ends the command."""
    with failing(ValueError, name_of(file), "give a file of JSON", what="the file cannot be read", status=2):
        value = load_json(file)
    if not isinstance(value, dict):
        remedy = f"see `{click.get_current_context().command_path} --help`"
        fail("the file holds no JSON object", name_of(file), remedy, status=2)
    return value
