"""Who made or revoked a record, as answers say it. The fingerprint of an API key is for administrators: others learn that it was one."""

from __future__ import annotations

from typing import Final

from identity_codec.structs import UNSET
from identity_core import wire
from identity_core.domain.callers import Caller

_API_KEY: Final = "apiKey:"


def author(text: str, reader: Caller | None) -> wire.Author:
    """The author of ``Caller.author``, for ``reader`` (None for a stranger)."""
    if not text.startswith(_API_KEY):
        return wire.Author(kind="did", did=text)
    return wire.Author(kind="apiKey", fingerprint=text.removeprefix(_API_KEY) if sees_keys(reader) else UNSET)


def revoker(text: str | None, reader: Caller | None) -> wire.Revoker | None:
    """The same of who revoked it, None for no one."""
    if text is None:
        return None
    who = author(text, reader)
    return wire.Revoker(kind=who.kind, did=who.did, fingerprint=who.fingerprint)


def sees_keys(reader: Caller | None) -> bool:
    """Whether fingerprints of API keys are shown to ``reader``."""
    return reader is not None and reader.is_admin
