"""The drill: a machine is gone, with its disk and with its log key, which others have now. It comes back from a sealed backup, from a key
on paper and from what witnesses saw. What was acknowledged since the backup is lost, and counted; nothing is signed that contradicts what
the witnesses hold."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify
from identity_transparency.rotation import log_key_rotation
from identity_transparency.use_cases.rotate_log_key import Rotation

from features.steps.theft import read
from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.domain.dids.logs import key_hash, signer_of
from identity_core.domain.dids.state import LogInvalid
from identity_core.settings import load
from identity_tlog.note import VerifierKey
from identity_tlog.policy import WitnessPolicy
from plugins.operations.tests import test_backup_faults as test_backup
from tests.attack.log_thief import STOLEN, make_the_key, sealed
from tests.attack.stranger import PREFIX, Holder, service
from tests.fault.service_process import Running, eventually
from tests.fault.service_process import service as running_service
from tests.witnesses import witness

AGAIN = "again.example/log"
NAMES = ("W1", "W2", "W3")
PUBLISHES = {"IDENTITY_PLUGINS_WEBVH_HOST": "id.example"}
"""The service also has DIDs that readers of did:webvh fetch from it."""
identity, told = (partial(call, more=PUBLISHES) for call in (test_backup.identity, test_backup.run_json))


async def rotated(folder: Path, **how: Any) -> Rotation:
    """``identity keys rotate log`` where no service runs that would have to be waited for."""

    async def at_once(_: float) -> None:
        return None

    async with log_key_rotation(load(environment=PUBLISHES, overrides={"data_dir": str(folder)})) as rotate:
        return await replace(rotate, sleep=at_once)(**how)


class Witnesses:
    """Processes that keep their folders when they end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stacks: dict[str, contextlib.ExitStack] = {}
        self.lines: dict[str, str] = {}

    def start(self, name: str, logs: Sequence[str]) -> None:
        self._stacks[name] = contextlib.ExitStack()
        said = self._stacks[name].enter_context(witness(self._folder / name, *logs, name=f"{name.lower()}.example"))
        self.lines[name] = f"witness {name} {said['verifierKey']} {said['url']}"

    def stop(self, *names: str) -> None:
        for name in names:
            self._stacks.pop(name).close()

    def close(self) -> None:
        self.stop(*list(self._stacks))

    def policy(self, logs: Sequence[str]) -> Path:
        path = self._folder / "policy.txt"
        lines = [*(f"log {log}" for log in logs), *self.lines.values(), f"group G 2 {' '.join(NAMES)}", "quorum G", ""]
        path.write_text("\n".join(lines))
        return path


def checkpoint(running: Running, query: str = "") -> bytes:
    answer = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint{query}")
    assert answer.status == 200, answer.body
    return answer.body


def cosigned_size(running: Running, policy: Path) -> int:
    """The size of the checkpoint that is served; 0 where no quorum has cosigned one."""
    note = checkpoint(running)
    if note.count("\u2014".encode()) == 1:
        return 0
    return WitnessPolicy.parse(policy.read_bytes()).open(note).checkpoint.size


def key_of(running: Running) -> str:
    return str(running.wire.call("GET", f"{PREFIX}/ledger/key").json["verifierKey"])


def moved(holder: Holder, running: Running) -> Holder:
    return replace(holder, wire=running.wire)


