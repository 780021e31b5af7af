"""A witness that is killed between what it writes and what it answers has never cosigned two trees of one size."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from identity_transparency.cli import ledger_cosigner
from identity_transparency.cli.ledger_cosigner import Cosigner, CosigningKey, write_state

from identity_codec import ed25519
from identity_tlog.note import WITNESS, Checkpoint, Note, VerifierKey
from identity_tlog.tree import Refuted
from tests.transparency import ORIGIN, LogKey, some_leaves
from tests.witnesses import submission

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "50"))
LOG = LogKey(bytes(range(32)))
STEP = 3
TRUE, FORK = (some_leaves(STEP * (ROUNDS + 1), prefix) for prefix in ("did:x:", "did:fork:"))
HASH = hashlib.sha256(ORIGIN.encode()).hexdigest()


def open_witness(state: Path) -> Cosigner:
    pair = ed25519.generate(bytes(32))
    return Cosigner([CosigningKey(VerifierKey("w.example", pair.public, WITNESS), pair)], lambda: [LOG.verifier], state)


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killing_before_the_rename(path: Path, notes: dict[str, bytes]) -> None:
    Path.replace = lambda *_: end()  # type: ignore[assignment]
    write_state(path, notes)


def killing_after_the_rename(path: Path, notes: dict[str, bytes]) -> None:
    fsync, seen = os.fsync, []

    def second_time(descriptor: int) -> None:
        seen.append(descriptor)
        # First the draft, then the folder.
        if len(seen) == 2:
            end()
        fsync(descriptor)

    os.fsync = second_time
    write_state(path, notes)


def killing_before_the_answer(path: Path, notes: dict[str, bytes]) -> None:
    write_state(path, notes)
    end()


def killed(state: Path, body: bytes, keep: Callable[..., None]) -> None:
    """A process of its own gets ``body`` and dies while it keeps it. It has answered nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        ledger_cosigner.write_state = keep  # type: ignore[assignment]
        os.write(writing, open_witness(state).add_checkpoint(body).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        assert answer.read() == b""
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def size_of(state: Path) -> int:
    note = open_witness(state).latest(HASH)
    return 0 if note is None else Checkpoint.parse(Note.parse(note).text).size


def test_killed_witness_never_cosigns_two_roots(tmp_path: Path) -> None:
    state = tmp_path / "witness.json"
    write_state(state, {})
    moments = (killing_before_the_rename, killing_after_the_rename, killing_before_the_answer)
    kept = 0
    for round_ in range(ROUNDS):
        old, size = size_of(state), STEP * (round_ + 1)
        killed(state, submission(LOG, TRUE[:size], old, size), moments[round_ % 3])
        held = size_of(state)
        assert held in (old, size)
        kept += held == size
        # The next process has only the file. What is in it binds, whether anybody heard of it or not.
        again = open_witness(state)
        if held == size:
            for fork in (submission(LOG, FORK[:size], size, size), submission(LOG, FORK[:size], old, size)):
                with pytest.raises(Refuted):
                    again.add_checkpoint(fork)
        assert again.add_checkpoint(submission(LOG, TRUE[:size], held, size))
        with pytest.raises(Refuted):
            open_witness(state).add_checkpoint(submission(LOG, FORK[:size], size, size))
    # The file had it behind the rename and not before.
    assert kept == sum(moments[round_ % 3] is not killing_before_the_rename for round_ in range(ROUNDS))


def test_two_processes_are_not_one_witness(tmp_path: Path) -> None:
    """Each would remember what it has cosigned itself."""
    _, lock = ledger_cosigner.open_cosigner(tmp_path / "w", "w.example", lambda: [LOG.verifier], with_ml_dsa=False)
    child = os.fork()
    if child == 0:
        try:
            ledger_cosigner.open_cosigner(tmp_path / "w", "w.example", lambda: [LOG.verifier], with_ml_dsa=False)
        except SystemExit:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    lock.close()
