"""Stored requests: limits of open ones, one answer, nothing in plain text, and deletion a day after the end."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from identity_consents.consents import HolderConsents
from identity_consents.extension import REQUESTS
from identity_consents.store import (
    CONSENT,
    PROOF,
    ConsentReply,
    StoredConsentReplies,
    StoredRequest,
    StoredRequests,
)
from identity_consents.waiting import ConsentRequests
from identity_operations.retention import StoredRecords

from identity_codec.values import replace
from identity_core.api.idempotency import REPLAYED, Idempotency
from identity_core.api.request import Answer, Request
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import Overloaded
from identity_core.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HANA, AKI, BO = "did:key:hana", "did:key:aki", "did:key:bo"


def build_request(number: int, *, agent: str = AKI, owner: str = HANA, kind: str = CONSENT) -> StoredRequest:
    made = NOW + timedelta(seconds=number)
    return StoredRequest(f"{number:064x}", kind, owner, agent, b"box", None, made, NOW + timedelta(minutes=15))


async def keep(requests: StoredRequests, one: StoredRequest) -> bool:
    return await requests.keep(one, of_owner=4, of_agent=2)


def test_open_requests_of_agent_and_holder_are_limited(store: Store) -> None:
    async def scenario() -> None:
        requests = StoredRequests(store.database)
        agents = [AKI, AKI, AKI, BO, BO, "did:key:cy"]
        kept = [await keep(requests, build_request(number, agent=agent)) for number, agent in enumerate(agents)]
        assert kept == [True, True, False, True, True, False]
        # Another holder has a list of her own, and so has a verifier of the same DID.
        assert await keep(requests, build_request(7, owner="did:key:ida"))
        assert await keep(requests, build_request(8, kind=PROOF))
        # An answered request leaves its place.
        assert await requests.settle(f"{0:064x}", b"result")
        assert await keep(requests, build_request(9))

    asyncio.run(scenario())


def test_list_has_the_unexpired_of_one_owner_newest_first(store: Store) -> None:
    async def scenario() -> None:
        requests = StoredRequests(store.database)
        for number in (1, 2):
            assert await keep(requests, build_request(number))
        assert await keep(requests, build_request(3, owner=BO))
        listed = await requests.list(HANA, CONSENT, NOW)
        assert [one.id for one in listed] == [f"{2:064x}", f"{1:064x}"]
        assert await requests.list(HANA, PROOF, NOW) == []
        assert await requests.list(HANA, CONSENT, NOW + timedelta(minutes=15)) == []
        assert await requests.get(listed[0].id, PROOF) is None
        assert await requests.get("\0", CONSENT) is None

    asyncio.run(scenario())


def test_request_is_answered_once_and_with_its_reply(store: Store) -> None:
    async def scenario() -> None:
        requests, replies = StoredRequests(store.database), StoredConsentReplies(store.database)
        for number in (1, 2):
            assert await keep(requests, build_request(number))
        assert await requests.settle(f"{1:064x}", b"first")
        assert not await requests.settle(f"{1:064x}", b"second")
        reply = ConsentReply(bytes.fromhex(f"{2:064x}"), b"sealed", NOW)
        assert await replies.keep(reply)
        assert not await replies.keep(replace(reply, sealed=b"another"))
        found = await requests.list(HANA, CONSENT, NOW)
        assert [one.result for one in found] == [b"sealed", b"first"]

    asyncio.run(scenario())


def test_owner_alone_deletes_and_expired_requests_go(store: Store) -> None:
    async def scenario() -> None:
        requests = StoredRequests(store.database)
        one, two = build_request(1), build_request(2)
        for each in (one, two):
            assert await keep(requests, each)
        await requests.delete(replace(one, owner=BO))
        assert await requests.get(one.id, CONSENT) is not None
        await requests.delete(one)
        assert await requests.get(one.id, CONSENT) is None
        assert await requests.forget(two.expires_at - timedelta(seconds=1), limit=9) == 0
        assert await requests.forget(two.expires_at, limit=9) == 1

    asyncio.run(scenario())


def test_requests_are_erased_with_the_records_of_their_holder(store: Store) -> None:
    async def scenario() -> None:
        requests, records = StoredRequests(store.database), StoredRecords(store.database, [REQUESTS])
        for number, kind in ((1, CONSENT), (2, PROOF)):
            assert await keep(requests, build_request(number, kind=kind))
        assert await keep(requests, build_request(3, owner=BO, agent=HANA))
        assert await requests.settle(f"{1:064x}", b"result")
        shown = await records.page("requests", HANA, after="", limit=9)
        assert [(row["id"], "sealed" in row, "result" in row) for _, row in shown] == [
            (f"{number:064x}", False, False) for number in (1, 2, 3)
        ]
        assert await records.erase("requests", HANA, limit=9) == 2
        assert await records.waiting("requests", HANA) == 0
        assert [await requests.get(f"{number:064x}", kind) for number, kind in ((1, CONSENT), (2, PROOF))] == [None] * 2
        # Bo's list still has the request of Hana as an agent: it is about Bo.
        assert await requests.get(f"{3:064x}", CONSENT) is not None

    asyncio.run(scenario())


def test_request_whose_answer_failed_is_stored_once(store: Store) -> None:
    """The answer is stored with the request: a failure after that, such as a killed process, makes no second one."""

    async def scenario() -> None:
        clock = SimpleNamespace(now=lambda: NOW)
        kernel: Any = SimpleNamespace(clock=clock)
        consents = HolderConsents(StoredConsentReplies(store.database), kernel.clock, b"s" * 32, os.urandom)
        requests = ConsentRequests(StoredRequests(store.database), consents, kernel)
        around = Idempotency(store.idempotency, kernel.clock, bytes(32), os.urandom)

        async def send() -> Answer:
            headers = {"idempotency-key": "k1-of-sixteen-characters"}
            request = Request(method="POST", headers=headers, caller=Caller(subject=Did.parse("did:key:zAki")))
            request.operation_id = "createConsentRequest"

            async def run() -> Answer:
                request.showing(lambda made: Answer(201, {"id": made.stored.id}))
                await requests.keep(consents.ask(AKI, HANA, {}), {}, request.context)
                raise Overloaded

            return await around(request, run)

        with pytest.raises(Overloaded):
            await send()
        again = await send()
        (stored,) = await requests.stored.list(HANA, CONSENT, NOW)
        assert (again.status, again.body) == (201, orjson.dumps({"id": stored.id}))
        assert REPLAYED in again.headers

    asyncio.run(scenario())
