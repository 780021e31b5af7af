from __future__ import annotations

import asyncio
import json
import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_kit.conformance.key_store import key

from identity_codec.values import replace
from identity_core.api import idempotency
from identity_core.api.idempotency import REPLAYED, Idempotency
from identity_core.api.request import Answer, Request
from identity_core.domain.callers import Caller
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    AuthFailed,
    DidExists,
    IdempotencyMismatch,
    InternalError,
    InvalidRequest,
    LedgerUnavailable,
    Overloaded,
    RateLimited,
    RequestInProgress,
)
from identity_core.store import Store

ALICE, BOB = (Caller(api_key=key(name, lineage=None)) for name in ("alice", "bob"))
SECRET = bytes(range(32))
PRIVATE_KEY = "z3u2Secret-that-must-not-leak"


class StillClock:
    time = datetime(2026, 1, 2, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return 0.0


class Shop:
    """A handler that counts its work, behind the real store."""

    def __init__(self, directory: Path, secret: bytes = SECRET) -> None:
        self.directory = directory
        self.clock = StillClock()
        self.store = Store.open(directory, None, processes=1)
        self.around = Idempotency(self.store.idempotency, self.clock, secret, os.urandom)
        self.made = 0
        self.outcome: Answer | Exception | None = None
        self.gate: asyncio.Event | None = None

    async def make(self) -> Answer:
        self.made += 1
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if self.outcome is not None:
            return self.outcome
        body = {"number": self.made, "privateKey": PRIVATE_KEY}
        return Answer(201, body, headers=[("Cache-Control", "no-store"), ("Location", f"/things/{self.made}")])

    async def ask(self, idempotency_key: str | None = "k1-of-sixteen-characters", **request) -> Answer:
        return await self.around(a_request(idempotency_key, **request), self.make)


def a_request(
    idempotency_key: str | None,
    *,
    body: bytes = b'{"a":1,"b":2}',
    caller: Caller | None = ALICE,
    operation: str = "createThing",
    path: dict[str, str] | None = None,
    query: bytes = b"",
) -> Request:
    headers = {} if idempotency_key is None else {"idempotency-key": idempotency_key}
    request = Request(method="POST", headers=headers, caller=caller, body_octets=body, path=path or {})
    request.operation_id, request.query_octets = operation, query
    return request


def run(directory, scenario, **options):
    async def whole():
        shop = Shop(directory, **options)
        try:
            return await scenario(shop)
        finally:
            await shop.store.close()

    return asyncio.run(whole())


def as_json(answer: Answer):
    return json.loads(answer.body) if isinstance(answer.body, bytes) else answer.body


def test_the_same_request_twice_is_done_once(tmp_path):
    async def scenario(shop):
        first = await shop.ask()
        second = await shop.ask(body=b'{ "b": 2, "a": 1 }')
        third = await shop.ask()
        assert shop.made == 1
        assert as_json(first) == as_json(second) == as_json(third)
        assert REPLAYED not in first.headers
        assert second.status == 201
        assert second.media_type == first.media_type
        assert list(second.headers) == [*first.headers, REPLAYED]

    run(tmp_path, scenario)


def test_an_answer_of_finished_bytes_and_one_without_a_body(tmp_path):
    async def scenario(shop):
        shop.outcome = Answer(200, b"\x00\n raw", media_type="application/jsonl")
        await shop.ask("bytes")
        replayed = await shop.ask("bytes")
        assert (replayed.body, replayed.media_type) == (b"\x00\n raw", "application/jsonl")
        shop.outcome = Answer(204)
        await shop.ask("none")
        assert (await shop.ask("none")).body is None

    run(tmp_path, scenario)


def test_it_outlives_the_process(tmp_path):
    async def scenario(shop):
        return await shop.ask()

    first, second = run(tmp_path, scenario), run(tmp_path, scenario)
    assert as_json(first) == as_json(second)
    assert REPLAYED in second.headers


def test_another_body_is_a_mismatch(tmp_path):
    async def scenario(shop):
        await shop.ask()
        for body in (b'{"a":1,"b":3}', b"{}", b"", b'{"a":1}'):
            with pytest.raises(IdempotencyMismatch):
                await shop.ask(body=body)
        assert shop.made == 1

    run(tmp_path, scenario)


def test_another_query_is_a_mismatch(tmp_path):
    async def scenario(shop):
        for first, query in ((b"method=ids", b"method=web"), (b"", b"method=ids")):
            key = f"key-of-sixteen-characters {first.decode()}".replace(" ", "-")
            await shop.ask(key, query=first)
            assert REPLAYED in (await shop.ask(key, query=first)).headers
            with pytest.raises(IdempotencyMismatch):
                await shop.ask(key, query=query)
        assert shop.made == 2

    run(tmp_path, scenario)


def test_another_body_is_a_mismatch_also_while_the_first_runs(tmp_path):
    async def scenario(shop):
        shop.gate = asyncio.Event()
        first = asyncio.create_task(shop.ask())
        while not shop.made:
            await asyncio.sleep(0.001)
        with pytest.raises(IdempotencyMismatch):
            await shop.ask(body=b"{}")
        with pytest.raises(RequestInProgress) as refused:
            await shop.ask()
        assert refused.value.details == {"retryAfter": 1}
        shop.gate.set()
        await first
        assert REPLAYED in (await shop.ask()).headers

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    "other",
    [
        {"caller": BOB},
        {"caller": Caller(did=Did.parse("did:ids:abc"))},
        {"operation": "createOther"},
        {"path": {"did": "did:ids:abc"}},
        {"idempotency_key": "k2-of-sixteen-characters"},
    ],
)
def test_a_key_belongs_to_its_caller_operation_and_path(tmp_path, other):
    async def scenario(shop):
        await shop.ask()
        assert REPLAYED not in (await shop.ask(**other)).headers
        assert shop.made == 2

    run(tmp_path, scenario)


