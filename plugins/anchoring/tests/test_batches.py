"""Steps of batches and the public status that follows from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from identity_anchoring.batches import AnchoringPolicy, Batch, BatchState, Work, next_status

from identity_core.domain.proofs.stored import Anchor, AnchorStatus

B = BatchState
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def batch(state: BatchState, attempts: int = 0) -> Batch:
    return Batch(1, bytes(32), 3, state, "aa", 7, attempts)


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (B.SEALED, "pending"),
        (B.SUBMITTED, "pending"),
        (B.MINED, "pending"),
        (B.CONFIRMED, "confirmed"),
        (B.FAILED, "failed"),
    ],
)
def test_public_view_of_batch(state: BatchState, status: str) -> None:
    assert batch(state).anchor == Anchor(AnchorStatus(status), "aa", 7, None)


@pytest.mark.parametrize(("before", "told"), list(product((B.SEALED, B.SUBMITTED, B.MINED, B.CONFIRMED), B)))
def test_whatever_a_ledger_tells_is_a_step_that_an_anchor_may_go(before: BatchState, told: BatchState) -> None:
    for attempts in (0, 2, 9):
        after = batch(before, attempts).after_report(told, "bb", 9, "why", most_attempts=3)
        if after.anchor.status is not batch(before).anchor.status:
            next_status(batch(before).anchor.status, after.anchor.status)


def test_a_failure_counts_until_attempts_are_used_up() -> None:
    first = batch(B.SUBMITTED).after_report(B.FAILED, None, None, "reverted", most_attempts=2)
    assert (first.state, first.attempts, first.tx_hash, first.block_number) == (B.SEALED, 1, "aa", None)
    last = first.after_report(B.FAILED, "cc", None, "reverted", most_attempts=2)
    assert (last.state, last.attempts, last.tx_hash, last.reason) == (B.FAILED, 2, "cc", "reverted")


def test_a_confirmed_batch_never_fails_at_once() -> None:
    after = batch(B.CONFIRMED, 5).after_report(B.FAILED, None, None, "undone", most_attempts=1)
    assert (after.state, after.attempts) == (B.SEALED, 1)


def test_deleted_batch_has_no_transaction() -> None:
    assert batch(B.CONFIRMED).forgotten().anchor == Anchor(AnchorStatus.PENDING, None, None, None)


@pytest.mark.parametrize(
    ("waiting", "oldest", "due"),
    [
        (0, None, False),
        (1, NOW, False),
        (1, NOW - SECOND, True),
        (10, NOW, True),
        (1, NOW + timedelta(hours=1), True),
    ],
)
def test_when_a_batch_is_sealed(waiting: int, oldest: datetime | None, *, due: bool) -> None:
    policy = AnchoringPolicy(10, SECOND, 1, 0.0)
    assert policy.is_due(Work(waiting, oldest, 0, 0, ""), NOW) is due


S = AnchorStatus
ALLOWED = {
    (S.PENDING, S.CONFIRMED),
    (S.PENDING, S.FAILED),
    (S.PENDING, S.REVOKED),
    (S.CONFIRMED, S.REVOKED),
    (S.CONFIRMED, S.PENDING),
    (S.FAILED, S.PENDING),
    (S.REVOKED, S.PENDING),
    (S.REVOKED, S.CONFIRMED),
    (S.REVOKED, S.FAILED),
    (S.PRE_PHASE7, S.PENDING),
}


@pytest.mark.parametrize("before", S)
@pytest.mark.parametrize("after", S)
def test_transitions(before: AnchorStatus, after: AnchorStatus) -> None:
    if (before, after) in ALLOWED:
        assert next_status(before, after) is after
    else:
        with pytest.raises(ValueError, match="does not go"):
            next_status(before, after)


def test_the_names_of_the_specification() -> None:
    assert {status.value for status in S} == {"pending", "confirmed", "revoked", "failed", "pre-phase7"}
