"""Turns: one step a round, in order, and others in between."""

from __future__ import annotations

import asyncio
import itertools

from identity_core.use_cases.proofs.generate import FairQueue


def test_others_go_in_between() -> None:
    async def scenario() -> list[str]:
        turns, seen = FairQueue(), []
        loop = asyncio.get_running_loop()

        async def proof(name: str) -> None:
            await turns()
            seen.append(name)

        def other() -> None:
            seen.append("other")
            if len(seen) < 12:
                loop.call_soon(other)

        steps = [asyncio.create_task(proof(f"proof {number}")) for number in range(3)]
        loop.call_soon(other)
        await asyncio.gather(*steps)
        return seen

    seen = asyncio.run(scenario())
    proofs = [name for name in seen if name != "other"]
    assert proofs == ["proof 0", "proof 1", "proof 2"]
    assert all("other" in seen[seen.index(one) : seen.index(next_one)] for one, next_one in itertools.pairwise(proofs))


def test_first_of_round_goes_on_at_once_and_next_in_next_round() -> None:
    async def scenario() -> None:
        turns = FairQueue()
        for _ in range(2):
            first, second = turns(), turns()
            assert (first.done(), second.done()) == (True, False)
            await second
            third = turns()
            assert not third.done(), "the round is the second's"
            await third
            # Until the round of the third has ended.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_cancelled_waiter_blocks_no_other() -> None:
    async def scenario() -> str:
        turns = FairQueue()
        leaving = asyncio.ensure_future(turns())
        leaving.cancel()
        await turns()
        return "there"

    assert asyncio.run(asyncio.wait_for(scenario(), 60)) == "there"
