"""The checker of histories refuses bad ones, and the verifier of consistency proofs false ones."""

from __future__ import annotations

import base64
from math import inf
from typing import Any

import pytest

from identity_codec.values import replace
from identity_tlog.proofs import consistency_spans, span_hash
from identity_tlog.tiles import node_from
from identity_tlog.tree import Frontier, leaf_hash
from tests.fault import tlog_check
from tests.fault.histories import Change, Read, Recorded, problems
from tests.transparency import tiles_over

DID = "did:ids:hana"
CREATED, A, B = (frozenset({name}) for name in ("created", "a", "b"))
RECORDED: Recorded = {DID: [CREATED, A, B]}
CHANGES = [
    Change(1, DID, "created", 0, 1, "done", 1),
    Change(1, DID, "a", 2, 3, "done", 2),
    Change(2, DID, "b", 4, 6, "done", 3),
    Change(2, DID, "never", 4),
    Change(3, DID, "no", 5, 6, "refused"),
]
# The one in the middle lies beside a change and may return either version.
READS = [
    Read(1, DID, 3.5, 3.6, 2, CREATED | A),
    Read(3, DID, 4.5, 5, 2),
    Read(3, DID, 5.1, 5.2, 3, CREATED | A | B),
    Read(1, DID, 7, 8, 3),
]


def test_good_history_has_no_problem() -> None:
    assert problems(CHANGES, READS, RECORDED) == []
    late = {DID: [*RECORDED[DID], frozenset({"never"})]}
    assert problems(CHANGES, READS[:-1], late) == []


@pytest.mark.parametrize(
    ("versions", "reason"),
    [
        ([CREATED, A], "lost change: did:ids:hana b"),
        ([CREATED, A, B, A], "repeated change: did:ids:hana a at versions [2, 4]"),
        ([CREATED, B, A], "did:ids:hana: a (version 3) and b (version 2) are in the wrong order"),
        ([CREATED, A, B, frozenset({"no"})], "refused change was made: did:ids:hana no"),
        ([CREATED, A, B, frozenset({"x"})], "did:ids:hana version 4: no client sent x"),
        ([CREATED, A, B, frozenset[str]()], "did:ids:hana version 4 has 0 changes"),
        ([CREATED, A | B], "did:ids:hana version 2 has 2 changes"),
        ([CREATED, frozenset({"never"}), A, B], "did:ids:hana a was answered as version 2 and is version 3"),
    ],
)
def test_bad_record_is_refused(versions: list[frozenset[str]], reason: str) -> None:
    assert reason in problems(CHANGES, [], {DID: versions})


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (Read(1, DID, 3.5, 3.6, 1), "stale read: client 1 read did:ids:hana version 1 after its own change a"),
        (Read(3, DID, 3.5, 3.6, 1), "stale read: client 3 read did:ids:hana version 1 after a change a"),
        (Read(3, DID, 1.5, 1.6, 0), "stale read: client 3 read did:ids:hana version 0 after a change created"),
        (Read(3, DID, 3.5, 3.6, 3), "client 3 read did:ids:hana version 3 before b was sent"),
        (Read(3, DID, 7, 8, 4), "client 3 read did:ids:hana version 4, which is not recorded"),
        (Read(3, DID, 7, 8, 3, CREATED | B), "client 3 read did:ids:hana version 3 with another content"),
        (Read(3, DID, 5.3, 5.5, 2), "reads of did:ids:hana go back from version 3 to 2, by the same client"),
        (Read(4, DID, 5.3, 5.5, 2), "reads of did:ids:hana go back from version 3 to 2, by another client"),
    ],
)
def test_bad_read_is_refused(read: Read, reason: str) -> None:
    assert any(one.startswith(reason) for one in problems(CHANGES, [*READS, read], RECORDED))


def test_signature_of_two_changes_is_refused() -> None:
    twice = [replace(change, signature="s") if change.marker in "ab" else change for change in CHANGES]
    assert problems(twice, READS, RECORDED) == ["signature s made several changes: ['a', 'b']"]
    once = [replace(change, signature="s") if change.marker in ("b", "never") else change for change in CHANGES]
    assert problems(once, READS, RECORDED) == []


def test_unknown_outcome_never_ends() -> None:
    assert Change(1, DID, "a", 0).ended == inf


def test_go_refuses_false_consistency_proofs(tmp_path_factory: pytest.TempPathFactory) -> None:
    leaves = [b"%d" % number for number in range(300)]
    node = node_from(tiles_over(leaves))
    roots = {size: Frontier().appended(map(leaf_hash, leaves[:size])).root for size in (1, 7, 255, 300)}
    good = [
        {
            "First": first,
            "Second": 300,
            "FirstRoot": base64.b64encode(roots[first]).decode(),
            "SecondRoot": base64.b64encode(roots[300]).decode(),
            "Hashes": [base64.b64encode(span_hash(span, node)).decode() for span in consistency_spans(first, 300)],
        }
        for first in (1, 7, 255)
    ]
    fork = base64.b64encode(bytes(32)).decode()
    changes: list[dict[str, Any]] = [{"First": 8}, {"FirstRoot": fork}, {"SecondRoot": fork}, {"Hashes": []}]
    bad = [good[1] | change for change in changes]
    answers = tlog_check.check(tlog_check.build(tmp_path_factory), [*good, *bad])
    assert answers[:3] == ["ok"] * 3
    assert len(answers) == 7
    assert "ok" not in answers[3:]
