"""Writers of the embedded ledger that are killed in the middle: what was acknowledged is there, and the chain holds."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from pathlib import Path

from tests.fault.ledger_check import WRITER, acknowledged, check_ledger

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "5"))


def killed_after(folder: Path, name: str, seconds: float) -> list[str]:
    """What a writer printed until it was killed, so many seconds after it was ready."""
    process = subprocess.Popen([*WRITER, str(folder), name, "16", "1000000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    threading.Timer(seconds, process.kill).start()
    lines = process.stdout.readlines()
    process.wait(30)
    process.stdout.close()
    return lines


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    dice = random.Random(7)
    acks: dict[int, tuple[str, int, str]] = {}
    for turn in range(ROUNDS):
        lines = killed_after(tmp_path, f"{turn}", dice.uniform(0.02, 0.3))
        assert "done\n" not in lines
        new = acknowledged(lines)
        assert new
        assert not new.keys() & acks.keys()
        acks |= new
        assert check_ledger(tmp_path, acks) >= len(acks)


def test_two_processes_write_one_chain_and_one_may_die(tmp_path: Path) -> None:
    acks: dict[int, tuple[str, int, str]] = {}
    survivors = subprocess.Popen([*WRITER, str(tmp_path), "survivor", "8", "300"], stdout=subprocess.PIPE, text=True)
    assert survivors.stdout is not None
    collected: list[str] = []
    reader = threading.Thread(target=lambda: collected.extend(survivors.stdout or ()))
    reader.start()
    deaths = 0
    while survivors.poll() is None and deaths < 5:
        acks |= acknowledged(killed_after(tmp_path, f"victim{deaths}", 0.05))
        deaths += 1
    # Whoever holds the lock when it is killed must not stop the other.
    assert survivors.wait(60) == 0
    reader.join(10)
    survivors.stdout.close()
    assert collected[-1] == "done\n"
    of_survivor = acknowledged(collected)
    assert len(of_survivor) == 8 * 300
    assert deaths >= 1
    assert check_ledger(tmp_path, acks | of_survivor) >= len(acks) + len(of_survivor)


def test_processes_take_fair_turns(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([*WRITER, str(tmp_path), f"p{n}", "8", "1000000"], stdout=subprocess.PIPE, text=True)
        for n in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    collected: list[list[str]] = [[], []]
    readers = [threading.Thread(target=lambda n=n: collected[n].extend(processes[n].stdout or ())) for n in range(2)]
    for reader in readers:
        reader.start()
    time.sleep(1)
    for process in processes:
        process.kill()
        process.wait(30)
    for reader in readers:
        reader.join(10)
    for process in processes:
        if process.stdout is not None:
            process.stdout.close()
    first, second = (acknowledged(lines) for lines in collected)
    assert check_ledger(tmp_path, first | second) >= len(first) + len(second)
    # Starvation is orders of magnitude; this is about one being left behind, not about exact shares.
    assert min(len(first), len(second)) * 5 > max(len(first), len(second))
