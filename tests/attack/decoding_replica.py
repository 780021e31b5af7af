"""A module of plugins for a service of the tests: its handlers answer every read, and nothing is put together from stored bytes."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import identity_ledger_sql

from identity_codec.values import replace
from identity_core.api.stored_answers import StoredReads
from identity_core.plugin import Provider, hookimpl
from identity_core.ports.ledger import LedgerBackend


async def _nothing(self: StoredReads, did: str, reading: Coroutine[Any, Any, Any]) -> None:
    reading.close()


StoredReads._read = _nothing  # type: ignore[method-assign,assignment]


@hookimpl
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:
    """The SQL ledger by another name: a plugin has to bring something."""
    return replace(identity_ledger_sql.identity_provide_ledger_backend(), name="decoding")
