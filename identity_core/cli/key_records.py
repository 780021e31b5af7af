"""The view of an API key in `identity keys`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from identity_codec.times import printed
from identity_core.cli.output import Text

if TYPE_CHECKING:
    from identity_core.domain.callers import ApiKey


def record_of(key: ApiKey) -> dict[str, Any]:
    """Return the view of a key, named as in the answers of the service."""
    return {
        "id": key.id,
        "name": key.name,
        "admin": key.scopes is None,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "allowedTargets": None if key.allowed_targets is None else sorted(key.allowed_targets),
        "requestsPerSecond": key.requests_per_second,
        "burst": key.burst,
        "createdAt": printed(key.created_at),
        "expiresAt": None if key.expires_at is None else printed(key.expires_at),
        "revokedAt": None if key.revoked_at is None else printed(key.revoked_at),
        "lineage": key.lineage,
    }


def _role(record: dict[str, Any]) -> str:
    return "admin" if record["admin"] else ",".join(record["scopes"])


def _end(record: dict[str, Any]) -> str:
    # A rotated key is revoked at the end of its grace period, which may be to come.
    verb = "revoked" if (record["revokedAt"] or "") <= printed(datetime.now(UTC)) else "works until"
    return f"{verb} {record['revokedAt']}" if record["revokedAt"] else ""


def line_of(record: dict[str, Any]) -> str:
    """A key on one line."""
    return f"{record['id']}  {record['name']:<20} {_role(record)}  {_end(record)}".rstrip()


COLUMNS: Final[dict[str, Text]] = {
    "ID": "{id}",
    "NAME": "{name}",
    "MAY": _role,
    "EXPIRES": lambda record: record["expiresAt"] or "",
    "ENDED": _end,
}


def members_of(record: dict[str, Any]) -> str:
    """A key with a line for each of its members."""
    words = {None: "-", True: "true", False: "false"}
    shown = {name: ",".join(one) if isinstance(one, list) else words.get(one, one) for name, one in record.items()}
    return "\n".join(f"{name:<18} {word}" for name, word in shown.items())


def minted_text(record: dict[str, Any]) -> str:
    """A key that was made just now."""
    return f"{line_of(record)}\n{record['apiKey']}\nThe key above is shown once: store it."
