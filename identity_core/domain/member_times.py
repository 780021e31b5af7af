"""Times of members and parameters of requests."""

from __future__ import annotations

from datetime import datetime

from identity_codec.structs import UnsetType
from identity_codec.times import parse
from identity_core.errors import InvalidRequest


def member_time(text: str, name: str) -> datetime:
    """Return the time of a member or parameter of a request. Raises ``InvalidRequest`` with its name."""
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidRequest(f"{name} is not an RFC 3339 time with a zone.", details={"member": name}) from error


def optional_time(text: str | UnsetType | None, name: str) -> datetime | None:
    """Return the time of a member that may be missing or null. Raises ``InvalidRequest`` with its name."""
    return member_time(text, name) if isinstance(text, str) else None
