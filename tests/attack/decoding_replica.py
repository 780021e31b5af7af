"""A module of plugins for a service of the tests: its handlers answer every read, and nothing is put together from stored octets."""

from __future__ import annotations

from dataclasses import replace

import identity_ledger_sql

from identity_core.api.dids_at_once import DidsAtOnce
from identity_core.plugin import Provider, hookimpl
from identity_core.ports.ledger import LedgerBackend

DidsAtOnce.before_handlers = lambda _: {}  # type: ignore[method-assign]


@hookimpl
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:
    """The SQL ledger by another name: a plugin has to bring something."""
    return replace(identity_ledger_sql.identity_provide_ledger_backend(), name="decoding")
