"""Several predicates in one proof: one use and one answer, and a question of each predicate that the agent chose."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from identity_verification.domain.checks import CheckCode
from identity_verification.store import StoredProofs
from identity_verification.wire import VerifyStoredProofRequest

from identity_codec.structs import convert
from identity_core.domain.delegations.delegation import Suspension
from identity_core.errors import IdentityError
from identity_core.ports.proofs import RefusedInvocation
from tests.proving import Proving, run
from tests.verifying import Verifying

ADULT = {"attributeName": "age", "type": "gte", "value": 18}
UNDER_40 = {"attributeName": "age", "type": "lt", "value": 40}
FROM_JAPAN = {"attributeName": "country", "type": "eq", "value": "JP"}
FROM_FRANCE = {"attributeName": "country", "type": "eq", "value": "FR"}
RICH = {"attributeName": "income", "type": "gte", "value": 1_000_000}


def action(*predicates: dict[str, Any]) -> str:
    return " ".join(f"zkp.prove.{one['attributeName']}.{one['type']}" for one in predicates)


def body(rooms: Proving, *predicates: dict[str, Any], actions: str | None = None) -> dict[str, Any]:
    asked = rooms.body(token=rooms.token(action=action(*predicates) if actions is None else actions))
    del asked["predicate"]
    return asked | {"predicates": list(predicates)}


async def answer(rooms: Proving, *predicates: dict[str, Any], actions: str | None = None) -> str:
    """A code, with what the limit is one of."""
    try:
        outcome = (await rooms.answered(body(rooms, *predicates, actions=actions))).outcome
    except IdentityError as error:
        return error.code
    if isinstance(outcome, RefusedInvocation):
        return " ".join([outcome.code, str(outcome.details.get("of", ""))]).strip()
    return "proven"


def test_one_proof_shows_all_of_them(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        asked = (ADULT, FROM_JAPAN, UNDER_40)
        made = await rooms.proven(body(rooms, *asked))
        assert made.proof.predicate_type == "gte,eq,lt"
        assert (rooms.workers.proofs, await rooms.uses()) == (1, 1)
        stored = await StoredProofs.from_store(rooms.store).get(made.proof.proof_id)
        assert stored is not None
        assert (stored.predicates, stored.predicate) == (asked, ADULT)

        def asking(**expected: Any) -> VerifyStoredProofRequest:
            return convert(expected, VerifyStoredProofRequest)

        both = asking(predicates=list(asked))
        for verdict in (await rooms.verify(stored, both), await rooms.verify_stored(stored, both)):
            assert verdict.verified
            assert "predicate" not in verdict.unchecked
        for other in ([ADULT], [ADULT, FROM_JAPAN], [*asked[::-1]], [*asked, ADULT], [*asked[:2], RICH]):
            verdict = await rooms.verify_stored(stored, asking(predicates=other))
            assert verdict.errors == (CheckCode.PREDICATE_MISMATCH,), other
        assert (await rooms.verify(stored, asking(predicate=ADULT))).errors == (CheckCode.PREDICATE_MISMATCH,)

    asyncio.run(run_story(Verifying(tmp_path), story))


async def run_story(rooms: Verifying, story: Callable[[Verifying], Awaitable[None]]) -> None:
    try:
        await rooms.begin()
        await story(rooms)
    finally:
        await rooms.close()


@pytest.mark.parametrize("false", [0, 1, 2])
def test_a_no_does_not_say_which(tmp_path: Path, false: int) -> None:
    async def story(rooms: Proving) -> None:
        asked = [ADULT, FROM_JAPAN, RICH]
        asked[false] = {**ADULT, "value": 38} if false == 0 else FROM_FRANCE if false == 1 else {**RICH, "value": 10**9}
        refused = (await rooms.answered(body(rooms, *asked))).outcome
        assert isinstance(refused, RefusedInvocation)
        assert (refused.code, refused.details) == ("PREDICATE_NOT_SATISFIED", {"refusals": 1, "maxRefusals": None})
        assert (rooms.workers.proofs, await rooms.uses()) == (0, 1)

    run(tmp_path, story)


def test_all_questions_of_delegation_fit_or_none(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(max_thresholds=2)
        assert await answer(rooms, ADULT, FROM_JAPAN, RICH) == "DISCLOSURE_LIMIT delegation"
        assert await answer(rooms, ADULT, FROM_JAPAN) == "proven", "what was refused has counted nothing"
        assert await answer(rooms, FROM_JAPAN, ADULT, ADULT) == "proven", "what was asked may be asked again"
        assert await answer(rooms, ADULT, UNDER_40) == "DISCLOSURE_LIMIT delegation"
        assert await answer(rooms, ADULT) == "proven"

    run(tmp_path, story)


def test_each_predicate_counts_for_its_attribute(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        ages = [{**ADULT, "value": bound} for bound in (18, 19, 20, 21)]
        assert await answer(rooms, *ages) == "DISCLOSURE_LIMIT credential"
        assert await answer(rooms, *ages[:2], FROM_JAPAN) == "proven"
        assert await answer(rooms, *ages[2:]) == "DISCLOSURE_LIMIT credential", "three about an attribute, not four"
        assert await answer(rooms, ages[2], FROM_JAPAN, RICH) == "proven", "other attributes have room of their own"
        assert await answer(rooms, FROM_JAPAN, ages[3]) == "DISCLOSURE_LIMIT credential"

    run(tmp_path, story)


def test_pinned_value_is_no_question(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(max_thresholds=1)
        pinned = "zkp.prove.age.gte.18 zkp.prove.country.eq"
        assert await answer(rooms, ADULT, FROM_JAPAN, actions=pinned) == "proven"
        assert await answer(rooms, {**ADULT, "value": 19}, FROM_JAPAN, actions=pinned) == "SCOPE_MISMATCH"
        rooms.delegation = await rooms.delegate(autonomy_level=2)
        assert await answer(rooms, ADULT, FROM_JAPAN, actions=pinned) == "AUTONOMY_TOO_LOW", "one is the agent's own"
        both = "zkp.prove.age.gte.18 zkp.prove.income.gte.1000000"
        assert await answer(rooms, ADULT, RICH, actions=both) == "proven"
        left_out = {"attributeName": "age", "type": "gte"}
        assert await answer(rooms, left_out, RICH, actions=both) == "proven"

    run(tmp_path, story)


@pytest.mark.parametrize(
    "actions",
    [
        "zkp.prove.age.gte",
        "zkp.prove.country.eq zkp.prove.age.gte",
        "zkp.prove.age.gte zkp.prove.country.eq zkp.prove.income.gte",
        "zkp.prove.age.gte  zkp.prove.country.eq",
        " zkp.prove.age.gte zkp.prove.country.eq",
        "zkp.prove.age.gte zkp.prove.country.eq ",
        "zkp.prove.age.gte\tzkp.prove.country.eq",
        "zkp.prove.age.gte\u00a0zkp.prove.country.eq",
        "zkp.prove.age.gte,zkp.prove.country.eq",
        "zkp.prove.age.gte zkp.prove.*.eq",
        "zkp.prove.age.gte zkp.prove.*.*",
        "zkp.prove.age.gte zkp.prove.country.eq.hAAAAAAAAAAAAAAAAAAAAAA",
        " ".join(["zkp.prove.age.gte"] * 17),
    ],
)
def test_an_ibct_names_each_in_its_place(tmp_path: Path, actions: str) -> None:
    async def story(rooms: Proving) -> None:
        assert await answer(rooms, ADULT, FROM_JAPAN, actions=actions) == "SCOPE_MISMATCH"

    run(tmp_path, story)


def test_the_grants_cover_each(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate("zkp.prove.age.*", "zkp.prove.country.eq")
        assert await answer(rooms, ADULT, FROM_JAPAN) == "proven"
        for uncovered in ((ADULT, RICH), (RICH, ADULT), (ADULT, FROM_JAPAN, RICH)):
            assert await answer(rooms, *uncovered) == "SCOPE_MISMATCH"

    run(tmp_path, story)


def test_unsatisfiable_value_is_refused_before_use(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        for asked in ((ADULT, {**ADULT, "type": "lt"}), (FROM_JAPAN, FROM_FRANCE)):
            assert await answer(rooms, *asked) == "PREDICATE_UNSUPPORTED"
        assert (await rooms.uses(), rooms.workers.proofs) == (0, 0)

    run(tmp_path, story)


def test_one_no_is_one_refusal(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(max_refusals=2)
        assert await answer(rooms, ADULT, FROM_FRANCE, {**RICH, "value": 10**9}) == "PREDICATE_NOT_SATISFIED"
        chain = await rooms.store.delegations.chain(rooms.delegation.id)
        assert chain is not None
        assert (chain.leaf.refusals, chain.leaf.suspended_reason) == (1, None)
        assert await answer(rooms, FROM_FRANCE, ADULT) == "PREDICATE_NOT_SATISFIED"
        chain = await rooms.store.delegations.chain(rooms.delegation.id)
        assert chain is not None
        assert (chain.leaf.refusals, chain.leaf.suspended_reason) == (2, Suspension.REFUSALS)

    run(tmp_path, story)
