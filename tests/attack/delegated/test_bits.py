"""How much is learned at most, in bits: the best search for each type of attribute, by all who may work together.

A search is played against every value that the attribute may have. What the searchers see (every answer, in order, with its code) tells
as many values apart as there are different sights; its logarithm is the most that anybody can make of it, and the chance to guess
the value grows by no more than that number. The numbers are those that the document promises (``generateDelegatedProof``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from math import log2
from pathlib import Path
from typing import Any

import pytest

from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.ports.proofs import RefusedInvocation
from tests.proving import Proving, run

ONE_DELEGATION_BITS = 2
ALL_TOGETHER_BITS = 3
# More than any of the limits, so that it is they who stop.
ATTEMPTS = 8
DAY = date(1988, 2, 21)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

SCHEMA = Schema(
    "https://schemas.example/kinds/1",
    (
        Attribute("integer", AttributeType.INTEGER, low=-100, high=100),
        Attribute("decimal", AttributeType.DECIMAL, scale=2),
        Attribute("date", AttributeType.DATE),
        Attribute("datetime", AttributeType.DATETIME),
        Attribute("boolean", AttributeType.BOOLEAN),
        Attribute("string", AttributeType.STRING),
    ),
)
DOMAINS: dict[str, list[JsonValue]] = {
    "integer": list(range(-8, 8)),
    "decimal": [f"{number}.50" for number in range(16)],
    "date": [(DAY + timedelta(days=number)).isoformat() for number in range(16)],
    "datetime": [(NOON + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ") for number in range(16)],
    "boolean": [False, True],
    "string": [f"country {number}" for number in range(16)],
}


@dataclass(frozen=True)
class Asked:
    """A question, and the values (by their place in the domain) for which it is a yes."""

    type: str
    value: JsonValue
    yes: frozenset[int]


def by_bound(kind: str, possible: Sequence[int]) -> Asked:
    middle = possible[len(possible) // 2]
    return Asked("gte", DOMAINS[kind][middle], frozenset(range(middle, len(DOMAINS[kind]))))


def by_set(kind: str, possible: Sequence[int]) -> Asked:
    half = possible[: max(1, len(possible) // 2)]
    return Asked("set_member", [DOMAINS[kind][place] for place in half], frozenset(half))


def by_guess(kind: str, possible: Sequence[int]) -> Asked:
    return Asked("eq", DOMAINS[kind][possible[0]], frozenset(possible[:1]))


Strategy = Callable[[str, Sequence[int]], Asked]
SEARCHES: list[tuple[str, Strategy]] = [
    ("integer", by_bound),
    ("integer", by_set),
    ("integer", by_guess),
    ("decimal", by_bound),
    ("date", by_bound),
    ("datetime", by_bound),
    ("boolean", by_guess),
    ("string", by_set),
    ("string", by_guess),
]


@dataclass
class Searchers:
    """Those who work together, and what they know. ``move_on`` gives them the next delegation that they may use."""

    rooms: Proving
    kind: str
    strategy: Strategy
    possible: list[int]
    move_on: Callable[[Proving, int], Awaitable[None]]
    sight: list[tuple[str, ...]] = field(default_factory=list)

    async def search(self) -> None:
        for attempt in range(ATTEMPTS):
            await self.move_on(self.rooms, attempt)
            asked = self.strategy(self.kind, self.possible)
            code = await self.ask(asked)
            self.sight.append((asked.type, repr(asked.value), code))
            if code in ("proven", "PREDICATE_NOT_SATISFIED"):
                self.possible = [place for place in self.possible if (place in asked.yes) == (code == "proven")]

    async def ask(self, asked: Asked) -> str:
        rooms = self.rooms
        predicate = {"attributeName": self.kind, "type": asked.type, "value": asked.value}
        token = rooms.token(action=f"zkp.prove.{self.kind}.{asked.type}")
        outcome = (await rooms.answered(rooms.body(predicate=predicate, token=token))).outcome
        return outcome.code if isinstance(outcome, RefusedInvocation) else "proven"


DEFAULTS: dict[str, Any] = {"max_refusals": 1, "max_thresholds": 3}
UNLIMITED: dict[str, Any] = {"max_refusals": None, "max_thresholds": None}


async def one_delegation(rooms: Proving, attempt: int) -> None:
    if attempt == 0:
        rooms.delegation = await rooms.delegate(**DEFAULTS)


async def sub_delegations(rooms: Proving, attempt: int) -> None:
    """A child for each question, each of another agent's; the root is the only one that the holder gave."""
    if attempt == 0:
        rooms.delegation = await rooms.delegate(**DEFAULTS, max_depth=1, autonomy_level=5)
    root = rooms.delegation if rooms.delegation.parent_id is None else None
    parent = root.id if root is not None else rooms.delegation.parent_id
    first = rooms.delegation.agent if root is not None else rooms.delegation.grantor
    rooms.aki = await rooms.new_did()
    rooms.delegation = await rooms.delegate(**DEFAULTS, parent_id=parent, grantor=first, autonomy_level=5)


