"""The benchmark of the sweep sweeps everything that the service sweeps, and nothing of what it seeded is left."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from tools.bench import bench_retention


def test_it_leaves_nothing_of_what_it_seeded(tmp_path: Path) -> None:
    each = 40
    rows = each * (len(bench_retention.TABLES) + 1)
    asyncio.run(bench_retention.bench(tmp_path, None, rows, seconds=5.0, idle_seconds=0.01))
    connection = sqlite3.connect(tmp_path / "identity.sqlite")
    # A credential keeps its place in the status list; of the audit log the line that tells of the cut stays, and invocations come.
    conditions = {"credentials": "holder <> 'did:erased:holder'", "audit_lines": f"sequence <= {each}"}
    conditions["invocations"] = "delete_after < unixepoch() * 1000000"
    tables = [make.__name__ for make in bench_retention.TABLES] + ["audit_lines"]
    left = {
        table: connection.execute(f"SELECT count(*) FROM {table} WHERE {conditions.get(table, '1')}").fetchone()[0]
        for table in tables
    }
    connection.close()
    assert left == dict.fromkeys(tables, 0)