def test_a_rotated_key_is_the_same_caller(tmp_path):
    async def scenario(shop):
        successor = Caller(api_key=key("alice2", lineage=ALICE.identity.removeprefix("key:")))
        await shop.ask()
        assert REPLAYED in (await shop.ask(caller=successor)).headers

    run(tmp_path, scenario)


def test_without_a_key_or_a_caller_the_request_just_runs(tmp_path):
    async def scenario(shop):
        for _ in range(2):
            await shop.ask(None)
            await shop.ask(caller=None)
        assert shop.made == 4

    run(tmp_path, scenario)


@pytest.mark.parametrize("bad", ["", " ", "a b", "x" * 256, "é", "a\x00", "a\n", "\x7f"])
def test_a_key_that_is_none_is_refused(tmp_path, bad):
    async def scenario(shop):
        with pytest.raises(InvalidRequest):
            await shop.ask(bad)
        assert shop.made == 0

    run(tmp_path, scenario)


def test_the_longest_key(tmp_path):
    async def scenario(shop):
        await shop.ask("~" * 255)
        assert REPLAYED in (await shop.ask("~" * 255)).headers

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    "refusal",
    [InvalidRequest(), RateLimited(), DidExists(), LedgerUnavailable(), Overloaded(), RuntimeError("a fault of ours")],
)
def test_a_refusal_is_not_kept(tmp_path, refusal):
    async def scenario(shop):
        shop.outcome = refusal
        for _ in range(2):
            with pytest.raises(type(refusal)):
                await shop.ask()
        shop.outcome = None
        assert REPLAYED not in (await shop.ask()).headers
        assert REPLAYED in (await shop.ask()).headers
        assert shop.made == 3

    run(tmp_path, scenario)


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_an_answer_that_is_no_success_is_not_kept(tmp_path, status):
    async def scenario(shop):
        shop.outcome = Answer(status, {})
        await shop.ask()
        await shop.ask()
        assert shop.made == 2

    run(tmp_path, scenario)


def test_64_at_once_are_done_once(tmp_path):
    async def scenario(shop):
        answers = await asyncio.gather(*(shop.ask() for _ in range(64)), return_exceptions=True)
        done = [each for each in answers if isinstance(each, Answer)]
        assert shop.made == 1
        assert len({json.dumps(as_json(each)) for each in done}) == 1
        assert all(isinstance(each, RequestInProgress) for each in answers if each not in done)

    run(tmp_path, scenario)


def test_a_client_that_goes_away_does_not_undo_what_has_begun(tmp_path):
    async def scenario(shop):
        shop.gate = asyncio.Event()
        gone = asyncio.create_task(shop.ask())
        while not shop.made:
            await asyncio.sleep(0.001)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        shop.gate.set()
        while True:
            try:
                answer = await shop.ask()
                break
            except RequestInProgress:
                await asyncio.sleep(0.001)
        assert REPLAYED in answer.headers
        assert shop.made == 1

    run(tmp_path, scenario)


