"""Who made a record, as the document's ``Author``. The fingerprint of an API key is for administrators: others learn that it was one."""

from __future__ import annotations

from typing import Final

from identity_core.domain.caller import Caller
from identity_core.errors import JsonValue

_API_KEY: Final = "apiKey:"


def author(text: str, reader: Caller | None) -> dict[str, JsonValue]:
    """The author of ``Caller.author``, for ``reader`` (None for a stranger)."""
    if not text.startswith(_API_KEY):
        return {"kind": "did", "did": text}
    shown: dict[str, JsonValue] = {"kind": "apiKey"}
    if sees_keys(reader):
        shown["fingerprint"] = text.removeprefix(_API_KEY)
    return shown


def sees_keys(reader: Caller | None) -> bool:
    """Whether fingerprints of API keys are shown to ``reader``."""
    return reader is not None and reader.is_admin
