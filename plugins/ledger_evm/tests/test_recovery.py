"""Processes die at any moment, several write at once, and databases are lost."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from identity_kit.conformance.ledger import check_lines, whole
from identity_ledger_evm.worker import has_work

from identity_core.errors import VersionConflict
from identity_core.ports.ledger import LedgerEntry
from tests.evm_site import is_, until

HERE = Path(__file__).resolve().parent
ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "3"))


def start(site: Any, folder: str, name: str, count: int, moment: str = "never") -> subprocess.Popen[bytes]:
    place = site.context(folder).data_dir
    settings = json.dumps(dataclasses.asdict(site.settings))
    command = [sys.executable, str(HERE / "ledger_process.py"), str(place), settings, name, str(count), moment]
    environment = os.environ | {"PYTHONPATH": str(HERE.parents[2])}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)


def read(site: Any, name: str) -> list[LedgerEntry]:
    """The whole ledger as a new index reads it from the chain."""

    async def scenario() -> list[LedgerEntry]:
        ledger = site.open(name)
        lines = await whole(ledger)
        await ledger.close()
        return lines

    return asyncio.run(scenario())


def confirm_all(site: Any, name: str, roots: list[bytes]) -> list[LedgerEntry]:
    """Takes up where others died, until nothing is open; what is on the ledger then."""

    async def scenario() -> list[LedgerEntry]:
        ledger = site.open(name)
        for root in roots:
            await until(lambda root=root: ledger.anchor_status(root), lambda one: one is None or is_("confirmed")(one))
        await until(lambda: ledger._database.read(has_work), lambda more: not more)
        lines = await whole(ledger)
        await ledger.close()
        return lines

    return asyncio.run(scenario())


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_around_the_sending_it_is_on_the_chain_once(site: Any, moment: str) -> None:
    process = start(site, "index", "a", 1, moment)
    process.communicate(timeout=120)
    assert process.returncode == -9
    root = b"a:0".ljust(32, b".")

    async def scenario() -> None:
        ledger = site.open()
        found = await until(lambda: ledger.anchor_status(root), is_("confirmed"))
        # The lease of the one who died had to run out first.
        assert found is not None
        # The entry may be a block behind the root.
        await until(lambda: ledger._database.read(has_work), lambda more: not more)
        lines = await whole(ledger)
        assert [line.entry for line in lines] in ([], [b"a:0"])
        await ledger.append("did:x:a", b"next", expected_version=len(lines))
        copy = site.open("copy")
        assert await whole(copy) == await whole(ledger)
        await copy.close()
        await ledger.close()

    asyncio.run(scenario())


def test_kill_at_any_moment_loses_no_acknowledged_write(site: Any) -> None:
    dice = random.Random(7)
    done: set[bytes] = set()
    for turn in range(ROUNDS):
        process = start(site, "index", f"t{turn}", 1000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(dice.uniform(0, 0.5))
        process.kill()
        rest, _ = process.communicate(timeout=120)
        finished = 1 + rest.count(b"done")
        done |= {f"t{turn}:{n}".encode() for n in range(finished)}
    lines = confirm_all(site, "index", [entry.ljust(32, b".") for entry in done])
    check_lines(lines, shared_chain=True)
    for shared in (True, False):
        entries = [line.entry for line in lines if (line.did == "did:x:shared") is shared]
        assert done <= set(entries), "an acknowledged entry is lost"
        assert len(entries) == len(set(entries)), "an entry is there twice"
    assert read(site, "copy") == lines


@pytest.mark.parametrize(
    "folders",
    [
        pytest.param(("one", "one"), id="one index", marks=pytest.mark.nightly),
        pytest.param(("one", "other"), id="two indexes and one key"),
    ],
)
def test_two_processes_race_and_leave_no_fork(site: Any, folders: tuple[str, str]) -> None:
    count = 4
    processes = [start(site, folder, name, count) for folder, name in zip(folders, "ab", strict=True)]
    for process in processes:
        process.communicate(timeout=300)
        assert process.returncode == 0
    lines = read(site, "copy")
    check_lines(lines, shared_chain=True)
    expected = sorted(f"{name}:{n}".encode() for name in "ab" for n in range(count))
    assert sorted(line.entry for line in lines if line.did == "did:x:shared") == expected
    assert sorted(line.entry for line in lines if line.did != "did:x:shared") == expected
    roots = [entry.ljust(32, b".") for entry in expected]
    for folder in set(folders):
        assert confirm_all(site, folder, roots) == lines


def test_an_index_that_is_lost_is_read_from_the_chain(site: Any) -> None:
    async def scenario() -> None:
        first = site.open()
        for n in range(4):
            dids = [f"did:x:{d}" for d in range(5)]
            await asyncio.gather(*(first.append(did, os.urandom(900), expected_version=n) for did in dids))
            await first.submit_anchor(bytes([n]) * 32, n + 1)
        await first.revoke_leaf(b"\7" * 32)
        anchors = [await until(lambda n=n: first.anchor_status(bytes([n]) * 32), is_("confirmed")) for n in range(4)]
        revoked = await until(lambda: first.revocation_status(b"\7" * 32), is_("confirmed"))
        lines = await whole(first)
        await first.close()
        for blocks in (1, 3, 2_000):
            again = site.open(f"again{blocks}", log_blocks=blocks)
            assert (await whole(again))[: len(lines)] == lines
            assert [await again.anchor_status(bytes([n]) * 32) for n in range(4)] == anchors
            assert await again.revocation_status(b"\7" * 32) == revoked
            with pytest.raises(VersionConflict):
                await again.append("did:x:1", b"", expected_version=3)
            await again.append(f"did:x:new{blocks}", b"", expected_version=0)
            await again.close()

    asyncio.run(scenario())


def test_the_same_octets_from_two_indexes_have_one_receipt(site: Any) -> None:
    async def scenario() -> None:
        ledgers = [site.open("one"), site.open("other")]
        appends = (ledger.append("did:x:1", b"same", expected_version=0) for ledger in ledgers)
        outcomes = await asyncio.gather(*appends, return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Receipt", "VersionConflict"]
        for ledger in ledgers:
            await ledger.close()

    asyncio.run(scenario())


def test_another_writers_entries_arrive_by_themselves(site: Any) -> None:
    async def scenario() -> None:
        reader, writer = site.open("reader"), site.open("writer")
        assert await whole(reader) == []
        await writer.append("did:x:1", b"1", expected_version=0)
        await until(lambda: reader.head(), lambda head: head.sequence == 1)
        assert await whole(reader) == await whole(writer)
        await reader.close()
        await writer.close()

    asyncio.run(scenario())
