"""A plugin that turns the machine's clock for the service that loads it: ``IDENTITY_TEST_CLOCK`` names a file with the seconds by
which it is wrong, or with a time in ISO 8601 at which it stands still. Where the time has ``passed``, or stands still, the counter of
the machine agrees with the clock."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import identity_ledger_sql

from identity_codec.values import replace
from identity_core.bootstrap import SystemClock
from identity_core.plugin import Provider, hookimpl
from identity_core.ports.ledger import LedgerBackend

OFFSET = Path(os.environ["IDENTITY_TEST_CLOCK"])


def _now(self: SystemClock) -> datetime:
    text = OFFSET.read_text()
    return (
        datetime.fromisoformat(text) if "T" in text else datetime.now(UTC) + timedelta(seconds=float(text.split()[0]))
    )


def _ahead_seconds(self: SystemClock, at: datetime) -> float:
    text = OFFSET.read_text()
    return (at - self.now()).total_seconds() if "T" in text or "passed" in text else COUNTED(self, at)


COUNTED = SystemClock.ahead_seconds
SystemClock.now = _now  # type: ignore[method-assign]
SystemClock.ahead_seconds = _ahead_seconds  # type: ignore[method-assign]


@hookimpl
def identity_provide_ledger_backend() -> Provider[LedgerBackend]:
    """The SQL ledger by another name: a plugin has to bring something."""
    return replace(identity_ledger_sql.identity_provide_ledger_backend(), name="turned")
