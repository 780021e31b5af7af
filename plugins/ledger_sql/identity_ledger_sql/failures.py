"""Database failures as errors of a ledger."""

from __future__ import annotations

from collections.abc import Mapping

from identity_codec.strict_json import JsonValue
from identity_core.database import DatabaseError, DatabaseUnavailable
from identity_core.errors import LedgerUnavailable, PluginUnavailable


class LedgerDatabaseUnavailable(LedgerUnavailable):
    """The disk is full, or the server is away or takes no writes: it passes, so the answer is 503 with ``Retry-After``."""

    code = PluginUnavailable.code
    status = PluginUnavailable.status
    message = "The database of the ledger is not available."


def unavailable(error: DatabaseError, details: Mapping[str, JsonValue]) -> LedgerUnavailable:
    """Return the refusal for an error of the database; ``details`` name the append."""
    if isinstance(error, DatabaseUnavailable):
        return LedgerDatabaseUnavailable(details={**details, "retryAfter": 1})
    return LedgerUnavailable(details=details)
