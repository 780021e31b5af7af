"""The bulkhead of asynchronous ports: each fault of a plugin ends in a documented error and affects no other plugin."""

from __future__ import annotations

import asyncio
import logging
import traceback

import pytest

from identity_core.errors import (
    AuthFailed,
    LedgerUnavailable,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
    VersionConflict,
)
from identity_core.plugin.border import guard as guarded
from identity_core.plugin.sockets import CUSTODIAN, KEY_STORE, LEDGER
from identity_core.ports.custodian import Custodian
from identity_core.ports.key_store import KeyStore, WritableKeyStore
from identity_core.ports.ledger import LedgerBackend
from tests.unit.plugin.parts import KEY, GoodCustodian, GoodKeys, GoodLedger, HandClock, bulkhead


def test_a_good_ledger_behaves_as_without_the_border() -> None:
    async def scenario() -> None:
        ledger = guarded(GoodLedger(), LedgerBackend, bulkhead(LEDGER))
        assert isinstance(ledger, LedgerBackend)
        receipt = await ledger.append("did:toy:a", b"1", expected_version=0)
        assert receipt.sequence == 1
        with pytest.raises(VersionConflict):
            await ledger.append("did:toy:a", b"1", expected_version=0)
        assert [line.entry for line in await ledger.entries("did:toy:a")] == [b"1"]
        assert (await ledger.head()).sequence == 1

    asyncio.run(scenario())


def test_properties_are_handed_through_and_checked() -> None:
    class Junk(GoodCustodian):
        capabilities = ["Ed25519"]  # noqa: RUF012

    assert guarded(GoodCustodian(), Custodian, bulkhead(CUSTODIAN)).capabilities == {"Ed25519VerificationKey2020"}
    with pytest.raises(PluginUnavailable):
        _ = guarded(Junk(), Custodian, bulkhead(CUSTODIAN)).capabilities


def test_the_richer_port_is_kept() -> None:
    assert not isinstance(guarded(GoodKeys(), KeyStore, bulkhead(KEY_STORE)), WritableKeyStore)


class Panic(BaseException):
    """As PyO3 raises it for a panic in Rust."""


FOREIGN = [
    ValueError("x"),
    AuthFailed(),
    KeyError("k"),
    RecursionError(),
    AssertionError(),
    SystemExit(3),
    Panic(),
    asyncio.CancelledError(),
]


@pytest.mark.parametrize("error", FOREIGN)
def test_a_foreign_exception_of_a_ledger_is_a_ledger_error(error: BaseException) -> None:
    class Raises(GoodLedger):
        async def append(self, did, entry, *, expected_version):
            raise error

    with pytest.raises(LedgerUnavailable) as refusal:
        asyncio.run(guarded(Raises(), LedgerBackend, bulkhead(LEDGER)).append("d", b"", expected_version=0))
    assert refusal.value.details == {"plugin": "ledger:toy"}
    assert refusal.value.__cause__ is None, "logging the one logs the other"


@pytest.mark.parametrize("error", FOREIGN)
def test_a_foreign_exception_after_a_wait_counts_and_shuts_off(error: BaseException) -> None:
    class Raises(GoodLedger):
        async def head(self):
            await asyncio.sleep(0)
            raise error

    async def scenario() -> None:
        bulk = bulkhead(LEDGER, failures_to_open=1)
        ledger = guarded(Raises(), LedgerBackend, bulk)
        with pytest.raises(LedgerUnavailable):
            await ledger.head()
        assert (bulk.failures, bulk.in_flight, bulk.state) == (1, 0, "open")

    asyncio.run(scenario())


def test_interrupt_from_keyboard_ends_process_and_not_call() -> None:
    class Interrupted(GoodLedger):
        async def head(self):
            raise KeyboardInterrupt

    bulk = bulkhead(LEDGER)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(guarded(Interrupted(), LedgerBackend, bulk).head())
    assert bulk.failures == 0


