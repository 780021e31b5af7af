"""A disk that is full or broken: refused, never acknowledged and lost, and over when it is over."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_ledger_sql import SqlLedger

from identity_core.errors import LedgerUnavailable
from tests.fault.ledger_check import WRITER, acknowledged, check_ledger

FAULTS = int(os.environ.get("IDENTITY_ROUNDS", "12"))


def cannot(reason: str) -> None:
    """Skips visibly; in CI the machine must be able to."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        cannot(f"cannot mount a small file system here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_refuses_writes_and_heals_without_a_restart(small_disk: Path) -> None:
    async def scenario() -> tuple[dict[int, tuple[str, int, str]], int]:
        ledger = SqlLedger.open(small_disk, None, clock=SystemClock(), processes=1)
        acks: dict[int, tuple[str, int, str]] = {}
        versions = dict.fromkeys(range(8), 0)

        async def append(caller: int) -> bool:
            did, version = f"did:x:{caller}", versions[caller]
            try:
                receipt = await ledger.append(did, os.urandom(2000), expected_version=version)
            except LedgerUnavailable:
                return False
            versions[caller] = version + 1
            acks[receipt.sequence] = (did, version + 1, receipt.transaction_hash)
            return True

        async def turn() -> list[bool]:
            return await asyncio.gather(*(append(caller) for caller in versions))

        while all(await turn()):
            pass
        assert acks
        refused = 0
        for _ in range(20):
            refused += (await turn()).count(False)
            # Reading continues, and the refused entry is absent.
            for caller, version in versions.items():
                assert len(await ledger.entries(f"did:x:{caller}")) == version
        assert refused > 100
        subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
        for _ in range(20):
            assert all(await turn())
        await ledger.close()
        return acks, sum(versions.values())

    acks, total = asyncio.run(scenario())
    assert check_ledger(small_disk, acks) == total == len(acks)


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        cannot("strace is not installed")
    return str(found)


def under_strace(strace: str, log: Path, options: list[str], folder: Path, appends: int) -> list[str]:
    """What a lone writer printed under strace."""
    done = subprocess.run(
        [strace, "-f", "-y", "-o", str(log), *options, *WRITER, str(folder), "a", "1", str(appends)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "PTRACE_TRACEME" in done.stderr or "Operation not permitted" in done.stderr:
        cannot(f"strace may not trace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(keepends=True)


def test_every_acknowledgement_comes_after_its_fdatasync(strace: str, tmp_path: Path) -> None:
    log = tmp_path / "strace"
    lines = under_strace(strace, log, ["-e", "trace=fdatasync,write"], tmp_path, 20)
    assert len(acknowledged(lines)) == 20
    synced = False
    acks = 0
    for call in log.read_text().splitlines():
        if re.search(r"fdatasync\(.*ledger\.sqlite-wal.* = 0|<\.\.\. fdatasync resumed>.* = 0", call):
            synced = True
        elif re.search(r'write\(1.*"ack ', call):
            assert synced, f"acknowledged before the disk had it: {call}"
            synced = False
            acks += 1
    assert acks == 20


@pytest.mark.parametrize(("call", "error"), [("fdatasync", "EIO"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO")])
def test_one_failing_call_is_refused_and_the_next_write_works(
    strace: str, tmp_path: Path, call: str, error: str
) -> None:
    # The first calls make the tables; a start that fails is a start that fails. strace counts for each thread.
    log = tmp_path / "count"
    under_strace(strace, log, ["-e", f"trace={call}"], _folder(tmp_path, "count"), 0)
    at_start = len(re.findall(rf"{call}\(", log.read_text()))
    refused = 0
    for nth in range(FAULTS):
        folder = _folder(tmp_path, f"{nth}")
        fault = f"inject={call}:error={error}:when={at_start + 1 + nth}"
        lines = under_strace(
            strace, tmp_path / "log", ["-e", f"trace={call}", "-e", fault], folder, at_start + FAULTS + 5
        )
        assert lines[-1] == "done\n"
        acks = acknowledged(lines)
        refused += sum(line.startswith("refused") for line in lines)
        assert "ack" in lines[-2]
        assert check_ledger(folder, acks) >= len(acks)
    assert refused > 0


def _folder(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / f"ledger-{name}"
    folder.mkdir()
    return folder
