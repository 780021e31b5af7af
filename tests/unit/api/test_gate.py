"""The order at the gate: the address pays before a store or a signature is asked, and who is known pays for himself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from identity_kit.conformance.key_store import key

from identity_core.api.request import Answer, Operation, Request
from identity_core.api.security import Gate
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, Overloaded, RateLimited
from identity_core.throttle.memory import Decision
from identity_core.throttle.policy import BucketEmpty, Limit
from identity_core.use_cases.auth.authenticate import ApiKeyCache, AuthenticateApiKey
from tests.unit.use_cases.auth.memory_keys import MemoryKeys, MovingClock

TEXT = "the text of ci"
CI = key("ci", expires_at=None)
HANA = Did.parse("did:toy:hana")
LIST = Operation("listDelegations", "GET", "/delegations", frozenset({"ApiKey", "Bearer", "DIDAuth"}), "ApiKey")


class Buckets:
    """Tells who paid, in order; ``empty`` names the buckets that have nothing left."""

    def __init__(self, told: list[str]) -> None:
        self.told = told
        self.empty: set[str] = set()

    async def _spend(self, name: str) -> list[tuple[str, str]]:
        self.told.append(name)
        if name in self.empty:
            raise BucketEmpty(Limit(name, 1.0, 1), Decision(False, 0, 1.0, 1.0))
        return [("RateLimit", name)]

    async def spend_key(self, key: ApiKey, tokens: int = 1) -> list[tuple[str, str]]:
        return await self._spend("key")

    async def spend_address(self, address: str | None, tokens: int = 1) -> list[tuple[str, str]]:
        return await self._spend("address")

    async def spend_did(self, account: str, tokens: int = 1) -> list[tuple[str, str]]:
        return await self._spend("did")


class TellingKeys(MemoryKeys):
    """A store that tells when it is asked."""

    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self.told = told
        self.by_id = {CI.id: CI}

    async def find(self, digest: str) -> ApiKey | None:
        self.told.append("store")
        return await super().find(digest)


class Tokens:
    """Bearer tokens: ``good`` is one that was checked before, ``new`` one that is good too; ``ended`` was good once."""

    def __init__(self, told: list[str]) -> None:
        self.told = told

    def own(self) -> Tokens:
        return self

    def claims_to_be_ours(self, text: str) -> bool:
        return text in ("good", "new", "ended")

    def has_been_good(self, text: str) -> bool:
        return text in ("good", "ended")

    async def __call__(self, text: str, resource: str) -> Caller:
        assert resource == ""
        self.told.append("signature")
        if text not in ("good", "new"):
            raise AuthFailed
        return Caller(subject=HANA)


class World:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.clock = MovingClock()
        self.buckets, self.store = Buckets(self.told), TellingKeys(self.told)
        keys = AuthenticateApiKey((self.store,), ApiKeyCache(self.clock), self.clock, str)
        parts: Any = {"reader": None, "signatures": None, "bearers": Tokens(self.told), "policy": self.buckets}
        self.gate = Gate(api_keys=keys, trusted_proxies=(), mismatch=lambda: None, answers=None, places=4, **parts)  # type: ignore[arg-type]

    def ask(self, **headers: str) -> list[str]:
        """What happened, in order; the refusal, if there was one, at the end."""
        self.told.clear()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(request_id="r", operation_id="listDelegations", path={}, headers=sent)
        request.repeated = {}
        try:
            asyncio.run(self.gate.admit(LIST, request))
        except (AuthFailed, RateLimited) as refusal:
            self.told.append(refusal.code)
        return list(self.told)


@pytest.fixture
def world() -> World:
    return World()


def test_unknown_key_charges_address_before_store(world: World) -> None:
    assert world.ask(x_api_key="guess") == ["address", "store", "AUTH_FAILED"]
    world.buckets.empty.add("address")
    assert world.ask(x_api_key="another guess") == ["address", "RATE_LIMITED"]
    assert world.ask(authorization="Bearer guess") == ["address", "RATE_LIMITED"]
    assert world.ask(authorization="ApiKey guess") == ["address", "RATE_LIMITED"]


def test_a_key_that_was_good_pays_for_itself(world: World) -> None:
    assert world.ask(x_api_key=TEXT) == ["address", "store", "key"]
    world.buckets.empty.add("address")
    assert world.ask(x_api_key=TEXT) == ["key"]
    world.clock.sleep(3600)
    assert world.ask(x_api_key=TEXT) == ["store", "key"]


def test_a_key_that_is_good_no_more_is_paid_for_by_the_address(world: World) -> None:
    world.ask(x_api_key=TEXT)
    world.store.by_id.clear()
    world.clock.sleep(3)
    assert world.ask(x_api_key=TEXT) == ["store", "address", "AUTH_FAILED"]
    assert world.ask(x_api_key=TEXT) == ["address", "AUTH_FAILED"]


def test_a_did_pays_out_of_its_own_bucket(world: World) -> None:
    assert world.ask(authorization="Bearer new") == ["address", "signature", "did"]
    world.buckets.empty.add("address")
    assert world.ask(authorization="Bearer good") == ["signature", "did"]
    assert world.ask(authorization="Bearer new") == ["address", "RATE_LIMITED"]
    world.buckets.empty.add("did")
    assert world.ask(authorization="Bearer good") == ["signature", "did", "RATE_LIMITED"]


def test_a_token_that_was_good_once_is_not_free(world: World) -> None:
    assert world.ask(authorization="Bearer ended") == ["signature", "address", "AUTH_FAILED"]
    world.buckets.empty.add("address")
    assert world.ask(authorization="Bearer ended") == ["signature", "address", "RATE_LIMITED"]


def test_address_holds_few_places_until_they_are_free(world: World) -> None:
    async def story() -> None:
        release = asyncio.Event()

        async def wait(request: Request) -> Answer:
            await release.wait()
            return Answer(204)

        run = world.gate.shared(wait)
        held = [asyncio.create_task(run(Request(client_address="192.0.2.1"))) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as refused:
            await run(Request(client_address="192.0.2.1"))
        assert refused.value.details == {"retryAfter": 1}
        # One network of IPv6 is one address; a known caller has places of its own.
        held += [asyncio.create_task(run(Request(client_address=f"2001:db8::{one}"))) for one in range(4)]
        held.append(asyncio.create_task(run(Request(client_address="192.0.2.1", caller=Caller(subject=HANA)))))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await run(Request(client_address="2001:db8::5"))
        # A client that goes away gives its place back.
        held.pop(0).cancel()
        await asyncio.sleep(0)
        held.append(asyncio.create_task(run(Request(client_address="192.0.2.1"))))
        await asyncio.sleep(0)
        release.set()
        assert [answer.status for answer in await asyncio.gather(*held)] == [204] * 9
        assert world.gate.held == []

    asyncio.run(story())