def test_a_property_that_leaves_is_a_failure() -> None:
    class Leaves(GoodCustodian):
        @property
        def capabilities(self):
            raise SystemExit(3)

    with pytest.raises(PluginUnavailable):
        _ = guarded(Leaves(), Custodian, bulkhead(CUSTODIAN)).capabilities


def test_the_text_of_a_ledgers_exception_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Clients of nodes and servers put the address into it, with the credential that is a part of it."""

    class Raises(GoodLedger):
        async def head(self):
            raise ConnectionError("https://node.example/v3/hunter2 does not answer")

    with pytest.raises(LedgerUnavailable) as refusal:
        asyncio.run(guarded(Raises(), LedgerBackend, bulkhead(LEDGER)).head())
    assert "hunter2" not in f"{refusal.value!r} {refusal.value.__cause__!r} {caplog.text}"
    assert "head raised ConnectionError" in caplog.text
    assert "test_bulkhead.py" in caplog.text, "the log says where"


def test_key_store_exception_is_503_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Raises:
        async def find(self, digest):
            raise ValueError("hunter2")

    with pytest.raises(PluginUnavailable) as refusal:
        asyncio.run(guarded(Raises(), KeyStore, bulkhead(KEY_STORE)).find("0"))
    assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in caplog.text
    assert "find raised ValueError" in caplog.text
    assert "test_bulkhead.py" in caplog.text, "the log says where"
    assert "hunter2" not in "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize("junk", [None, "receipt", {"transaction_hash": "0"}, object(), 1])
def test_junk_is_no_receipt(junk: object) -> None:
    class Junk(GoodLedger):
        async def append(self, did, entry, *, expected_version):
            return junk

    with pytest.raises(LedgerUnavailable):
        asyncio.run(guarded(Junk(), LedgerBackend, bulkhead(LEDGER)).append("d", b"", expected_version=0))


def test_a_method_that_is_no_coroutine_at_run_time_is_junk() -> None:
    class Plain:
        def find(self, digest):
            return KEY

    with pytest.raises(PluginUnavailable):
        asyncio.run(guarded(Plain(), KeyStore, bulkhead(KEY_STORE)).find("0"))


def test_a_hang_ends_at_the_deadline_and_others_go_on() -> None:
    class Hangs(GoodLedger):
        async def append(self, did, entry, *, expected_version):
            await asyncio.sleep(600)

    async def scenario() -> None:
        bulk = bulkhead(LEDGER)
        ledger = guarded(Hangs(), LedgerBackend, bulk)
        hung = asyncio.create_task(ledger.append("d", b"", expected_version=0))
        await asyncio.sleep(0)
        assert await ledger.entries("d") == []
        with pytest.raises(PluginTimeout):
            await hung
        assert (bulk.timeouts, bulk.in_flight) == (1, 0)

    asyncio.run(scenario())


def test_too_many_unfinished_calls_push_back() -> None:
    class Slow:
        async def find(self, digest):
            await asyncio.sleep(0.01)

    async def scenario() -> None:
        bulk = bulkhead(KEY_STORE, calls_in_flight=8, deadline_seconds=5.0)
        keys = guarded(Slow(), KeyStore, bulk)
        answers = await asyncio.gather(*(keys.find("0") for _ in range(20)), return_exceptions=True)
        assert sum(isinstance(answer, Overloaded) for answer in answers) == 12
        assert bulk.refused == 12
        assert bulk.in_flight == 0
        assert bulk.failures == 0
        assert await keys.find("0") is None

    asyncio.run(scenario())


class Moody(GoodLedger):
    """Does what its mood says."""

    mood = "good"

    async def append(self, did, entry, *, expected_version):
        if self.mood == "raise":
            raise ValueError("x")
        if self.mood == "away":
            raise LedgerUnavailable
        if self.mood == "hang":
            await asyncio.sleep(600)
        return await super().append(did, entry, expected_version=expected_version)


def test_circuit_opens_for_one_method() -> None:
    async def scenario() -> None:
        clock = HandClock()
        bulk = bulkhead(LEDGER, clock)
        moody = Moody()
        ledger = guarded(moody, LedgerBackend, bulk)
        moody.mood = "raise"
        for _ in range(3):
            with pytest.raises(LedgerUnavailable):
                await ledger.append("d", b"", expected_version=0)
        assert bulk.state == "open"
        moody.mood = "good"
        with pytest.raises(PluginUnavailable) as refusal:
            await ledger.append("d", b"", expected_version=0)
        assert refusal.value.details["retryAfter"] == 5
        assert await ledger.entries("d") == [], "reading continues"
        clock.seconds += 5
        assert (await ledger.append("d", b"", expected_version=0)).sequence == 1
        assert bulk.state == "closed"
        assert (bulk.failures, bulk.refused, bulk.last_failure) == (3, 1, "append: raised ValueError")

    asyncio.run(scenario())


def test_only_one_probe_goes_to_a_plugin_that_hangs() -> None:
    async def scenario() -> None:
        clock = HandClock()
        bulk = bulkhead(LEDGER, clock, failures_to_open=1)
        moody = Moody()
        moody.mood = "hang"
        ledger = guarded(moody, LedgerBackend, bulk)
        with pytest.raises(PluginTimeout):
            await ledger.append("d", b"", expected_version=0)
        clock.seconds += 5
        answers = await asyncio.gather(
            *(ledger.append("d", b"", expected_version=0) for _ in range(5)), return_exceptions=True
        )
        assert [type(answer) for answer in answers].count(PluginTimeout) == 1
        assert [type(answer) for answer in answers].count(PluginUnavailable) == 4
        assert bulk.state == "open"

    asyncio.run(scenario())


def test_ledger_that_reports_unavailable_is_accepted() -> None:
    async def scenario() -> None:
        bulk = bulkhead(LEDGER)
        moody = Moody()
        moody.mood = "away"
        ledger = guarded(moody, LedgerBackend, bulk)
        for _ in range(10):
            with pytest.raises(LedgerUnavailable):
                await ledger.append("d", b"", expected_version=0)
        moody.mood = "good"
        await ledger.append("d", b"", expected_version=0)
        assert bulk.failures == 0

    asyncio.run(scenario())


def test_client_that_goes_away_is_no_failure_and_frees_its_place() -> None:
    async def scenario() -> None:
        clock = HandClock()
        bulk = bulkhead(LEDGER, clock, failures_to_open=1, deadline_seconds=5.0)
        moody = Moody()
        moody.mood = "raise"
        ledger = guarded(moody, LedgerBackend, bulk)
        with pytest.raises(LedgerUnavailable):
            await ledger.append("d", b"", expected_version=0)
        clock.seconds += 5
        moody.mood = "hang"
        probe = asyncio.create_task(ledger.append("d", b"", expected_version=0))
        await asyncio.sleep(0.005)
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        moody.mood = "good"
        await ledger.append("d", b"", expected_version=0)
        assert (bulk.failures, bulk.in_flight, bulk.state) == (1, 0, "closed")

    asyncio.run(scenario())


def test_code_that_blocks_the_event_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()

    class Blocks:
        async def find(self, digest):
            clock.seconds += 1.0  # as time.sleep would

    bulk = bulkhead(KEY_STORE, clock, deadline_seconds=2.0)
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(guarded(Blocks(), KeyStore, bulk).find("0")) is None
    assert "blocked the event loop for 1.00 s" in caplog.text
    assert bulk.failures == 0
    bulk = bulkhead(KEY_STORE, clock, deadline_seconds=0.5, failures_to_open=1)
    assert asyncio.run(guarded(Blocks(), KeyStore, bulk).find("0")) is None, "the answer is there, so it is given"
    assert bulk.state == "open"


def test_the_bulkhead_is_no_bottleneck_for_many_tasks() -> None:
    async def scenario() -> None:
        ledger = guarded(GoodLedger(), LedgerBackend, bulkhead(LEDGER, calls_in_flight=512, deadline_seconds=5.0))
        await asyncio.gather(*(ledger.append(f"did:toy:{n}", b"", expected_version=0) for n in range(500)))
        assert (await ledger.head()).sequence == 500

    asyncio.run(scenario())
