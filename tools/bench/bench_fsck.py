"""What `identity fsck --deep` reads in a second, and a backup, its check and its restore, of one installation.

    python -m tools.bench.bench_fsck [--dids 20000] [--rounds 3] [--folder .]

Seconds of this process's processor: other work on the machine is left out, and what the disk takes with it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from identity_operations.backup.create import create_backup, verify_backup
from identity_operations.backup.restore import Known, restore_backup
from identity_operations.backup.seal import OperatorKey
from identity_operations.examination.fsck import examine

from identity_core.bootstrap import open_installation
from identity_core.settings import Settings, load
from tools.bench.seeding import fill

VERSIONS = 3


def settings_of(folder: Path) -> Settings:
    return load(environment={}, overrides={"data_dir": folder})


async def started(settings: Settings) -> None:
    async with open_installation(settings):
        pass


def measure(what: str, entries: int, rounds: int, step: Callable[[int], Awaitable[object]]) -> None:
    """The median of some rounds."""
    spent = []
    for number in range(rounds):
        began = time.process_time()
        asyncio.run(step(number))  # type: ignore[arg-type]
        spent.append(time.process_time() - began)
    seconds = statistics.median(spent)
    print(f"{what:<28} {seconds:8.2f} s of CPU {entries / seconds:12,.0f} entries/s", flush=True)


def bench(folder: Path, dids: int, rounds: int) -> None:
    data, entries = folder / "data", dids * VERSIONS
    fill(data, dids, VERSIONS)
    settings = settings_of(data)
    asyncio.run(started(settings))
    size = sum(path.stat().st_size for path in data.glob("*.sqlite"))
    print(f"{entries} entries, {size / 2**20:.0f} MiB", flush=True)

    async def look(deep: bool) -> None:
        found = await examine(settings, deep=deep)
        if found.findings or found.entries != entries:
            raise AssertionError(found)

    measure("fsck --deep", entries, rounds, lambda _: look(True))
    measure("fsck", entries, rounds, lambda _: look(False))
    key = OperatorKey(os.urandom(32), is_passphrase=False)
    measure("backup create", entries, rounds, lambda number: create_backup(settings, key, folder / f"{number}.backup"))
    measure("backup verify", entries, rounds, lambda number: verify_backup(settings, key, folder / f"{number}.backup"))
    measure(
        "backup restore",
        entries,
        rounds,
        lambda number: restore_backup(
            settings_of(folder / f"restored-{number}"),
            key,
            folder / f"{number}.backup",
            Known(is_newest=True),
            as_is=False,
            advance=lambda size: None,
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dids", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path())
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-fsck-", dir=chosen.folder))
    try:
        bench(folder, chosen.dids, chosen.rounds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