def test_lost_machine_is_restored_with_stated_loss(tmp_path: Path) -> None:
    machine, safe = tmp_path / "machine", tmp_path / "safe"
    safe.mkdir()
    (safe / "key").write_bytes(os.urandom(32))
    (safe / "key").chmod(0o600)
    paper = os.urandom(32)
    data = machine / "data"
    asyncio.run(make_the_key(data))
    committed = multikey.encode_public(multikey.ED25519, ed25519.generate(paper).public)
    # Of the log key after the next one only the hash is known to the machine.
    first = asyncio.run(rotated(data, next_hash=key_hash(committed)))
    with contextlib.ExitStack() as stack:
        witnesses = Witnesses(safe)
        stack.callback(witnesses.close)
        with running_service(data) as running:
            old_key = key_of(running)
        for name in NAMES:
            witnesses.start(name, [old_key])
        policy = witnesses.policy([old_key])
        with running_service(data, environment=PUBLISHES | {"IDENTITY_LEDGER_WITNESSES": str(policy)}) as running:
            kept = [running.stranger.holder(method=method) for method in ("ids", "ids", "webvh")]
            told("backup", "create", tmp_path / "a.backup", "--key-file", safe / "key", "--data-dir", data)
            lost = [running.stranger.holder() for _ in range(4)]
            assert kept[0].act("update", service()).status == 200
            size = int(checkpoint(running, "?quorum=any").split(b"\n")[1])
            eventually(lambda: cosigned_size(running, policy) >= size, "a quorum has cosigned it")
            running.kill()
        shutil.rmtree(machine)
        machine.mkdir()
        witnesses.stop("W3")
        restore = ("backup", "restore", tmp_path / "a.backup", "--key-file", safe / "key", "--data-dir", data)

        # One witness that is gone leaves two of which every quorum had one; two would not.
        witnesses.stop("W2")
        ended = identity(*restore, "--policy", policy)
        assert ended.returncode == 1
        assert "too few witnesses say what they saw: W2: no answer" in ended.stderr
        assert list(machine.iterdir()) == []
        witnesses.start("W2", [old_key])
        said = told(*restore, "--policy", witnesses.policy([old_key]))
        assert said["witnesses"] == {"W1": size, "W2": size}
        assert list(said["silentWitnesses"]) == ["W3"]
        assert (said["entries"], said["entriesLost"]) == (size - len(lost) - 1, len(lost) + 1)

        # Under the old name nothing is signed: it would be a second history.
        assert not said["serves"]
        ended = identity("serve", "--port", "0", "--data-dir", data)
        assert (ended.returncode, f"{len(lost) + 1} are lost" in ended.stderr) == (1, True)
        accept = ("ledger", "accept-rollback", "--yes", "--data-dir", data)
        assert "is a fork" in identity(*accept).stderr
        told(*accept, "--new-origin", AGAIN)

        # The log key is stolen: the one on paper continues.
        done = asyncio.run(rotated(data, compromised=True, secret=paper))
        assert (done.multikey, done.retired) == (committed, (first.multikey,))
        # It signs with the same key under the new name.
        new_key = str(VerifierKey(AGAIN, VerifierKey.parse(old_key).public))
        witnesses.stop("W1", "W2")
        for name in ("W1", "W2"):
            witnesses.start(name, [old_key, new_key])
        policy = witnesses.policy([new_key])
        with running_service(data, environment=PUBLISHES | {"IDENTITY_LEDGER_WITNESSES": str(policy)}) as running:
            there = [moved(holder, running) for holder in kept]
            assert [holder.resolve().status for holder in there] == [200] * len(kept)
            assert [moved(holder, running).resolve().status for holder in lost] == [404] * len(lost)
            for holder in there:
                assert holder.act("update", service("again")).status == 200
                lines = holder.log().splitlines()
                assert signer_of(lines[-1]) == committed
                forged = json.loads(lines[-1])
                with pytest.raises(LogInvalid):
                    verify(b"\n".join([*lines, sealed(forged, STOLEN, forged["versionId"])]))
            # A reader that is not ours finds the one that it can read where its identifier says.
            published = running.wire.call("GET", "/".join(["", *there[-1].did.split(":")[4:], "did.jsonl"]))
            assert published.body == there[-1].log()
            result = read(tmp_path, there[-1].did, published.body.splitlines())
            assert result.document == there[-1].resolve().json["didDocument"], result.resolution_metadata
            assert key_of(running) == new_key
            newest = checkpoint(running, "?quorum=any")
            assert newest.startswith(f"{AGAIN}\n".encode())
            covered = int(newest.split(b"\n")[1])
            eventually(lambda: cosigned_size(running, policy) >= covered, "the witnesses cosign under the new name")
        assert told("ledger", "audit", "--data-dir", data, "--logs")["sound"]
        ended = identity("fsck", "--deep", "--data-dir", data)
        assert ended.returncode == 0, ended.stdout
