"""Values on the command line: JSON where it is JSON, else the text itself."""

from __future__ import annotations

import click
import orjson

from identity_core.codec import strict_json
from identity_core.domain.errors import JsonValue


def json_or_text(text: str) -> JsonValue:
    """``18`` is a number, ``["JP","DE"]`` an array, ``JP`` and ``2008-01-01`` are strings.

    ``1000.00`` is a string too: a decimal is always written as one, and nothing here is a float.
    """
    try:
        value: JsonValue = strict_json.loads(text.encode())
    except strict_json.JsonRefused:
        return text
    return text if isinstance(value, float) else value


def counted(number: int, noun: str) -> str:
    """``1 version``, ``3 versions``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown(value: JsonValue) -> str:
    """How such a value is printed for people: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def predicate_value(text: str) -> JsonValue:
    """The same for a predicate. It has no null: a pin of null would be no pin, so it ends the command."""
    value = json_or_text(text)
    if value is None:
        raise click.UsageError("null is no value of a predicate.")
    return value
