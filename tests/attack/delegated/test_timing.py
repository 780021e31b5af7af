"""Whether the time of a refusal tells what it withholds: two classes of requests, one whose predicate holds and one whose does not.

In one process on the real store, so that no network blurs it, and with its files in memory, so that no disk does: what does not show here
shows nowhere. On PostgreSQL (nightly) one refusal and the two answers, because each takes some twenty round trips, and with the disk,
because without it a commit that is not durable is hardly quicker than one that is. The default run has one refusal and the answers to
chosen values. The statistic is dudect's (Reparaz, Balasch, Verbauwhede 2017): the classes in random order, the slowest measurements
cropped by a limit that both share, Welch's t. A difference that is there makes t grow with the square root of the number of pairs.
IDENTITY_ROUNDS asks for more, and for the disk.

Where the witness is opened before the limits and only a no is durable, as it once was, |t| of 2,000 pairs is 43 for a refusal on SQLite,
from which 21 follows for 500; on PostgreSQL it is 9 for a refusal and 6 for the answers, of 500.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean, median, quantiles, variance
from typing import Any

import pytest

from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.errors import IdentityError, PluginUnavailable
from identity_core.ports.proofs import Consumption, Earlier, Holds, Invocation, Invocations, Lease, RefusedInvocation
from tests.attack.stranger import rounds
from tests.postgres_server import PostgresServer, postgres_server  # noqa: F401
from tests.proving import Proving, request_of, run

PAIRS = max(500, 20 * rounds(0))
BOUND = 4.5
YES, NO = 18, 90
UNPINNED = "zkp.prove.age.gte"


Story = Callable[[Proving], Awaitable[None]]


@pytest.fixture
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On the disk for long rounds."""
    return tmp_path_factory.mktemp("disk") if rounds(0) else tmp_path


@pytest.fixture(scope="module")
def syncing(postgres_server: PostgresServer) -> Iterator[PostgresServer]:  # noqa: F811
    """A server that waits for its disk. The shared one does not; it says whether there can be one."""
    with tempfile.TemporaryDirectory(prefix="pg", dir="/var/tmp") as place:
        server = PostgresServer.create(Path(place), fsync=True)
        yield server
        server.stop()


def welch(some: list[float], others: list[float]) -> float:
    spread = variance(some) / len(some) + variance(others) / len(others)
    return (fmean(some) - fmean(others)) / spread**0.5


def largest_t(classes: dict[int, list[float]]) -> float:
    """Over three crops, and over the ranks: on a busy machine a difference may be how often a request had to wait, which changes the
    places of the measurements more than their mean."""
    pooled = quantiles(classes[YES] + classes[NO], n=20)
    limits = (pooled[9], pooled[14], pooled[17])
    found = [[[one for one in classes[value] if one <= limit] for value in (YES, NO)] for limit in limits]
    return max(abs(welch(*both)) for both in [*found, ranked(classes)])


def ranked(classes: dict[int, list[float]]) -> list[list[float]]:
    places = {took: float(place) for place, took in enumerate(sorted(classes[YES] + classes[NO]))}
    return [[places[took] for took in classes[value]] for value in (YES, NO)]


@dataclass
class Stopwatch:
    """The store's uses of IBCTs; remembers when a use was decided."""

    inner: Invocations
    decided_at: int = 0

    async def consume(
        self, invocation: Invocation, spending: Consumption, holds: Holds, now: datetime
    ) -> Lease | RefusedInvocation | Earlier:
        decided = await self.inner.consume(invocation, spending, holds, now)
        self.decided_at = time.perf_counter_ns()
        return decided

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


async def timed(rooms: Proving, watch: Stopwatch, value: int, *, pinned: bool) -> tuple[float, str]:
    """How long it took until the answer, or, where a use was decided, until that; in microseconds."""
    action = f"{UNPINNED}.{value}" if pinned else UNPINNED
    request = request_of(rooms.body(value=value, token=rooms.token(action=action)))
    context = RequestContext("generateDelegatedProof", Caller(did=rooms.did(rooms.aki)), "r-3")
    begun = time.perf_counter_ns()
    try:
        outcome = (await rooms.generate(request, context)).outcome
        code = outcome.code if isinstance(outcome, RefusedInvocation) else "proven"
    except IdentityError as error:
        code = error.code
    ended = time.perf_counter_ns()
    if code in ("PREDICATE_NOT_SATISFIED", "PLUGIN_UNAVAILABLE"):
        ended = watch.decided_at
    return (ended - begun) / 1_000, code


