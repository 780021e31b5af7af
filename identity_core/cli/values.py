"""Values on the command line: JSON where it is JSON, else the text itself."""

from __future__ import annotations

from identity_core.codec import strict_json
from identity_core.domain.errors import JsonValue


def json_or_text(text: str) -> JsonValue:
    """``18`` is a number, ``["JP","DE"]`` an array, ``JP`` and ``2008-01-01`` are strings."""
    try:
        value: JsonValue = strict_json.loads(text.encode())
    except strict_json.JsonRefused:
        return text
    return value
