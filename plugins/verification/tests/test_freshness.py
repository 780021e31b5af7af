"""Challenges of verifiers: bound to their owner and domain, good for one success."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from identity_verification.domain.checks import CheckCode
from identity_verification.handlers import VerificationHandlers
from identity_verification.store import StoredVerifierChallenges
from identity_verification.use_cases.verify import VerifyStoredProof
from identity_verification.wire import CreateVerifierChallengeRequest

from identity_codec.values import replace
from identity_core.api.idempotency import REPLAYED, Idempotency
from identity_core.api.request import Answer, Request
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.stored import StoredProof
from identity_core.errors import Overloaded
from identity_core.use_cases.record import Record
from tests.verifying import OPERATOR, Verifying, about, asking

SHOP = "https://shop.example"


async def make_proof_for(rooms: Verifying, caller: Caller) -> tuple[str, StoredProof]:
    """A challenge of the caller's, and a proof that is bound to it."""
    text, challenge = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), caller)
    assert (challenge.domain, challenge.expires_at - rooms.clock.now()) == (SHOP, timedelta(minutes=5))
    return text, await rooms.create_proof(challenge=text, domain=SHOP)


def tell(folder: Path, story: object) -> None:
    async def tell_verdict() -> None:
        rooms = Verifying(folder)
        try:
            await rooms.begin()
            await story(rooms)  # type: ignore[operator]
        finally:
            await rooms.close()

    asyncio.run(tell_verdict())


def test_it_serves_one_success(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, made = await make_proof_for(rooms, vera)
        question = asking(challenge=text)
        # A failure spends nothing.
        assert not (await rooms.verify(made, asking(challenge=text, issuer="did:ids:x"), caller=vera)).verified
        first = await rooms.verify(made, question, caller=vera)
        assert first.verified
        for again in (
            await rooms.verify(made, question, caller=vera),
            await rooms.verify_stored(made, question, caller=vera),
        ):
            assert again.errors == (CheckCode.CHALLENGE_SPENT,)
            named = {check.name: check.ok for check in again.checks}
            assert len(named) == len(again.checks)
            assert (named["challenge"], named["challengeUse"]) == (True, False)

    tell(tmp_path, story)


def test_one_of_many_concurrent_holders_wins(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, made = await make_proof_for(rooms, vera)
        verdicts = await asyncio.gather(
            *(rooms.verify_stored(made, asking(challenge=text), caller=vera) for _ in range(24))
        )
        assert [verdict.verified for verdict in verdicts].count(True) == 1
        assert {verdict.errors for verdict in verdicts} == {(), (CheckCode.CHALLENGE_SPENT,)}

    tell(tmp_path, story)


def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, made = await make_proof_for(rooms, vera)
        for other in (rooms.caller(rooms.mallory), OPERATOR, None):
            verdict = await rooms.verify(made, asking(challenge=text), caller=other)
            assert verdict.errors == (CheckCode.CHALLENGE_UNKNOWN,)
        # Whether she signs or bears a token, Vera is Vera; an operator with a token for her is not.
        acting = Caller(subject=rooms.did(rooms.vera), operator=OPERATOR.api_key)
        verdict = await rooms.verify(made, asking(challenge=text), caller=acting)
        assert verdict.errors == (CheckCode.CHALLENGE_UNKNOWN,)
        bearer = Caller(subject=rooms.did(rooms.vera))
        assert (await rooms.verify(made, asking(challenge=text), caller=bearer)).verified

    tell(tmp_path, story)


def test_it_is_for_its_domain(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, _ = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), vera)
        elsewhere = await rooms.create_proof(challenge=text, domain="https://other.example")
        verdict = await rooms.verify(elsewhere, asking(challenge=text), caller=vera)
        assert verdict.errors == (CheckCode.DOMAIN_MISMATCH,)
        verdict = await rooms.verify(elsewhere, asking(challenge=text, domain="https://other.example"), caller=vera)
        assert verdict.errors == (CheckCode.DOMAIN_MISMATCH,)
        assert not (await StoredVerifierChallenges(rooms.store.database).find(text)).spent  # type: ignore[union-attr]

    tell(tmp_path, story)


def test_it_expires(tmp_path: Path) -> None:
    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, made = await make_proof_for(rooms, vera)
        rooms.clock.move(minutes=5)
        verdict = await rooms.verify(made, asking(challenge=text), caller=vera)
        assert verdict.errors == (CheckCode.CHALLENGE_UNKNOWN,)

    tell(tmp_path, story)


class FailsOnce:
    """A history whose first row cannot be written, after the challenge was used up."""

    def __init__(self, record: Record) -> None:
        self.record, self.failed = record, False

    async def __call__(self, *event: Any) -> None:
        if not self.failed:
            self.failed = True
            raise Overloaded
        await self.record(*event)


@pytest.mark.parametrize("operation", ["verifyProof", "verifyStoredProof"])
def test_verdict_survives_a_failure_after_the_use(tmp_path: Path, operation: str) -> None:
    """The verdict is stored together with the use of the challenge: the same request, repeated, must not be refused as a replay."""

    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, made = await make_proof_for(rooms, vera)
        received = replace(rooms.received, record=FailsOnce(rooms.received.record))
        nothing: Any = None
        handlers = VerificationHandlers(
            nothing, received, VerifyStoredProof(received), nothing, nothing, nothing, nothing
        )
        around = Idempotency(rooms.store.idempotency, rooms.clock, bytes(32), os.urandom)

        async def send(key: str, caller: Caller = vera) -> Answer:
            body = about(asking(challenge=text), proof=made.proof.proof)
            headers = {"idempotency-key": key}
            request = Request(method="POST", headers=headers, caller=caller, body_octets=text.encode())
            request.operation_id, request.body, request.path = operation, body, {}
            if operation == "verifyStoredProof":
                request.body, request.path = asking(challenge=text), {"proofId": made.id}
            run = handlers.verify_proof if operation == "verifyProof" else handlers.verify_stored_proof
            return await around(request, lambda: run(request))

        with pytest.raises(Overloaded):
            await send("k1-of-sixteen-characters")
        again = await send("k1-of-sixteen-characters")
        assert REPLAYED in again.headers
        assert orjson.loads(again.body)["errors"] == []  # type: ignore[arg-type]
        assert (await send("k2-of-sixteen-characters")).body.errors == (CheckCode.CHALLENGE_SPENT,)  # type: ignore[union-attr]
        other = await send("k1-of-sixteen-characters", rooms.caller(rooms.mallory))
        assert other.body.errors == (CheckCode.CHALLENGE_UNKNOWN,)  # type: ignore[union-attr]

    tell(tmp_path, story)
