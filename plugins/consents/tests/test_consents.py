"""The right to answer an agent's request, and the right to fetch the answer."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from identity_consents.consents import LIFETIME, MAX_ANSWER, AskedConsent, HolderConsents
from identity_consents.requests import MAX_REPLY
from identity_consents.store import ConsentReply

from identity_core.bootstrap.ports import consents_secret
from identity_core.errors import IbctInvalid, InvalidRequest
from identity_core.extension.opening import OpenKernel
from tests.did_use_cases import MovableClock

AKI, HANA, MALLORY = "did:ids:aki", "did:ids:hana", "did:ids:mallory"
REQUEST: dict[str, Any] = {"agentDid": AKI, "predicates": [{"attributeName": "age", "type": "gte", "value": 18}]}
IBCT = {
    "id": "urn:uuid:1f8f3f0e-9d1c-4c11-8b9b-6a2f7d1f0a11",
    "type": "InvocationBoundCapabilityToken",
    "invoker": HANA,
    "target": AKI,
    "action": "zkp.prove.age.gte.18",
    "delegationRef": "0f8f3f0e-9d1c-4c11-8b9b-6a2f7d1f0a12",
    "nonce": "a" * 22,
    "issuedAt": "2026-01-01T00:00:00Z",
    "expiresAt": "2026-01-01T01:00:00Z",
    "proofValue": "z" + "1" * 64,
}


class Kept:
    """Replies in memory."""

    def __init__(self) -> None:
        self.rows: dict[bytes, ConsentReply] = {}

    async def keep(self, reply: ConsentReply) -> bool:
        return self.rows.setdefault(reply.digest, reply) is reply

    async def find(self, digest: bytes) -> ConsentReply | None:
        return self.rows.get(digest)

    async def forget(self, until: datetime, *, limit: int) -> int:
        raise AssertionError("another component forgets")


class World:
    def __init__(self, secret: bytes = b"s" * 32) -> None:
        self.kept, self.clock, turn = Kept(), MovableClock(), iter(range(1_000_000))
        self.consents = HolderConsents(
            self.kept, self.clock, secret, lambda count: next(turn).to_bytes(8, "big").rjust(count, b"r")
        )

    def ask(self) -> AskedConsent:
        return self.consents.ask(AKI, HANA, REQUEST)

    def answer(self, reply: str, answer: Any, holder: str = HANA) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        asyncio.run(self.consents.answer(reply, holder, text))

    def find(self, reply: str, agent: str = AKI, holder: str = HANA, request: Any = REQUEST) -> Any:
        return asyncio.run(self.consents.find(reply, agent, holder, request))[1:]


def approval(**change: str) -> dict[str, Any]:
    return {"credentialId": "c1", "ibct": IBCT | change, "holderDid": HANA}


def test_an_approval_comes_back_to_the_agent_that_asked() -> None:
    world = World()
    asked = world.ask()
    assert HANA not in asked.reply
    assert world.find(asked.reply) == (False, None)
    world.answer(asked.reply, approval())
    is_answered, found = world.find(asked.reply)
    assert (is_answered, found.credential_id, found.ibct) == (True, "c1", IBCT)
    (row,) = world.kept.rows.values()
    assert b"InvocationBound" not in row.sealed
    assert row.expires_at == asked.expires_at


def test_a_no_is_an_answer_and_the_first_answer_stays() -> None:
    world = World()
    asked = world.ask()
    world.answer(asked.reply, None)
    with pytest.raises(InvalidRequest, match="answered"):
        world.answer(asked.reply, approval())
    assert world.find(asked.reply) == (True, None)


def test_nobody_but_the_holder_answers() -> None:
    world = World()
    asked = world.ask()
    for answer in (approval(), None):
        with pytest.raises(InvalidRequest, match="another holder"):
            world.answer(asked.reply, answer, MALLORY)
    assert world.find(asked.reply) == (False, None)


@pytest.mark.parametrize(
    "other",
    [
        {"agent": MALLORY},
        {"holder": MALLORY},
        {"request": REQUEST | {"domain": "https://other.example"}},
        {"request": {**REQUEST, "predicates": [{"attributeName": "age", "type": "gte", "value": 21}]}},
    ],
)
def test_the_answer_is_to_this_request_of_this_agent_alone(other: dict[str, Any]) -> None:
    world = World()
    asked = world.ask()
    world.answer(asked.reply, approval())
    with pytest.raises(InvalidRequest, match="another request"):
        world.find(asked.reply, **other)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "{",
        "[]",
        "true",
        "{}",
        '{"credentialId":1,"ibct":{}}',
        '{"credentialId":"c","credentialId":"d","ibct":{}}',
        json.dumps({"credentialId": "c", "ibct": {"id": 1}}),
        json.dumps(approval(invoker=MALLORY)),
        json.dumps(approval(target=MALLORY)),
        json.dumps(approval() | {"more": "x" * MAX_ANSWER}),
    ],
)
def test_approval_for_another_agent_is_not_stored(answer: str) -> None:
    world = World()
    asked = world.ask()
    with pytest.raises(InvalidRequest):
        world.answer(asked.reply, answer)
    assert world.kept.rows == {}


def test_a_token_of_another_form_is_not_kept() -> None:
    world = World()
    with pytest.raises(IbctInvalid):
        world.answer(world.ask().reply, {"credentialId": "c", "ibct": {}})
    assert world.kept.rows == {}


def test_a_reply_ends_and_cannot_be_made_by_others() -> None:
    world, other = World(), World(b"o" * 32)
    asked = world.ask()
    for reply in (
        "",
        "x",
        asked.reply[:-8] + asked.reply[-8:].swapcase(),
        other.ask().reply,
        "A" * (MAX_REPLY + 1),
        "é",
        "=",
    ):
        with pytest.raises(InvalidRequest, match="not a request"):
            world.consents.open_reply(reply)
    world.clock.time = asked.expires_at - timedelta(seconds=1)
    assert world.consents.open_reply(asked.reply) == asked
    world.clock.time = asked.expires_at
    with pytest.raises(InvalidRequest, match="expired"):
        world.consents.open_reply(asked.reply)
    assert asked.expires_at - MovableClock().time <= LIFETIME


def test_secret_of_before_the_extension_is_the_same() -> None:
    """Replies that a service of version 1.0 has made stay valid: the secret is what it derived."""

    class Signing:
        async def sign(self, name: str, message: bytes) -> bytes:
            return name.encode() + b"|" + message

    unused: Any = None
    root = asyncio.run(consents_secret(Signing()))  # type: ignore[arg-type]
    kernel = OpenKernel(*[unused] * 6, bytes(32), unused, {}, {}, "consents", roots={"consents": root})
    assert kernel.secret("replies").hex() == "182074e41641b8e74bdbf0d30669cda14760aa7739349aefd2f281950a061bba"
    assert kernel.secret("other") != kernel.secret("replies")