async def several_delegations(rooms: Proving, attempt: int) -> None:
    rooms.delegation = await rooms.delegate(**DEFAULTS)


async def colluding_agents(rooms: Proving, attempt: int) -> None:
    """Each with a delegation whose own limits the holder has lifted, and with all the time in the world."""
    rooms.clock.move(days=40)
    rooms.aki = await rooms.new_did()
    rooms.delegation = await rooms.delegate(**UNLIMITED)


COMPANIES = [
    (one_delegation, ONE_DELEGATION_BITS),
    (sub_delegations, ONE_DELEGATION_BITS),
    (several_delegations, ALL_TOGETHER_BITS),
    (colluding_agents, ALL_TOGETHER_BITS),
]


async def play(rooms: Proving, kind: str, strategy: Strategy, move_on: Any) -> tuple[float, int]:
    """Bits that all sights together tell, and how many values were found out exactly."""
    values = {"integer": 0, "decimal": "0.50", "date": "1988-02-29", "datetime": "2026-01-01T12:00:00Z"}
    values |= {"boolean": True, "string": "country 0"}  # type: ignore[dict-item]
    sights, found = set(), 0
    agent = rooms.aki
    for secret, value in enumerate(DOMAINS[kind]):
        rooms.aki = agent
        said = values | {kind: value}
        rooms.credential = await rooms.issue(rooms.did(rooms.hana), schema=SCHEMA, values=said)
        searchers = Searchers(rooms, kind, strategy, list(range(len(DOMAINS[kind]))), move_on)
        await searchers.search()
        assert secret in searchers.possible
        found += searchers.possible == [secret]
        sights.add(tuple(searchers.sight))
    return log2(len(sights)), found


# The default run plays the first search in every company, and every search in the largest company.
GAMES = [
    pytest.param(
        *(kind, strategy, company, bits),
        id=f"{kind}_{strategy.__name__}-{company.__name__}",
        marks=() if (kind, strategy) == SEARCHES[0] or company is colluding_agents else pytest.mark.nightly,
    )
    for kind, strategy in SEARCHES
    for company, bits in COMPANIES
]


@pytest.mark.parametrize(("kind", "strategy", "company", "bits"), GAMES)
def test_the_best_search_learns_no_more_than_is_promised(
    tmp_path: Path, kind: str, strategy: Strategy, company: Any, bits: int
) -> None:
    async def story(rooms: Proving) -> None:
        learned, found = await play(rooms, kind, strategy, company)
        domain = len(DOMAINS[kind])
        print(f"{kind}, {strategy.__name__}, {company.__name__}: {learned:.2f} bits, {found} of {domain} found")
        assert learned <= min(bits, log2(domain))
        assert found <= 2**bits
        # A search that learns nothing would show nothing.
        assert learned >= 1

    run(tmp_path, story)


def test_the_promise_is_reached(tmp_path: Path) -> None:
    """So it is no smaller number that holds, and the searches above are good ones."""

    async def story(rooms: Proving) -> None:
        assert await play(rooms, "integer", by_bound, one_delegation) == (ONE_DELEGATION_BITS, 0)
        learned, _ = await play(rooms, "string", by_set, colluding_agents)
        assert learned == ALL_TOGETHER_BITS

    run(tmp_path, story)
