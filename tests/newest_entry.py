"""Waits for the time that the newest entry of a log of did:webvh bears."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path


def await_newest(log: Path) -> None:
    """Entries have whole seconds, each a later one: that of a change which follows at once is of the next second until that has come."""
    newest = datetime.fromisoformat(json.loads(log.read_bytes().splitlines()[-1])["versionTime"])
    while datetime.now(UTC) < newest:
        time.sleep(0.02)