def test_after_24_hours_a_key_is_new(tmp_path):
    async def scenario(shop):
        await shop.ask()
        shop.clock.time += timedelta(hours=23, minutes=59)
        assert REPLAYED in (await shop.ask()).headers
        shop.clock.time += timedelta(hours=1)
        assert REPLAYED not in (await shop.ask()).headers

    run(tmp_path, scenario)


def test_neither_the_key_nor_the_answer_is_in_the_files(tmp_path):
    async def scenario(shop):
        await shop.ask("Idempotency-Key-of-alice")

    run(tmp_path, scenario)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert PRIVATE_KEY.encode() not in data, file
            assert b"Idempotency-Key-of-alice" not in data, file


class Tampered:
    """The store, with what it gives back changed by a test."""

    def __init__(self, real, change) -> None:
        self.real, self.change = real, change

    async def begin(self, *arguments):
        record = await self.real.begin(*arguments)
        return record and replace(record, answer=self.change(record.answer))

    async def complete(self, *arguments):
        await self.real.complete(*arguments)

    async def abandon(self, *arguments):
        await self.real.abandon(*arguments)


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: replace(answer, status=200),
        lambda answer: replace(answer, headers=(("Location", "/things/2"),)),
        lambda answer: replace(answer, headers=()),
        lambda answer: replace(answer, body=answer.body[:-1] + bytes([answer.body[-1] ^ 1])),
        lambda answer: replace(answer, body=b""),
    ],
)
def test_a_stored_answer_that_was_changed_is_not_replayed(tmp_path, change):
    async def scenario(shop):
        await shop.ask()
        around = Idempotency(Tampered(shop.store.idempotency, change), shop.clock, SECRET, os.urandom)
        with pytest.raises(InternalError):
            await around(a_request("k1-of-sixteen-characters"), shop.make)
        assert shop.made == 1

    run(tmp_path, scenario)


def test_answers_cannot_be_swapped_between_callers(tmp_path):
    async def scenario(shop):
        stolen = []
        spy = Tampered(shop.store.idempotency, lambda answer: stolen.append(answer) or answer)
        around = Idempotency(spy, shop.clock, SECRET, os.urandom)
        await shop.ask()
        await around(a_request("k1-of-sixteen-characters"), shop.make)
        await shop.ask(caller=BOB)
        swapped = Idempotency(Tampered(shop.store.idempotency, lambda _: stolen[0]), shop.clock, SECRET, os.urandom)
        with pytest.raises(InternalError):
            await swapped(a_request("k1-of-sixteen-characters", caller=BOB), shop.make)

    run(tmp_path, scenario)


def test_another_secret_knows_nothing_of_earlier_answers(tmp_path):
    async def scenario(shop):
        return await shop.ask()

    run(tmp_path, scenario)
    assert REPLAYED not in run(tmp_path, scenario, secret=bytes(32)).headers


def test_a_short_secret_stops_the_start():
    with pytest.raises(ValueError):
        Idempotency(None, StillClock(), b"short", os.urandom)


def test_an_answer_that_cannot_be_kept_is_given_all_the_same(tmp_path, caplog):
    class Full(Tampered):
        async def complete(self, *arguments):
            raise Overloaded

    async def scenario(shop):
        around = Idempotency(Full(shop.store.idempotency, lambda answer: answer), shop.clock, SECRET, os.urandom)
        with caplog.at_level(logging.WARNING):
            assert (await around(a_request("k1-of-sixteen-characters"), shop.make)).status == 201
        # Not done a second time in a hurry: the reservation stands until its lease is over.
        with pytest.raises(RequestInProgress):
            await around(a_request("k1-of-sixteen-characters"), shop.make)

    run(tmp_path, scenario)
    assert "OVERLOADED" in caplog.text


