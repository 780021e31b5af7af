"""What must hold of an embedded ledger after anything: nothing acknowledged is lost, nothing is torn, the chain holds."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from identity_ledger_sql import chain

ROWS = """
SELECT sequence, did, version, entry, transaction_hash, block_number, recorded_at, link FROM ledger_entries ORDER BY sequence
"""
WRITER = [sys.executable, str(Path(__file__).with_name("ledger_writer.py"))]


def acknowledged(lines: Iterable[str]) -> dict[int, tuple[str, int, str]]:
    """Sequence → DID, version, transaction hash of what a writer printed; a last line cut off by a kill is invalid."""
    found = {}
    for line in lines:
        words = line.split()
        if line.endswith("\n") and len(words) == 5 and words[0] == "ack":
            found[int(words[3])] = (words[1], int(words[2]), words[4])
    return found


def check_chain(rows: Sequence[tuple[int, str, int, bytes, bytes, int, int, bytes]]) -> None:
    """No fork, no gap, every hash right. A row: sequence, DID, version, entry, transaction hash, block, microseconds, link.

    Raises ``AssertionError``.
    """
    previous, versions, last_block, last_time = chain.GENESIS, {}, 0, 0
    for number, (sequence, did, version, entry, digest, block, at, link) in enumerate(rows, 1):
        assert sequence == number
        assert version == versions.get(did, 0) + 1
        assert block in (last_block, last_block + 1)
        assert at > last_time
        assert digest == chain.transaction_hash(did, version, entry)
        assert link == chain.link(previous, sequence, block, at, digest)
        previous, versions[did], last_block, last_time = link, version, block, at


def check_ledger(folder: Path, acks: dict[int, tuple[str, int, str]]) -> int:
    """Raises ``AssertionError``; returns how many entries there are."""
    connection = sqlite3.connect(folder / "ledger.sqlite")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    rows = connection.execute(ROWS).fetchall()
    connection.close()
    check_chain(rows)
    present = {row[0]: (row[1], row[2], row[4].hex()) for row in rows}
    lost = {sequence: ack for sequence, ack in acks.items() if present.get(sequence) != ack}
    assert not lost, f"acknowledged and lost: {lost}"
    return len(rows)
