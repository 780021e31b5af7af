"""Anonymous verification uses no capacity of authenticated clients: neither the prover's nor that of signature checks.

A proof about 4,096 values has the highest cost. Six addresses with sixty connections each have variations of it verified, with
limits that refuse no client, so that the reserved capacity is tested. The limits have a test of their own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.attack.flood import PATH, Flood, variations
from tests.attack.stranger import GENEROUS, PREFIX, SECONDS, Answer, Wire, at_once

pytest.importorskip("identity_prover_bbs")

INCOME = 5_213_774
SET = list(range(INCOME - 2_000, INCOME + 2_096))
ADDRESSES = [f"127.0.0.{number}" for number in range(2, 8)]
PROOFS = 42


def dearest(scene: Scene) -> str:
    """The text of an honest proof about 4,096 values."""
    answer = scene.ask(scene.body(about=("income", "set_member", SET)))
    assert answer.outcome == (201, None)
    text: str = answer.json["proof"]["proof"]
    return text


def honest_beside(flood: Flood, scene: Scene, count: int) -> list[Answer]:
    """So many proofs of bounds, one after another, while the flood runs; they begin when strangers have got answers."""

    async def both() -> list[Answer]:
        done = asyncio.Event()
        flooding = asyncio.create_task(flood.run(done))
        try:
            while sum(flood.answers.values()) < 30:
                await asyncio.sleep(0.02)
                assert not flooding.done()
            return [await asyncio.to_thread(scene.ask) for _ in range(count)]
        finally:
            done.set()
            await flooding

    return asyncio.run(both())


def verdict_for_a_stranger(target: Target, proof: object) -> bool:
    """What one is told who comes after the flood, as soon as there is a place."""
    while (answer := target.wire.call("POST", PATH, proof)).outcome == (503, "OVERLOADED"):
        time.sleep(float(answer.headers["retry-after"]))
    assert answer.outcome == (200, None)
    return bool(answer.json["verified"])


@pytest.mark.parametrize("addresses", [1, 6])
def test_every_honest_proof_is_served_beside_flooding_strangers(
    targets: Callable[[int], Target], peoples: Callable[[Target], People], addresses: int
) -> None:
    target = targets(1)
    scene = Scene.create(peoples(target), suite=1)
    flood = Flood(target.wire.address, variations(dearest(scene), 24), ADDRESSES[:addresses], 360 // addresses)
    answers = honest_beside(flood, scene, PROOFS)
    assert [answer.outcome for answer in answers] == [(201, None)] * PROOFS
    # Where there are too many, strangers are turned away and not queued.
    assert flood.answers[503] > 0, flood.answers
    assert set(flood.answers) <= {200, 503}, flood.answers
    assert verdict_for_a_stranger(target, answers[0].json["proof"])


def test_a_known_caller_verifies_beside_flooding_strangers(
    targets: Callable[[int], Target], peoples: Callable[[Target], People]
) -> None:
    target = targets(1)
    scene = Scene.create(peoples(target), suite=1)
    proof = scene.ask().json["proof"]
    flood = Flood(target.wire.address, variations(dearest(scene), 24), ADDRESSES, 60)
    key = {"X-API-Key": target.stranger.api_key}

    def verify() -> Answer:
        return target.wire.call("POST", PATH, proof, key)

    async def both() -> list[Answer]:
        done = asyncio.Event()
        flooding = asyncio.create_task(flood.run(done))
        try:
            while flood.answers[503] < 30:
                await asyncio.sleep(0.02)
                assert not flooding.done()
            return [await asyncio.to_thread(verify) for _ in range(10)]
        finally:
            done.set()
            await flooding

    assert [answer.json["verified"] for answer in asyncio.run(both())] == [True] * 10
    assert verdict_for_a_stranger(target, proof)


def test_a_large_proof_empties_the_bucket_of_its_sender() -> None:
    """Rate 0.001 and burst 100: what one address can have verified at once, by size. The numbers are those of the document."""
    from tests.servers import local_server

    limits = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.001", "IDENTITY_THROTTLE_ADDRESS_BURST": "100"}
    with local_server(environment=GENEROUS | limits | {"IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.0/8"}) as server:
        wire = Wire(server.url)

        def count_accepted(size: int, address: str) -> int:
            """How many bodies of so many bytes are let in."""
            body = b'{"proof":"' + b"A" * (size - 12) + b'"}'
            assert len(body) == size
            codes = [wire.call("POST", PATH, body, {"X-Forwarded-For": address}).outcome for _ in range(102)]
            assert set(codes) == {(200, None), (429, "RATE_LIMITED")}, codes
            return codes.index((429, "RATE_LIMITED"))

        sizes = [(4_096, 100), (4_608, 50), (30_000, 1), (131_000, 1)]
        assert [count_accepted(size, f"198.51.100.{place}") for place, (size, _) in enumerate(sizes)] == [
            count for _, count in sizes
        ]
        wire.close()


def test_checks_of_credentials_by_strangers_hold_up_no_issuer(
    targets: Callable[[int], Target], peoples: Callable[[Target], People]
) -> None:
    """Sixty-four strangers at once were as many as could wait in all: issuers stood in the same queue."""
    target = targets(1)
    people = peoples(target)
    holder = {"Authorization": f"Bearer {people.bearer(people.hana)}"}
    shown = target.wire.call("GET", f"{PREFIX}/credentials/{people.issue(people.hana)}", None, holder).json
    body = {"credential": shown["credential"]}

    def ask() -> tuple[int, str | None]:
        return target.wire.call("POST", f"{PREFIX}/credentials/verify", body).outcome

    def issue() -> str:
        return people.issue(people.hana)

    assert ask() == (200, None)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        outcomes = at_once(target.wire, [ask] * 110 + [issue] * 8)
        assert set(outcomes[:110]) <= {(200, None), (503, "OVERLOADED")}
        assert all(isinstance(one, str) for one in outcomes[110:]), outcomes[110:]
        if (503, "OVERLOADED") in outcomes[:110]:
            return
    pytest.fail("the crowd was too slow to show anything")
