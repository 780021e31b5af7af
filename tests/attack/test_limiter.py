"""Many processes and threads against one bucket: allowed ≤ burst + rate·t + 1 over all of them, whatever the store.

The time t is measured from the first hit of all processes to the last, so that a slow machine makes no test fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.postgres_server import postgres_server, postgres_url  # noqa: F401
from tests.redis_server import redis_server

ROOT = Path(__file__).parents[2]
# So few that also a machine with other work asks for many times as much.
RATE, BURST = 20.0, 20
THREADS, SECONDS = 64, 1.5


def attack(url: str, processes: int, threads: int = THREADS) -> dict[str, float]:
    """Runs the processes and adds up what they counted."""
    command = [sys.executable, "-m", "tests.attack.limiter_process", url, str(threads), str(SECONDS)]
    command += [str(RATE), str(BURST)]

    def one(_: int) -> dict[str, float]:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    with ThreadPoolExecutor(processes) as pool:
        counted = list(pool.map(one, range(processes)))
    total = {outcome: sum(each[outcome] for each in counted) for outcome in ("allowed", "refused", "faults")}
    elapsed = max(each["ended"] for each in counted) - min(each["began"] for each in counted)
    return {**total, "elapsed": elapsed, "bound": BURST + RATE * elapsed + 1}


def hold(result: dict[str, float]) -> None:
    assert result["allowed"] <= result["bound"], result
    # The attack was one, and the limit no wall.
    assert result["refused"] > result["allowed"] >= BURST, result


def test_memory():
    """The memory of a process is its own, so one process is all there is."""
    hold(attack("async+tokenbucket+memory://", 1))


def test_sqlite(tmp_path):
    hold(attack(f"async+tokenbucket+sql://{tmp_path}/limits.sqlite", 4))


def test_redis():
    with redis_server() as server:
        hold(attack(f"async+tokenbucket+{server.url}", 4))


def test_postgresql(postgres_url):  # noqa: F811
    """40 threads in all: each has a connection of its own, and the server takes 50."""
    hold(attack(f"async+tokenbucket+{postgres_url}", 4, threads=10))
