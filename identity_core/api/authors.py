"""The form of authors of records in answers."""

from __future__ import annotations

from typing import Final

from identity_codec.structs import UNSET
from identity_core import wire
from identity_core.domain.callers import Caller

_API_KEY: Final = "apiKey:"


def author(text: str, reader: Caller | None) -> wire.Author:
    """Return the wire form of ``Caller.author`` for ``reader`` (None for an unauthenticated client)."""
    if not text.startswith(_API_KEY):
        return wire.Author(kind="did", did=text)
    return wire.Author(kind="apiKey", fingerprint=text.removeprefix(_API_KEY) if sees_keys(reader) else UNSET)


def revoker(text: str | None, reader: Caller | None) -> wire.Revoker | None:
    """Return the wire form of the author of a revocation for ``reader``, as ``author`` does; None if it was not
    revoked."""
    if text is None:
        return None
    who = author(text, reader)
    return wire.Revoker(kind=who.kind, did=who.did, fingerprint=who.fingerprint)


def sees_keys(reader: Caller | None) -> bool:
    """Return whether answers to ``reader`` contain fingerprints of API keys."""
    return reader is not None and reader.is_admin