def test_later_run_gets_intent_and_random_bytes_of_first(tmp_path):
    """The intent of the first run is sealed as answers are, and no other request can continue it."""
    seen, request = [], a_request("k1-of-sixteen-characters")

    async def scenario(shop):
        async def work() -> Answer:
            attempt = later.attempt or request.attempt
            seen.append((attempt.intent, attempt.random(32)))
            await attempt.intend({"did": "did:ids:intended"})
            if len(seen) == 1:
                raise LedgerUnavailable
            return Answer(201, {"made": seen[-1][1].hex()})

        later = a_request("k1-of-sixteen-characters")
        with pytest.raises(LedgerUnavailable):
            await shop.around(request, work)
        for file in tmp_path.rglob("*"):
            if file.is_file():
                assert b"did:ids:intended" not in file.read_bytes(), file
                assert seen[0][1].hex().encode() not in file.read_bytes(), file
        with pytest.raises(IdempotencyMismatch):
            await shop.ask(body=b"{}")
        answer = await shop.around(later, work)
        assert seen[0][0] is None
        assert seen[1][0]["did"] == "did:ids:intended"
        assert seen[1][1] == seen[0][1]
        assert as_json(await shop.ask()) == as_json(answer)
        assert shop.made == 0

    run(tmp_path, scenario)


def test_damaged_intent_is_not_taken_for_none(tmp_path):
    async def scenario(shop):
        async def work() -> Answer:
            await request.attempt.intend({})
            raise LedgerUnavailable

        request = a_request("k1-of-sixteen-characters")
        with pytest.raises(LedgerUnavailable):
            await shop.around(request, work)
        await shop.store.database.write(lambda writing: writing.execute("UPDATE idempotency_keys SET body = x'00'"))
        with pytest.raises(InternalError):
            await shop.ask()
        assert shop.made == 0

    run(tmp_path, scenario)


def test_integers_beyond_53_bits_are_compared_exactly(tmp_path):
    async def scenario(shop):
        await shop.ask(body=b'{"a":9007199254740993}')
        assert REPLAYED in (await shop.ask(body=b'{"a":9007199254740993}')).headers
        with pytest.raises(IdempotencyMismatch):
            await shop.ask(body=b'{"a":9007199254740992}')

    run(tmp_path, scenario)


class Remembering:
    """The hashes under which a request would be stored."""

    def __init__(self) -> None:
        self.seen = []

    async def begin(self, key_hash, fingerprint, now):
        self.seen.append((key_hash, fingerprint))

    async def complete(self, *_):
        pass

    async def abandon(self, *_):
        pass


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, NAMES, NAMES), min_size=2, max_size=2, unique=True))
def test_no_two_uses_of_keys_share_a_place(uses):
    async def scenario():
        keys = Remembering()
        around = Idempotency(keys, StillClock(), SECRET, os.urandom)

        async def work():
            return Answer(204)

        for caller, operation, path, idempotency_key in uses:
            request = a_request(
                idempotency_key, caller=Caller(api_key=key(caller, lineage=None)), operation=operation, path={"p": path}
            )
            await around(request, work)
        return {key_hash for key_hash, _ in keys.seen}

    assert len(asyncio.run(scenario())) == 2


DID = Did.parse("did:ids:abc")
FIRST, OTHER = "z6MkFirst", "z6MkOther"


def signed(public: str = FIRST, scheme: str = "DIDAuth", *, is_former: bool = False) -> Caller:
    return Caller(did=DID, authorization=Authorization(scheme, public, "challenge", b"", is_former=is_former))


async def interrupted(shop, caller: Caller) -> None:
    """Run a request whose change may be recorded and whose answer is not stored."""

    async def work() -> Answer:
        await request.attempt.intend({"did": str(DID)})
        raise LedgerUnavailable

    request = a_request("k1-of-sixteen-characters", caller=caller)
    with pytest.raises(LedgerUnavailable):
        await shop.around(request, work)


async def signer(shop, **request):
    key = request.pop("idempotency_key", "k1-of-sixteen-characters")
    return await shop.around.signer(a_request(key, caller=None, **request), signed().identity)


@pytest.mark.parametrize("has_answer", [True, False])
def test_signer_of_the_first_attempt_is_found(tmp_path, has_answer):
    async def scenario(shop):
        assert await signer(shop) is None
        await (shop.ask(caller=signed()) if has_answer else interrupted(shop, signed()))
        assert await signer(shop) == ("DIDAuth", FIRST)
        assert await signer(shop, body=b'{ "b": 2, "a": 1 }') == ("DIDAuth", FIRST)
        others = ({"body": b"{}"}, {"operation": "x"}, {"path": {"did": "x"}})
        for other in (*others, *({"idempotency_key": name} for name in ("k2-of-sixteen-characters", "", "\x00", None))):
            assert await signer(shop, **other) is None
        shop.clock.time += timedelta(hours=24)
        assert await signer(shop) is None

    run(tmp_path, scenario)


