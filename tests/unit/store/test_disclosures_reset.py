"""What a reset gives and what it does not, on both databases: decided where questions are counted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from identity_codec.times import micros
from identity_codec.values import replace
from identity_core.ports.proofs import Consumption
from identity_core.store import Store
from tests.unit.store.test_invocations import (
    HOLDER,
    NOW,
    code,
    consume,
    delegation,
    execute,
    invocation,
    question,
    rows,
    run_story,
)

MOST = 2
SECOND = timedelta(seconds=1)
RESET = NOW + 10 * SECOND
AFTER = RESET + SECOND


async def ask(store: Store, digest: bytes, *chain: str, at: int = 0, since: int | None = None) -> bool:
    """Whether a question of a chain, leaf first, is answered so many seconds after the reset."""
    window = None if since is None else RESET + since * SECOND
    asked = Consumption(chain or ("d-1",), ("c-1",), (question(digest, MOST, window),))
    said = await code(consume(store, invocation(), asked, RESET + at * SECOND))
    assert said in ("Lease", "DISCLOSURE_LIMIT"), said
    return said == "Lease"


async def use_up(store: Store) -> None:
    """An agent asks all that it may, before the reset."""
    assert [await ask(store, digest, at=-5) for digest in (b"1", b"2", b"3")] == [True, True, False]


async def reset(store: Store) -> None:
    assert await store.credentials.reset_disclosures("c-1", HOLDER, RESET)


async def fresh(store: Store, id: str, **change: object) -> None:
    """Store a delegation that was made after the reset, to a new agent."""
    await delegation(store, id, **({"agent": f"did:ids:{id}", "created_at": micros(AFTER)} | change))


def test_new_agent_has_its_own_count(store: Store) -> None:
    async def story(store: Store) -> None:
        await use_up(store)
        await fresh(store, "d-2")
        assert not await ask(store, b"4", "d-2", at=2)
        await reset(store)
        assert [await ask(store, digest, "d-2", at=3) for digest in (b"4", b"5", b"6")] == [True, True, False]
        await fresh(store, "d-3")
        assert not await ask(store, b"7", "d-3", at=4), "all who are new have one count together"

    run_story(store, story)


def test_earlier_agent_gets_no_new_disclosure(store: Store) -> None:
    async def story(store: Store) -> None:
        await use_up(store)
        await reset(store)
        assert not await ask(store, b"4", at=1)
        await fresh(store, "d-2", agent="did:ids:aki")
        assert not await ask(store, b"4", "d-2", at=2), "a new delegation is not a new memory"
        assert await ask(store, b"1", "d-2", at=2), "what is known may be asked again"
        await fresh(store, "d-3", parent_id="d-1")
        assert not await ask(store, b"5", "d-3", "d-1", at=2), "a child of an old delegation is old"
        await fresh(store, "d-4")
        await fresh(store, "d-5", agent="did:ids:aki", parent_id="d-4")
        assert not await ask(store, b"5", "d-5", "d-4", at=2), "an agent that has asked stays known"

    run_story(store, story)


@pytest.mark.parametrize(("created", "expected"), [(-1, False), (0, False), (1, True)])
def test_a_delegation_is_new_that_was_made_after_the_reset(store: Store, created: int, expected: bool) -> None:
    async def story(store: Store) -> None:
        await use_up(store)
        await reset(store)
        await fresh(store, "d-2", created_at=micros(RESET) + created)
        assert await ask(store, b"4", "d-2", at=1) is expected

    run_story(store, story)


def test_new_disclosures_count_for_earlier_agents(store: Store) -> None:
    async def story(store: Store) -> None:
        assert await ask(store, b"1", at=-5)
        await reset(store)
        await fresh(store, "d-2")
        assert await ask(store, b"2", "d-2", at=2)
        assert not await ask(store, b"3", at=3)

    run_story(store, story)


def test_pending_question_does_not_use_new_count(store: Store) -> None:
    async def story(store: Store) -> None:
        await use_up(store)
        await reset(store)
        await fresh(store, "d-2")
        assert [await ask(store, digest, "d-2", at=2) for digest in (b"1", b"4")] == [True, True]
        # The old agent's request came before the reset, and its turn after the new one's.
        assert await ask(store, b"1", at=-1)
        assert not await ask(store, b"5", "d-2", at=3)

    run_story(store, story)


def test_a_reset_does_not_lengthen_the_window_of_the_setting(store: Store) -> None:
    async def story(store: Store) -> None:
        await reset(store)
        await fresh(store, "d-2")
        assert [await ask(store, digest, "d-2", at=2, since=-9) for digest in (b"4", b"5")] == [True, True]
        assert await ask(store, b"6", "d-2", at=20, since=5), "what is older than the window does not count"

    run_story(store, story)


def test_only_the_holder_resets_and_never_to_an_earlier_time(store: Store) -> None:
    async def times(store: Store) -> Sequence[object]:
        return [row[0] for row in await rows(store, "SELECT disclosures_reset_at FROM credentials")]

    async def story(store: Store) -> None:
        for credential, holder in (("c-1", "did:ids:aki"), ("c-2", HOLDER), ("c-1\0", HOLDER)):
            assert not await store.credentials.reset_disclosures(credential, holder, RESET)
        assert await times(store) == [None]
        for at in (RESET, RESET - SECOND):
            assert await store.credentials.reset_disclosures("c-1", HOLDER, at)
        assert await times(store) == [micros(RESET)]

    run_story(store, story)


def test_a_reset_is_of_one_credential(store: Store) -> None:
    async def story(store: Store) -> None:
        await execute(
            store,
            "INSERT INTO credentials SELECT 'c-2', issuer, holder, schema_id, verification_method, issuer_public_key, valid_from, "
            "valid_until, status, status_reason, 2, version, created_at, created_by, sealed, bound_header, commitment, handle, "
            "holder_secret, disclosures_reset_at, forgotten_at, secret_replaced FROM credentials",
        )
        await use_up(store)
        assert await store.credentials.reset_disclosures("c-2", HOLDER, RESET)
        await fresh(store, "d-2")
        assert not await ask(store, b"4", "d-2", at=2)
        another = replace(question(b"4", MOST), credential_id="c-2")
        assert await code(consume(store, invocation(), Consumption(("d-2",), ("c-2",), (another,)), AFTER)) == "Lease"

    run_story(store, story)
