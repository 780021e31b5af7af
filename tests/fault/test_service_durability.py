"""The disk: a sync before every 201, and a disk that is full for a while.

Both need tools that not every machine has: strace, and the right to mount a tmpfs.
Where they are missing the test skips; in CI that is a failure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from identity_commands.verify_log import verify

from tests.attack.stranger import Holder, did_path, service, signing_key
from tests.fault import service_process

CREATES = 20
_CALL = re.compile(r"(?P<pid>\d+) +(?P<name>\w+)\((?P<rest>.*)")
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")


def missing(what: str) -> None:
    """Skips, or fails where the run has to be complete."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


def events(trace: str) -> list[str]:
    """``write`` and ``sync`` of the ledger's write-ahead log when they have returned, ``201`` when an answer goes out, in
    order. strace writes a call that another thread interrupts in two lines."""
    found: list[str] = []
    begun: dict[str, str] = {}
    for line in trace.splitlines():
        call, resumed = _CALL.match(line), _RESUMED.match(line)
        if call is not None and '"HTTP/1.1 201' in call["rest"]:
            # The answer counts from when it is handed over, returned or not.
            found.append("201")
        elif call is not None and "<unfinished ...>" in line:
            begun[call["pid"]] = call["rest"]
        elif call is not None:
            found += _of_the_log(call["name"], call["rest"], line)
        elif resumed is not None:
            found += _of_the_log(resumed["name"], begun.pop(resumed["pid"], ""), line)
    return found


def _of_the_log(name: str, arguments: str, line: str) -> list[str]:
    if "ledger.sqlite-wal>" not in arguments or re.search(r"= -1 ", line):
        return []
    if name in ("fdatasync", "fsync"):
        return ["sync"]
    return ["write"] if name in ("pwrite64", "write", "pwritev") else []


def test_every_201_comes_after_a_sync_of_its_entry(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        missing("strace")
    trace = tmp_path / "trace"
    calls = "trace=fdatasync,fsync,write,writev,pwrite64,pwritev,sendto,sendmsg"
    command = ("strace", "-f", "-y", "-s", "32", "-o", str(trace), "-e", calls)
    with service_process.service(tmp_path / "data", before=command) as running:
        for _ in range(CREATES):
            answer = running.stranger.create({"method": "ids", "options": {}})
            assert answer.status == 201, answer.body
        # The client may have its answer before strace has written the line that says so; the next one comes after it.
        assert running.wire.call("GET", "/health").status == 200
    synced = 0
    since_the_last: list[str] = []
    for event in events(trace.read_text(errors="replace")):
        if event != "201":
            since_the_last.append(event)
            continue
        assert "write" in since_the_last, "a 201 without an entry"
        last_write = len(since_the_last) - 1 - since_the_last[::-1].index("write")
        assert "sync" in since_the_last[last_write:], "a 201 before its entry was synced"
        synced += 1
        since_the_last = []
    assert synced == CREATES


def test_the_reader_of_traces_sees_what_it_must() -> None:
    """The test above would be worth nothing if it took every trace."""
    wal = "9</x/ledger.sqlite-wal>"
    trace = f"""\
12 pwrite64({wal}, "...", 24, 0) = 24
12 fdatasync({wal} <unfinished ...>
13 sendto(7<socket:[1]>, "HTTP/1.1 201 Created", 9, 0, NULL, 0) = 9
12 <... fdatasync resumed>) = 0
12 fdatasync({wal}) = -1 EIO (Input/output error)
12 fdatasync(8</x/identity.sqlite-wal>) = 0
"""
    assert events(trace) == ["write", "201", "sync"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        missing("the right to mount a tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_stops_writes_and_nothing_else(small_disk: Path) -> None:
    data_dir = small_disk / "data"
    with service_process.service(data_dir) as running:
        holders: list[Holder] = []
        refused = []
        # Created and changed in turn, until ten writes in a row have found no room.
        while len(refused) < 10:
            assert len(holders) < 5000, "the disk is larger than it should be"
            answer = running.stranger.create({"method": "ids", "options": {"recoveryKey": True}})
            if answer.status == 201:
                created = answer.json
                holders.append(
                    Holder(
                        running.wire,
                        created["did"],
                        signing_key(created["keys"]["authentication"]["privateKey"]),
                        None,
                        created,
                    )
                )
                refused.clear()
            else:
                refused.append(answer)
        assert holders
        assert {answer.outcome for answer in refused} <= {(503, "PLUGIN_UNAVAILABLE"), (503, "OVERLOADED")}
        assert all("retry-after" in answer.headers for answer in refused)
        assert running.wire.call("GET", "/ready").status == 503
        for hana in (holders[0], holders[-1]):
            assert hana.resolve().status == 200
            assert running.wire.call("GET", hana.path() + "/history").status == 200
            assert verify(hana.log(), now=datetime.now(UTC)).did == hana.did
        assert running.wire.call("GET", "/health").status == 200
        acknowledged = len(holders)

        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        recovered = wait_for_a_write(running)
        assert recovered is not None, "no write went through after there was room again"
        assert recovered.act("update", service()).status == 200
        for hana in holders:
            assert verify(hana.log(), now=datetime.now(UTC)).versions == 1
        assert running.process.poll() is None
    # What was acknowledged on the full disk is there after a crash, too.
    with service_process.service(data_dir) as running:
        for hana in holders:
            assert running.wire.call("GET", did_path(hana.did)).status == 200
    assert acknowledged > 20


def wait_for_a_write(running: service_process.Running) -> Holder | None:
    """A DID made within a minute, in which a circuit that opened may close; None when there is none."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            return running.stranger.holder()
        except RuntimeError:
            time.sleep(0.1)
    return None
