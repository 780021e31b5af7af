"""Writers of the embedded ledger that are killed in the middle: what was acknowledged is there, and the chain holds."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from pathlib import Path

from tests.fault.ledger_check import WRITER, acknowledged, check_ledger
from tests.fault.service_process import eventually

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "5"))
PATIENCE_SECONDS = 60.0
# How long two writers compete, and how often the slower one has to get through: fewer would be chance.
SECONDS, TURNS = 1.0, 100


def killed_after(folder: Path, name: str, seconds: float) -> list[str]:
    """What a writer printed until it was killed, so many seconds after its first append was acknowledged."""
    process = subprocess.Popen([*WRITER, str(folder), name, "16", "1000000"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    # One that never gets as far is ended, too; its lines tell.
    guard = threading.Timer(PATIENCE_SECONDS, process.kill)
    guard.start()
    lines = [process.stdout.readline()]
    while lines[-1] and not lines[-1].startswith("ack"):
        lines.append(process.stdout.readline())
    guard.cancel()
    threading.Timer(seconds, process.kill).start()
    lines += process.stdout.readlines()
    process.wait(PATIENCE_SECONDS)
    process.stdout.close()
    assert acknowledged(lines), f"nothing was acknowledged in {PATIENCE_SECONDS:.0f} s: {lines}"
    return lines


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    dice = random.Random(7)
    acks: dict[int, tuple[str, int, str]] = {}
    for turn in range(ROUNDS):
        lines = killed_after(tmp_path, f"{turn}", dice.uniform(0.02, 0.3))
        assert "done\n" not in lines
        new = acknowledged(lines)
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
    # A process that is killed with the lock must not stop the other.
    assert survivors.wait(5 * PATIENCE_SECONDS) == 0
    reader.join(PATIENCE_SECONDS)
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
    collected: list[list[str]] = [[], []]
    readers = [threading.Thread(target=lambda n=n: collected[n].extend(processes[n].stdout or ())) for n in range(2)]
    for reader in readers:
        reader.start()
    try:
        # The contest begins when both write; one may have needed longer for its start.
        eventually(lambda: all(map(acknowledged, collected)), "both write")
        # A machine that stops one of them for a while makes one contest unfair, and not the next.
        eventually(lambda: is_fair(collected), "they take fair turns")
    finally:
        for process in processes:
            process.kill()
    for process, reader in zip(processes, readers, strict=True):
        process.wait(PATIENCE_SECONDS)
        reader.join(PATIENCE_SECONDS)
        assert process.stdout is not None
        process.stdout.close()
    acks, others = (acknowledged(lines) for lines in collected)
    assert check_ledger(tmp_path, acks | others) >= len(acks) + len(others)


def is_fair(collected: list[list[str]]) -> bool:
    """Whether neither is left behind in a contest. Starvation is orders of magnitude; this is not about exact shares."""
    before = [len(lines) for lines in collected]
    time.sleep(SECONDS)
    eventually(lambda: min(won(collected, before)) >= TURNS, "neither starves")
    first, second = won(collected, before)
    return min(first, second) * 5 > max(first, second)


def won(collected: list[list[str]], before: list[int]) -> list[int]:
    """How many lines each has written since."""
    return [len(lines) - start for lines, start in zip(collected, before, strict=True)]