async def classes(rooms: Proving, seed: int, *, pinned: bool) -> tuple[dict[int, list[float]], set[str]]:
    watch = Stopwatch(rooms.store.invocations)
    rooms.generate = replace(rooms.generate, invocations=watch)

    async def fail() -> None:
        # A yes is told by the lease; the proof would only take time.
        raise PluginUnavailable

    rooms.workers.before = fail
    order = [YES, NO] * (PAIRS + 50)
    # In which order is not a secret, and the same whenever the test is run.
    random.Random(seed).shuffle(order)
    measured: dict[int, list[float]] = {YES: [], NO: []}
    codes = set()
    gc.collect()
    gc.disable()
    try:
        for place, value in enumerate(order):
            took, code = await timed(rooms, watch, value, pinned=pinned)
            if place >= 100:
                measured[value].append(took)
            codes.add(code)
    finally:
        gc.enable()
    return measured, codes


async def compare(rooms: Proving, name: str, codes: set[str], *, pinned: bool = False) -> int:
    """How often it was measured. A difference that is there shows in each of two measurements; one that other work on the machine makes,
    or chance, does not."""
    told = []
    for seed in (11, 12):
        measured, found = await classes(rooms, seed, pinned=pinned)
        assert found == codes
        told.append(largest_t(measured))
        yes, no = (median(measured[value]) for value in (YES, NO))
        print(f"{name}: medians {yes:.0f} and {no:.0f} µs, |t| = {told[-1]:.2f}")
        if told[-1] < BOUND:
            return len(told)
    raise AssertionError(f"{name}: |t| = {told}")


async def counted(rooms: Proving) -> tuple[int, int, int]:
    chain = await rooms.store.delegations.chain(rooms.delegation.id)
    assert chain is not None
    return chain.leaf.uses, chain.leaf.refusals, chain.leaf.thresholds


async def use_up(rooms: Proving) -> None:
    for value in (1, 2, 3):
        await rooms.proven(rooms.body(value=value, token=rooms.token(action=UNPINNED)))
    rooms.delegation = await rooms.delegate(max_refusals=1, max_thresholds=3)


LIMITS: dict[str, tuple[str, dict[str, Any], Story | None]] = {
    "exhausted": ("DELEGATION_EXHAUSTED", {"max_uses": 0}, None),
    "suspended": ("DELEGATION_SUSPENDED", {"max_refusals": 1}, None),
    "delegation": ("DISCLOSURE_LIMIT", {"max_thresholds": 0}, None),
    "credential": ("DISCLOSURE_LIMIT", {}, use_up),
}


@pytest.mark.parametrize(
    "limit", [pytest.param(one, marks=() if one == "suspended" else pytest.mark.nightly) for one in LIMITS]
)
def test_refusal_by_limit_takes_same_time_whatever_answer(folder: Path, limit: str) -> None:
    compare_refusals(folder, limit)


@pytest.mark.nightly
def test_so_it_does_on_a_server(folder: Path, syncing: PostgresServer) -> None:
    compare_refusals(folder, "suspended", url=syncing.new_database())


def compare_refusals(folder: Path, limit: str, url: str | None = None) -> None:
    code, terms, before = LIMITS[limit]

    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(**terms)
        if before is not None:
            await before(rooms)
        if limit == "suspended":
            await rooms.answered(rooms.body(value=200, token=rooms.token(action=UNPINNED)))
        counters = await counted(rooms)
        await compare(rooms, limit, {code})
        assert await counted(rooms) == counters

    run(folder, story, url=url)


@pytest.mark.parametrize("pinned", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["chosen", "pinned"])
def test_yes_and_no_take_the_same_time_until_the_proof(folder: Path, pinned: bool) -> None:
    compare_answers(folder, pinned=pinned)


@pytest.mark.nightly
def test_so_they_do_on_a_server(folder: Path, syncing: PostgresServer) -> None:
    compare_answers(folder, pinned=False, url=syncing.new_database())


def compare_answers(folder: Path, *, pinned: bool, url: str | None = None) -> None:
    async def story(rooms: Proving) -> None:
        times = await compare(rooms, "yes and no", {"PREDICATE_NOT_SATISFIED", "PLUGIN_UNAVAILABLE"}, pinned=pinned)
        asked = times * (PAIRS + 50)
        assert await counted(rooms) == (2 * asked, 0 if pinned else asked, 0 if pinned else 2)

    run(folder, story, url=url)
