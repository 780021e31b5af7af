"""Which calls go to a worker together, by what proofs took of late."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from identity_isolation.calls import Prove, ProveTogether, Read
from identity_isolation.waiting import (
    MAKING_SECONDS,
    MOST_TOGETHER,
    Job,
    WaitingJobs,
    message_of,
    patience_of,
)

from plugins.isolation.tests.crew import SECRET, STATEMENT, WITNESS, context


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    found = asyncio.new_event_loop()
    yield found
    found.close()


def proof(loop: asyncio.AbstractEventLoop) -> Job:
    call = Prove(STATEMENT, WITNESS.signature, dict(WITNESS.attributes), context())
    return Job.from_call(call, loop.create_future(), batches=False)


def waiting(loop: asyncio.AbstractEventLoop, count: int) -> tuple[WaitingJobs, list[Job]]:
    jobs, found = [proof(loop) for _ in range(count)], WaitingJobs()
    for job in jobs:
        found.append(job)
    return found, jobs


def test_before_it_is_known_what_a_proof_takes_each_goes_alone(loop: asyncio.AbstractEventLoop) -> None:
    found, jobs = waiting(loop, 3)
    assert [found.share(1) for _ in jobs] == [[job] for job in jobs]


@pytest.mark.parametrize(
    ("seconds", "share"),
    [
        (MAKING_SECONDS, 1),
        (MAKING_SECONDS / 2, 1),
        (MAKING_SECONDS / 2.5, 2),
        (MAKING_SECONDS / 9, 8),
        (1e-5, MOST_TOGETHER),
    ],
)
def test_so_many_go_together_as_take_no_longer_than_they_should(
    loop: asyncio.AbstractEventLoop, seconds: float, share: int
) -> None:
    found, jobs = waiting(loop, 40)
    found.learn(jobs[:1], seconds * 1.02)
    # What was held up once is not a slow prover.
    found.learn(jobs[:4], 400.0)
    assert found.share(1) == jobs[:share]
    assert len(found) == 40 - share


def test_a_prover_that_has_become_slow_is_found_out(loop: asyncio.AbstractEventLoop) -> None:
    found, jobs = waiting(loop, 3)
    found.learn(jobs[:1], MAKING_SECONDS / 10)
    for _ in range(200):
        found.learn(jobs[:1], 1.0)
    assert found.share(1) == jobs[:1]


def test_reading_proof_does_not_wait_for_proofs(loop: asyncio.AbstractEventLoop) -> None:
    found, jobs = waiting(loop, 2)
    read = Job.from_call(Read("text"), loop.create_future(), batches=False)
    found.learn([read], 1e-6)
    found.append(read)
    assert [found.share(1) for _ in range(3)] == [jobs[:1], jobs[1:], [read]]


def test_workers_have_a_share_each(loop: asyncio.AbstractEventLoop) -> None:
    found, jobs = waiting(loop, 7)
    found.learn(jobs[:1], 1e-4)
    assert [len(found.share(2)), len(found.share(2)), len(found.share(2))] == [4, 2, 1]


def test_witness_is_dropped_with_its_call(loop: asyncio.AbstractEventLoop) -> None:
    alone, first, second = (proof(loop) for _ in range(3))
    assert SECRET in message_of([alone])[4:].decode()
    assert alone.call == b""
    message = message_of([first, second])
    assert json.loads(message[4:]) == {
        "type": "ProveTogether",
        "calls": [json.loads(one.call) for one in (first, second)],
    }
    assert first.together is ProveTogether
    assert SECRET not in repr(first)


def test_several_that_hang_leave_time_for_each_to_be_asked_alone(loop: asyncio.AbstractEventLoop) -> None:
    jobs = [proof(loop) for _ in range(8)]
    assert patience_of(jobs, 30.0) == 7.5
    assert patience_of(jobs[:1], 30.0) == 30.0
