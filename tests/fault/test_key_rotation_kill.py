"""A rotation of the log key in which the command or the service is killed (SIGKILL) completes, or all is as before; and nothing is lost."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from identity_core.bootstrap import log_key_rotation
from identity_core.domain.dids.log.entry import signer_of
from identity_core.domain.dids.log.service_log import LogKeyHistory
from identity_core.settings import Settings, load
from identity_core.use_cases.dids import log_keys, rotate_log_key, service_log
from identity_core.use_cases.dids.rotate_log_key import Rotation
from tests.attack.stranger import PREFIX, base64url, rounds
from tests.fault.creators import Acknowledged, creating, whole_feed
from tests.fault.service_process import Running, eventually, start

TRACED = {module.__file__ for module in (log_keys, rotate_log_key, service_log)}
ROUNDS = rounds(1)
LINES = 340
"""As many lines of these modules a rotation runs through, and some more where it has DIDs to hand on."""


async def rotated(settings: Settings, **how: Any) -> Rotation:
    async with log_key_rotation(settings) as rotate:
        return await replace(rotate, settle_seconds=1.0)(**how)


def in_a_child(settings: Settings, at: int, *, dies: bool) -> tuple[int, int]:
    """Forks a process that rotates the key and tells its parent when it has come to the line ``at``; there it may kill itself. Its id, and
    where it tells."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in TRACED:
            return None
        if event == "line":
            seen += 1
            if seen == at:
                os.write(writing, b"!")
                if dies:
                    os.kill(os.getpid(), signal.SIGKILL)
        return trace

    status = 1
    try:
        sys.settrace(trace)
        asyncio.run(rotated(settings))
        status = 0
    finally:
        os._exit(status)


class Roots:
    """The roots that were signed, by size: the tree still begins with every one of them."""

    def __init__(self) -> None:
        self.known: dict[bytes, bytes] = {}

    def look(self, running: Running) -> None:
        answer = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint?quorum=any")
        assert answer.status == 200, answer.body
        _, size, root, *_ = answer.body.split(b"\n")
        self.known[size] = self.known.get(size, root)
        for each, expected in self.known.items():
            proof = running.wire.call("GET", f"{PREFIX}/ledger/proof/consistency?first={int(each)}")
            assert proof.status == 200, proof.body
            assert proof.json["firstRootHash"] == base64url(base64.b64decode(expected))


def signer(running: Running) -> str | None:
    """The key that signs the first entry of a new DID."""
    return signer_of(running.stranger.holder().log().splitlines()[0])


@pytest.mark.parametrize("killed", ["command", "service"])
def test_a_kill_in_the_middle_loses_nothing_and_the_rotation_completes_or_is_as_before(
    tmp_path: Path, killed: str
) -> None:
    settings = load(environment={}, overrides={"data_dir": tmp_path / "data"})
    roots, chance, seen = Roots(), random.Random(killed), list[str | None]()
    acknowledged = Acknowledged()
    running = start(tmp_path / "data", "--workers", "2")
    try:
        for _ in range(ROUNDS):
            seen.append(signer(running))
            with creating([running], acknowledged, each=1):
                assert acknowledged.more(2, 60.0) < 60
                child, reading = in_a_child(settings, chance.randrange(1, LINES), dies=killed == "command")
                if killed == "service":
                    # An empty text where the rotation had fewer lines, and has ended.
                    os.read(reading, 1)
                    roots.look(running)
                    running.kill()
                else:
                    os.read(reading, 1)
            left = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.close(reading)
            if killed == "service":
                running.wire.close()
                running = start(tmp_path / "data", "--workers", "2")
            else:
                assert left in (-signal.SIGKILL, 0)
                assert (acknowledged.refused, acknowledged.lost_answers) == ({}, 0)
            after = signer(running)
            assert after == seen[-1] or after not in seen, "a key of before signs again"
            assert acknowledged.strange == []
            check_recorded(running, acknowledged)
            roots.look(running)
        # The next rotation brings to its end what was begun, and retires whatever was left.
        done = asyncio.run(rotated(settings, compromised=True))
        eventually(lambda: signer(running) == done.multikey, "the next key signs")
        history = asyncio.run(service_log_of(settings))
        assert {*history.retired} == {*history.generations[:-1]}
        assert done.late == ()
        check_recorded(running, acknowledged)
        roots.look(running)
    finally:
        running.wire.close()
        running.kill()


def check_recorded(running: Running, acknowledged: Acknowledged) -> None:
    """Every acknowledged creation is there, whether or not its DID was handed on since; and the feed has no gap."""
    for did, transaction_hash in acknowledged.hashes.items():
        page = running.wire.call("GET", f"{PREFIX}/dids/{did}/history").json
        assert transaction_hash in [item["transactionHash"] for item in page["items"]]
    whole_feed(running)


async def service_log_of(settings: Settings) -> LogKeyHistory:
    async with log_key_rotation(settings) as rotate:
        return rotate.log.history