def test_attempt_without_signature_names_no_signer(tmp_path):
    async def scenario(shop):
        await shop.ask(caller=Caller(did=DID))
        assert await signer(shop) is None

    run(tmp_path, scenario)


def test_damaged_record_names_no_signer(tmp_path):
    async def scenario(shop):
        await shop.ask(caller=signed())
        await shop.store.database.write(lambda writing: writing.execute("UPDATE idempotency_keys SET body = x'00'"))
        assert await signer(shop) is None

    run(tmp_path, scenario)


@pytest.mark.parametrize("has_answer", [True, False])
@pytest.mark.parametrize(
    ("caller", "request_", "is_served"),
    [
        (signed(is_former=True), {}, True),
        (signed(OTHER, is_former=True), {}, False),
        (signed(scheme="RecoveryKey", is_former=True), {}, False),
        (signed(is_former=True), {"body": b"{}"}, False),
        (signed(is_former=True), {"operation": "other"}, False),
        (signed(is_former=True), {"idempotency_key": "k2-of-sixteen-characters"}, False),
        (signed(OTHER), {}, True),
    ],
)
def test_former_key_gets_its_own_answer_alone(tmp_path, has_answer, caller, request_, is_served):
    async def scenario(shop):
        first = await shop.ask(caller=signed()) if has_answer else await interrupted(shop, signed())
        made = shop.made
        if is_served:
            again = await shop.ask(caller=caller)
            assert (as_json(again) == as_json(first)) if has_answer else (shop.made == 1)
        else:
            with pytest.raises(AuthFailed):
                await shop.ask(caller=caller, **request_)
            assert shop.made == made
        # What was refused has reserved nothing, and has changed nothing of the first attempt.
        assert await signer(shop) == ("DIDAuth", FIRST)
        if request_ and "body" not in request_:
            assert REPLAYED not in (await shop.ask(caller=signed(), **request_)).headers

    run(tmp_path, scenario)


def test_former_key_waits_for_a_running_attempt(tmp_path):
    async def scenario(shop):
        shop.gate = asyncio.Event()
        first = asyncio.create_task(shop.ask(caller=signed()))
        while not shop.made:
            await asyncio.sleep(0.001)
        with pytest.raises(RequestInProgress):
            await shop.ask(caller=signed(is_former=True))
        with pytest.raises(AuthFailed):
            await shop.ask(caller=signed(is_former=True), body=b"{}")
        shop.gate.set()
        await first

    run(tmp_path, scenario)


def test_answer_of_a_new_change_belongs_to_its_signer(tmp_path):
    """If the change of the first attempt was never recorded, a later run with another key makes it, and the answer is for that key."""

    async def scenario(shop):
        async def work() -> Answer:
            await request.attempt.intend({"did": str(DID)})
            return Answer(200, {"made": True})

        await interrupted(shop, signed())
        request = a_request("k1-of-sixteen-characters", caller=signed(OTHER))
        await shop.around(request, work)
        assert await signer(shop) == ("DIDAuth", OTHER)

    run(tmp_path, scenario)


def test_head_of_a_signed_answer_reads_as_before(tmp_path):
    """A process of an earlier version reads two values: the media type, and whether there is no body."""

    async def scenario(shop):
        await shop.ask(caller=signed())
        slot = shop.around._slot(a_request("k1-of-sixteen-characters"), "k1-of-sixteen-characters", signed().identity)
        stored = (await shop.around.keys.find(slot.key_hash, shop.clock.now())).answer
        head = idempotency._unsealed(slot, stored.body, stored.status, stored.headers).partition(b"\n")[0]
        media_type, is_empty = json.loads(head)
        assert (media_type, bool(is_empty)) == ("application/json", False)

    run(tmp_path, scenario)


@pytest.mark.parametrize("intent", [None, {"did": str(DID)}])
def test_former_key_authorises_no_first_run(intent):
    request = a_request("k1-of-sixteen-characters", caller=signed(is_former=True))
    with pytest.raises(AuthFailed):
        _ = request.authorization
    request.attempt = SimpleNamespace(intent=intent)
    if intent is None:
        with pytest.raises(AuthFailed):
            _ = request.authorization
    else:
        assert request.authorization.is_former
