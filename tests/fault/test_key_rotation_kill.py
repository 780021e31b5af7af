"""A rotation of a key in which the command or the service is killed (SIGKILL) completes, or all is as before; and nothing is lost.

That of the seal is in ``plugins/custodian_sealed/tests/test_resealing.py``, line by line.
"""

from __future__ import annotations

import asyncio
import base64
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from identity_did_ids import service_keys
from identity_did_ids.service_log import LogKeyHistory
from identity_transparency.domain.checkpoint_keys import keys_followed
from identity_transparency.rotation import checkpoint_key_replacement, log_key_rotation, token_key_replacement
from identity_transparency.use_cases import checkpoint_keys, follow, replace_key, rotate_log_key

from identity_codec import multikey
from identity_codec.values import replace
from identity_core.domain.dids.logs import signer_of
from identity_core.settings import Settings, load
from identity_core.use_cases.dids import log_keys
from identity_tlog.note import VerifierKey
from tests.attack.stranger import PREFIX, base64url, rounds
from tests.fault.creators import Acknowledged, creating, whole_feed
from tests.fault.killed_before_a_line import KilledBeforeALine, die
from tests.fault.service_process import API_KEY, Running, eventually, start
from tests.listed_keys import listed_replacements

ROUNDS = rounds(1)


async def log_rotated(settings: Settings, **how: Any) -> Any:
    async with log_key_rotation(settings) as rotate:
        return await replace(rotate, settle_seconds=1.0)(**how)


async def checkpoint_replaced(settings: Settings, **how: Any) -> Any:
    async with checkpoint_key_replacement(settings) as replacement:
        return await replacement(**how)


async def token_replaced(settings: Settings, **how: Any) -> Any:
    async with token_key_replacement(settings) as replacement:
        return await replacement(**how)


def log_signer(running: Running) -> str | None:
    """The key that signs the first entry of a new DID."""
    return signer_of(running.stranger.holder().log().splitlines()[0])


def checkpoint_signer(running: Running) -> str:
    """The key that signs a checkpoint over everything; the service lists it."""
    note = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint?quorum=any")
    assert note.status == 200, note.body
    answer = running.wire.call("GET", f"{PREFIX}/ledger/key").json
    present = VerifierKey.parse(answer["verifierKey"])
    keys_followed(present, listed_replacements(answer)).open(note.body)
    public: str = answer["publicKeyMultibase"]
    return public


def token_signer(running: Running) -> str:
    """The key that signs a token, which is taken."""
    body = {"grant_type": "client_credentials"}
    issued = running.wire.call("POST", f"{PREFIX}/auth/token", body, {"X-API-Key": API_KEY})
    assert issued.status == 200, issued.body
    header = {"Authorization": f"Bearer {issued.json['access_token']}"}
    shown = running.wire.call("GET", f"{PREFIX}/dids", None, header)
    assert shown.status == 200, shown.body
    jwk = running.wire.call("GET", "/.well-known/jwks.json").json["keys"][0]
    data: bytes = base64.urlsafe_b64decode(jwk["x"] + "=")
    return multikey.encode_public(multikey.ED25519, data)


@dataclass(frozen=True)
class Kind:
    """A key that is rotated: how, the code that does it, which of its ``lines`` at most a kill hits (as many a rotation runs through, and
    some more), and which key signs now."""

    rotated: Callable[..., Coroutine[Any, Any, Any]]
    code: tuple[ModuleType, ...]
    lines: int
    signer: Callable[[Running], str | None]


KINDS = {
    "log": Kind(log_rotated, (log_keys, rotate_log_key, follow), 340, log_signer),
    "checkpoint": Kind(checkpoint_replaced, (replace_key, follow, checkpoint_keys), 200, checkpoint_signer),
    "token": Kind(token_replaced, (replace_key, follow), 145, token_signer),
}


def in_a_child(settings: Settings, kind: Kind, at: int, *, dies: bool) -> tuple[int, int]:
    """Forks a process that rotates the key and tells its parent when it has come to the line ``at``; there it may kill itself. Its id, and
    where it tells."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)

    def reached() -> None:
        os.write(writing, b"!")
        if dies:
            die()

    status = 1
    try:
        sys.settrace(KilledBeforeALine({module.__file__ for module in kind.code}, at, reached))
        asyncio.run(kind.rotated(settings))
        status = 0
    except BaseException:
        traceback.print_exc()
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


@pytest.mark.parametrize(
    ("key", "killed"), [("log", "command"), ("log", "service"), ("checkpoint", "command"), ("token", "command")]
)
def test_killed_rotation_completes_or_changes_nothing(tmp_path: Path, key: str, killed: str) -> None:
    settings, kind = load(environment={}, overrides={"data_dir": tmp_path / "data"}), KINDS[key]
    roots, chance, seen = Roots(), random.Random(f"{key}, {killed}"), list[str | None]()
    acknowledged = Acknowledged()
    running = start(tmp_path / "data", "--workers", "2")
    try:
        for _ in range(ROUNDS):
            seen.append(kind.signer(running))
            with creating([running], acknowledged, each=1):
                assert acknowledged.more(2, 60.0) < 60
                child, reading = in_a_child(settings, kind, chance.randrange(1, kind.lines), dies=killed == "command")
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
            after = kind.signer(running)
            assert after == seen[-1] or after not in seen, "a key of before signs again"
            assert acknowledged.strange == []
            check_recorded(running, acknowledged)
            roots.look(running)
        # The next rotation brings to its end what was begun, and retires whatever was left.
        done = asyncio.run(kind.rotated(settings, compromised=True))
        eventually(lambda: kind.signer(running) == done.multikey, "the next key signs")
        check_history(asyncio.run(service_log_of(settings)), key, done, seen)
        check_recorded(running, acknowledged)
        roots.look(running)
    finally:
        running.wire.close()
        running.kill()


def check_history(history: LogKeyHistory, key: str, done: Any, seen: Sequence[str | None]) -> None:
    """The service log lists every key that has signed, one after the other, and which count no more."""
    if key == "log":
        assert {*history.retired} == {*history.generations[:-1]}
        assert done.late == ()
        return
    listed = service_keys.of_use(history.replaced, key)
    assert [one.number for one in listed] == [*range(2, done.number + 1)]
    assert [one.replaces for one in listed[1:]] == [one.multikey for one in listed[:-1]]
    assert {*seen} <= {listed[0].replaces, *(one.multikey for one in listed)}
    assert done.number - 1 in done.destroyed


def check_recorded(running: Running, acknowledged: Acknowledged) -> None:
    """Every acknowledged creation is there, whether or not its DID was handed on since; and the feed has no gap."""
    for did, transaction_hash in acknowledged.hashes.items():
        page = running.wire.call("GET", f"{PREFIX}/dids/{did}/history").json
        assert transaction_hash in [item["transactionHash"] for item in page["items"]]
    whole_feed(running)


async def service_log_of(settings: Settings) -> LogKeyHistory:
    async with log_key_rotation(settings) as rotate:
        return rotate.log.history
