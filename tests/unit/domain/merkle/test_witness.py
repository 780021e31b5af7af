"""What a witness cosigns and what it refuses: C2SP tlog-witness, in the order of its checks."""

from __future__ import annotations

import pytest

from identity_tlog.note import Checkpoint, VerifierKey, base64_encode, sign_checkpoint
from identity_tlog.proofs import consistency_spans, span_hash
from identity_tlog.tiles import node_from
from identity_tlog.tree import Frontier, Malformed, leaf_hash
from identity_tlog.witness import Inconsistent, NotSigned, Stale, Submission, UnknownLog, accept
from tests.transparency import ORIGIN, LogKey, some_leaves, tiles_over

LEAVES = some_leaves(300)
FORK = some_leaves(300, "did:fork:")
KEY = LogKey(bytes(range(32)))
LOGS = [KEY.verifier]


def checkpoint(size: int, leaves: list[bytes] = LEAVES) -> Checkpoint:
    tree = Frontier().appended(map(leaf_hash, leaves[:size]))
    return Checkpoint(ORIGIN, size, tree.root)


def submitted(old: int, new: int, leaves: list[bytes] = LEAVES) -> Submission:
    node = node_from(tiles_over(leaves))
    proof = tuple(span_hash(span, node) for span in consistency_spans(old, new))
    return Submission(old, proof, KEY.note(leaves[:new]))


def test_a_log_that_grows_is_cosigned() -> None:
    latest: dict[str, Checkpoint] = {}
    for old, new in ((0, 5), (5, 5), (5, 256), (256, 300)):
        submission = submitted(old, new)
        assert Submission.parse(submission.encode()) == submission
        latest[ORIGIN] = accept(submission, LOGS, latest)
        assert latest[ORIGIN] == checkpoint(new)


def test_a_fork_is_refused_whoever_signed_it() -> None:
    latest = {ORIGIN: checkpoint(100)}
    for submission in (submitted(100, 200, FORK), submitted(100, 100, FORK)):
        with pytest.raises(Inconsistent):
            accept(submission, LOGS, latest)
    with pytest.raises(Inconsistent):
        accept(Submission(100, submitted(100, 200).proof[:-1], KEY.note(LEAVES[:200])), LOGS, latest)
    with pytest.raises(Inconsistent):
        accept(Submission(0, (bytes(32),), KEY.note(LEAVES[:200])), LOGS, {})


def test_a_rollback_is_refused() -> None:
    latest = {ORIGIN: checkpoint(100)}
    for old, new in ((50, 60), (0, 60), (99, 200), (0, 200), (101, 200)):
        with pytest.raises(Stale) as refused:
            accept(submitted(old, new), LOGS, latest)
        assert refused.value.size == 100
    with pytest.raises(Malformed, match="old size"):
        accept(Submission(100, (), KEY.note(LEAVES[:60])), LOGS, latest)


def test_signers_are_counted() -> None:
    stranger = LogKey()
    with pytest.raises(NotSigned):
        accept(Submission(0, (), stranger.note(LEAVES[:5])), LOGS, {})
    with pytest.raises(UnknownLog):
        accept(submitted(0, 5), [VerifierKey("else.example/log", KEY.pair.public)], {})
    data = KEY.note(LEAVES[:5])
    with pytest.raises(NotSigned):
        accept(Submission(0, (), data.replace(b"\n5\n", b"\n6\n")), LOGS, {})
    # A log may change its key: either is enough.
    accept(submitted(0, 5), [stranger.verifier, KEY.verifier], {})


@pytest.mark.parametrize("name", [ORIGIN, "else.example/log"])
def test_each_line_of_a_watched_key_is_verified(name: str) -> None:
    """A reader that knows both keys refuses the checkpoint, and the witness shows what it accepts."""
    former = VerifierKey(name, LogKey().pair.public)
    wrong = base64_encode(former.id + bytes(64))
    data = KEY.note(LEAVES[:5]) + f"\u2014 {name} {wrong}\n".encode()
    accept(Submission(0, (), data), LOGS, {})
    with pytest.raises(NotSigned):
        accept(Submission(0, (), data), [KEY.verifier, former], {})
    with pytest.raises(NotSigned):
        accept(Submission(0, (), data), [former, KEY.verifier], {})


def test_an_empty_log_has_one_root() -> None:
    empty = Checkpoint(ORIGIN, 0, bytes(32))
    note = sign_checkpoint(empty, KEY.verifier, KEY.pair.sign(empty.text.encode()))
    with pytest.raises(Inconsistent):
        accept(Submission(0, (), note), LOGS, {})
    accept(submitted(0, 0), LOGS, {})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"old 5\n",
        b"old 05\n\nx",
        b"old -1\n\nx",
        b"new 5\n\nx",
        b"old 5\nAAAA\n\nx",
        b"old 5\n\xff\n\nx",
        b"old 5\n" + (b"A" * 43 + b"=\n") * 64 + b"\nx",
    ],
)
def test_malformed_submission_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Submission.parse(data)
