"""Secrets of the service are out of reach of a prover: its process has none of them.

The prover of these stories is a stranger's: the test looks at its processes from outside, as root or as the account of the service.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from identity_commands.local_server import local_server

from tests.attack.stranger import GENEROUS, PREFIX, Wire

pytest.importorskip("identity_prover_bbs")

SECRETS = {
    "API_KEY": "canary-4711-of-the-api-key",
    "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "canary-4711-of-the-custodian",
    "AWS_SECRET_ACCESS_KEY": "canary-4711-of-the-cloud",
}
CANARY = b"canary-4711"
Pids = dict[str, list[int]]


@pytest.fixture(scope="module", params=[1, 2], ids=["1_process", "2_processes"])
def pids(request: pytest.FixtureRequest) -> Iterator[Pids]:
    """The processes of a service by what they are, strangers' verifier included."""
    with local_server("--workers", str(request.param), environment=GENEROUS | SECRETS) as server:
        wire = Wire(server.url)
        end = time.monotonic() + 180
        while True:
            # The process that answers starts a verifier for strangers.
            assert wire.call("POST", f"{PREFIX}/zkp/proofs/verify", {"proof": "AAAA"}, fresh=True).status == 200
            found = family(server.process)
            if len(found["prover"]) == 2 * request.param:
                break
            assert time.monotonic() < end, found
            time.sleep(0.1)
        yield found
        wire.close()


def family(of: int) -> Pids:
    """This process and its descendants, by what their command lines say. Other services of this run are not among them."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found: Pids = {"prover": [], "server": []}
    for pid in parents:
        above = pid
        while above != of and above in parents:
            above = parents[above]
        command = _read(pid, "cmdline")
        if above == of and any(name in command for name in (b"identity-prover", b"identity_core", b"multiprocessing")):
            found["prover" if b"identity-prover" in command else "server"].append(pid)
    return found


def _read(pid: int, name: str) -> bytes:
    """Empty where the account may not look: then neither may a prover, which has the same."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def test_the_environment_of_a_prover_holds_no_secret(pids: Pids) -> None:
    for pid in pids["prover"]:
        environment = _read(pid, "environ")
        assert CANARY not in environment
        assert b"IDENTITY_" not in environment
    assert any(CANARY in _read(pid, "environ") for pid in pids["server"]) or os.geteuid() != 0, "the canary is nowhere"


def test_parent_of_workers_has_no_secret(pids: Pids) -> None:
    """A process shows its environment until it forbids reading it. These processes do so late or never."""
    started = [pid for pid in pids["server"] if b"multiprocessing" in _read(pid, "cmdline")]
    assert len(started) in (0, 4), "the tracker of resources, the fork server and two workers"
    for pid in started:
        assert CANARY not in _read(pid, "environ")


def test_the_memory_of_a_prover_holds_no_secret(pids: Pids) -> None:
    """Not even what it was told at first and forgot."""
    searched = 0
    for pid in pids["prover"]:
        for line in _read(pid, "maps").decode().splitlines():
            span, rights = line.split()[:2]
            first, last = (int(one, 16) for one in span.split("-"))
            if rights.startswith("rw") and "[v" not in line:
                with open(f"/proc/{pid}/mem", "rb") as memory:
                    memory.seek(first)
                    data = memory.read(last - first)
                assert CANARY not in data, line
                searched += len(data)
    assert searched > 10_000_000 or os.geteuid() != 0


def test_no_process_leaves_a_core_file(pids: Pids) -> None:
    assert pids["server"]
    for pid in (*pids["server"], *pids["prover"]):
        limits = _read(pid, "limits").decode()
        (line,) = (line for line in limits.splitlines() if line.startswith("Max core file size"))
        assert line.split()[4:6] == ["0", "0"], (_read(pid, "cmdline"), line)


def test_nobody_of_the_same_account_looks_into_the_service() -> None:
    """Linux shows environment and memory of a process that is not dumpable to root alone."""
    program = (
        "import ctypes, resource, sys\n"
        "sys.path[:] = eval(sys.argv[1])\n"
        "from identity_core.plugin.isolation import leave_no_core\n"
        "before = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)\n"
        "leave_no_core()\n"
        "print(before, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE))\n"
    )
    said = subprocess.run([sys.executable, "-c", program, repr(sys.path)], capture_output=True, text=True, timeout=60)
    assert said.stdout == "1 0 (0, 0)\n", said
