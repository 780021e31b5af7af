"""A policy of witnesses with which no checkpoint could be valid stops the start, with file and remedy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from identity_transparency.cli.ledger_cosigner import CosigningKey
from identity_transparency.domain.checkpoint_keys import CheckpointKeys
from identity_transparency.witnesses import SeenByWitnesses, ask_witnesses, read_witnesses

from identity_core.settings import SettingsError, StartError, load
from identity_tlog.note import WITNESS, Checkpoint, Note, VerifierKey
from identity_tlog.policy import WitnessPolicy
from tests.lying_witness import lying_witness, whole
from tests.transparency import LogKey, some_leaves

KEY = VerifierKey("w.example", LogKey(bytes(range(32))).pair.public, WITNESS)


def test_without_the_setting_there_is_none(tmp_path: Path) -> None:
    assert read_witnesses(load(environment={}, overrides={"data_dir": tmp_path})) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file"),
        ("quorum", "cannot be read: line 1"),
        (f"witness W {KEY} ftp://w.example\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} w.example\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} http://[::\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} http://w:99999999\nquorum W", "URL of the witness W"),
        (f"witness W {KEY} http://w/?x\nquorum W", "URL of the witness W"),
        (f"witness W {KEY}\nquorum W", "not a quorum"),
    ],
)
def test_witness_errors_are_reported(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "policy.txt"
    if text is not None:
        path.write_text(text)
    settings = load(environment={"IDENTITY_LEDGER_WITNESSES": str(path)}, overrides={"data_dir": tmp_path})
    with pytest.raises(SettingsError, match=says) as found:
        read_witnesses(settings)
    assert str(path) in found.value.where
    assert found.value.fix


def test_witnesses_of_the_policy_are_called(tmp_path: Path) -> None:
    (tmp_path / "policy.txt").write_text(f"witness W {KEY} http://w.example/prefix\nquorum W")
    environment = {"IDENTITY_LEDGER_WITNESSES": str(tmp_path / "policy.txt")}
    policy = read_witnesses(load(environment=environment, overrides={"data_dir": tmp_path}))
    assert policy is not None
    assert [one.url for one in policy.witnesses] == ["http://w.example/prefix"]


LOG = LogKey(bytes(range(1, 33)))
NOTE = LOG.note(some_leaves(5))
PAIRS = [LogKey(bytes([number]) * 32).pair for number in range(3)]
WITNESSES = [
    CosigningKey(VerifierKey(f"w{number}.example", pair.public, WITNESS), pair) for number, pair in enumerate(PAIRS)
]


def cosigned(number: int, note: bytes = NOTE) -> bytes:
    """The answer of a witness that shows the note with its own cosignature."""
    line = WITNESSES[number].line(Checkpoint.parse(Note.parse(note).text), 1_800_000_000)
    return whole("200 OK", note + line.encode())


NOTHING = whole("404 Not Found", b"nothing")


def query_witnesses(answers: Sequence[bytes | None], quorum: str = "2") -> SeenByWitnesses:
    """Return what the witnesses say whose answers these are; None has no URL."""
    with ExitStack() as stack:
        lines = []
        for number, answer in enumerate(answers):
            url = "" if answer is None else stack.enter_context(lying_witness(lambda it, _, a=answer: it.sendall(a)))
            lines.append(f"witness W{number} {WITNESSES[number].key} {url}")
        lines += [f"group G {quorum} W0 W1 W2", "quorum G"] if quorum != "none" else ["quorum none"]
        return asyncio.run(ask_witnesses(WitnessPolicy.parse("\n".join(lines).encode()), CheckpointKeys(LOG.verifier)))


def test_each_says_what_it_has_cosigned_last() -> None:
    other = LOG.note(some_leaves(3))
    seen = query_witnesses([cosigned(0), cosigned(1, other), NOTHING])
    assert [note and note.split(b"\n")[1] for note in seen.cosigned.values()] == [b"5", b"3", None]
    assert seen.silent == {}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "no URL"),
        (whole("500 No", b"sorry"), "it answers 500 sorry"),
        (cosigned(0), "has not cosigned"),
        (whole("200 OK", NOTE), "has not cosigned"),
        (cosigned(2, LogKey(bytes(32)).note(some_leaves(9))), "not a checkpoint of this log"),
        (cosigned(2).replace(b"\n5\n", b"\n6\n"), "not a checkpoint of this log"),
        (whole("200 OK", b"\xff"), "not a checkpoint of this log"),
    ],
)
def test_unexpected_answer_counts_as_none(answer: bytes | None, says: str) -> None:
    """One of three may be silent where two are a quorum; two may not."""
    seen = query_witnesses([cosigned(0), NOTHING, answer])
    assert list(seen.cosigned) == ["W0", "W1"]
    assert says in seen.silent["W2"]
    with pytest.raises(StartError, match="too few witnesses") as found:
        query_witnesses([cosigned(0), None, answer])
    assert says in str(found.value)
    assert "W1: the policy has no URL of it; W2: " in str(found.value)


def test_quorum_of_one_needs_all_answers() -> None:
    with pytest.raises(StartError, match="W2: it answers 500"):
        query_witnesses([cosigned(0), cosigned(1), whole("500 No", b"")], "any")
    assert len(query_witnesses([cosigned(0), cosigned(1), NOTHING], "any").cosigned) == 3
    assert len(query_witnesses([cosigned(0), None, None], "all").cosigned) == 1


def test_a_policy_without_a_quorum_tells_nothing() -> None:
    with pytest.raises(StartError, match="no quorum is asked for"):
        query_witnesses([cosigned(0), cosigned(1), cosigned(2)], "none")
