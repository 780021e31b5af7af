"""Faults of nodes: unreachable, stalled, with invalid or incomplete answers; and accounts without funds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from identity_kit.conformance.ledger import check_lines, whole
from identity_ledger_evm.dispatcher import LASTING_SECONDS
from identity_ledger_evm.node import Node, NodeAway
from identity_ledger_evm.worker import NeverRead, has_work

from identity_codec.values import replace
from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.ports.ledger import Receipt
from tests.evm_site import is_, until
from tests.lying_node import Liar, Tamper, raw_answer, result

DID = "did:x:1"
ROOT = b"\5" * 32


@pytest.fixture
def liar(site: Any) -> Iterator[Liar]:
    """Yield a proxy before the site's node that can lie."""
    made = Liar(site.server.url)
    with made.serving():
        site.settings = replace(site.settings, rpc_url=made.url)
        yield made


@pytest.mark.parametrize(
    ("encoding", "size", "reason"), [("gzip", 10, "compressed"), ("identity", 70_000_000, "bytes")]
)
def test_an_answer_has_a_bound_and_is_not_unpacked(encoding: str, size: int, reason: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"accept-encoding: identity\r\n" in head.lower()
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nConnection: close\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(0, size, 1_000_000):
                writer.write(b" " * 1_000_000)
                await writer.drain()
        writer.close()

    async def test() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with Node(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", 30) as node:
            with pytest.raises(NodeAway, match=reason):
                await node.call("eth_chainId")
        server.close()

    asyncio.run(test())


GARBAGE = [
    b"",
    b"not json",
    b"[]",
    b"null",
    b"7",
    b"{}",
    b'{"id": null}',
    b'{"result": "0x1"',
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"error": null}',
    b'{"error": 5}',
    b'{"error": {"code": -32000, "message": "header not found"}}',
    b'{"result": null}',
    b'{"result": 7}',
    b'{"result": "0x"}',
    b'{"result": "0xzz"}',
    b'{"result": "0x' + b"f" * 64 + b'"}',
    b'{"result": []}',
    b'{"result": {}}',
    b'{"result": {"number": "0x1", "hash": "0x00", "timestamp": "0x1"}}',
    b'{"id": 999999, "result": "0x1"}',
]
ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "1"))
METHODS = [
    "eth_getBlockByNumber",
    "eth_getLogs",
    "eth_getTransactionReceipt",
    "eth_call",
    "eth_getTransactionCount",
    "eth_getBalance",
]


@pytest.mark.parametrize("method", METHODS)
def test_nonsense_costs_the_append_and_nothing_else(site: Any, liar: Liar, method: str) -> None:
    # A part of all, another one for each method; the soak takes them all.
    begin, step = (0, 1) if ROUNDS > 1 else (METHODS.index(method) % 5, 5)

    async def scenario() -> None:
        ledger = site.open(append_seconds=0.25)
        for answer in GARBAGE[begin::step]:
            recorded = len(await ledger.entries(DID))
            with liar.telling(raw_answer(method, answer)):
                append = ledger.append(DID, answer[:50], expected_version=recorded)
                (outcome,) = await asyncio.gather(append, return_exceptions=True)
            assert isinstance(outcome, Receipt | LedgerUnavailable)
            if isinstance(outcome, LedgerUnavailable):
                assert site.settings.rpc_url not in str(outcome.details)
            # Whatever was sent in spite of it is settled before the next one.
            await settled(ledger)
        check_lines(await whole(ledger), shared_chain=True)
        copy = site.open("copy")
        assert await whole(copy) == await whole(ledger)
        await copy.append("did:x:2", b"after all", expected_version=0)
        await copy.close()
        await ledger.close()

    asyncio.run(scenario())


async def settled(ledger: Any) -> None:
    await until(lambda: ledger._database.read(has_work), lambda more: not more)


async def appended(ledger: Any, entry: bytes, version: int) -> None:
    """Tries until it is there: as a caller who was refused would."""

    async def attempt() -> bool:
        # A conflict with what was tried before and has come through meanwhile; the entries tell.
        with contextlib.suppress(LedgerUnavailable, VersionConflict):
            await ledger.append(DID, entry, expected_version=version)
        return len(await ledger.entries(DID)) == version + 1

    await until(attempt, bool)


def _without_logs(method: str, answer: Any) -> bytes | None:
    return json.dumps({**answer, "result": []}).encode() if method == "eth_getLogs" else None


def _without_the_last_log(method: str, answer: Any) -> bytes | None:
    return json.dumps({**answer, "result": answer["result"][:-1]}).encode() if method == "eth_getLogs" else None


def _without_the_first_log(method: str, answer: Any) -> bytes | None:
    return json.dumps({**answer, "result": answer["result"][1:]}).encode() if method == "eth_getLogs" else None


def _of_another_block(method: str, answer: Any) -> bytes | None:
    if method != "eth_getLogs":
        return None
    logs = [{**log, "blockHash": "0x" + "ab" * 32} for log in answer["result"]]
    return json.dumps({**answer, "result": logs}).encode()


def _with_other_octets(method: str, answer: Any) -> bytes | None:
    if method != "eth_getTransactionByHash":
        return None
    data = answer["result"]["input"]
    # The last byte of the last entry, before the eight of the sender's mark.
    forged = f"{data[:-18]}{int(data[-18:-16], 16) ^ 1:02x}{data[-16:]}"
    return json.dumps({**answer, "result": {**answer["result"], "input": forged}}).encode()


@pytest.mark.parametrize(
    "lie", [_without_logs, _without_the_last_log, _without_the_first_log, _of_another_block, _with_other_octets]
)
def test_a_node_cannot_hide_or_change_entries(site: Any, liar: Liar, lie: Tamper, caplog: Any) -> None:
    async def scenario() -> None:
        writer = site.open("writer")
        for n in range(3):
            await asyncio.gather(*(writer.append(f"did:x:{d}", b"%d" % n, expected_version=n) for d in range(3)))
        with liar.telling(lie), pytest.raises(NeverRead):
            site.open("reader")
        old = site.open("old")
        known = await whole(old)
        await old.close()
        await writer.append("did:x:0", b"3", expected_version=3)
        with liar.telling(lie), caplog.at_level(logging.WARNING):
            old = site.open("old")
            assert await whole(old) == known, "what cannot be proven complete is not believed"
        assert any("the index of the chain" in record.message for record in caplog.records)
        await old.close()
        again = site.open("reader")
        assert await whole(again) == await whole(writer)
        await again.close()
        await writer.close()

    asyncio.run(scenario())


def test_a_receipt_of_another_transaction_is_not_believed(site: Any, liar: Liar) -> None:
    def lie(method: str, answer: Any) -> bytes | None:
        if method != "eth_getTransactionReceipt" or answer["result"] is None:
            return None
        return json.dumps({**answer, "result": {**answer["result"], "transactionHash": "0x" + "ab" * 32}}).encode()

    async def scenario() -> None:
        # Time enough to send it; its mining stays unknown.
        ledger = site.open(append_seconds=3.0)
        with liar.telling(lie), pytest.raises(LedgerUnavailable, match="not confirmed yet") as caught:
            await ledger.append(DID, b"1", expected_version=0)
        assert "another transaction" in str(caught.value.details["reason"])
        await settled(ledger)
        assert [line.entry for line in await ledger.entries(DID)] == [b"1"]
        await ledger.close()

    asyncio.run(scenario())


def test_a_nonce_that_only_seemed_to_be_taken_leaves_no_gap(still_chain: Any) -> None:
    site = still_chain()
    liar = Liar(site.server.url)

    def lie(method: str, answer: Any) -> bytes | None:
        if method != "eth_getTransactionCount":
            return None
        return json.dumps({**answer, "result": hex(int(answer["result"], 16) + 3)}).encode()

    async def scenario() -> None:
        ledger = site.open(rpc_url=liar.url)
        await ledger.submit_anchor(ROOT, 1)
        found = await until(lambda: ledger.anchor_status(ROOT), lambda one: one is not None and one.transaction_hash)
        with liar.telling(lie):
            moved = await until(
                lambda: ledger.anchor_status(ROOT),
                lambda one: one is not None and found is not None and one.transaction_hash != found.transaction_hash,
            )
        assert moved is not None
        assert moved.state == "submitted"
        site.server.call("evm_setAutomine", True)
        site.server.mine()
        await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        await appended(ledger, b"0", 0)
        await appended(ledger, b"1", 1)
        await settled(ledger)
        await ledger.close()

    with liar.serving():
        asyncio.run(scenario())


def test_another_chain_behind_the_same_address_is_noticed(site: Any, liar: Liar) -> None:
    async def scenario() -> None:
        ledger = site.open()
        await ledger.append(DID, b"0", expected_version=0)
        # The node goes away, and what comes back is another one.
        away, elsewhere = raw_answer("eth_getBlockByNumber", b""), result("eth_chainId", "0x1")
        is_away = True

        def tamper(method: str, answer: Any) -> bytes | None:
            lie = away(method, answer) if is_away else None
            return elsewhere(method, answer) if lie is None else lie

        with liar.telling(tamper):
            with pytest.raises(LedgerUnavailable):
                await ledger.append(DID, b"1", expected_version=1)
            is_away = False
            with pytest.raises(LedgerUnavailable) as caught:
                await ledger.append(DID, b"1", expected_version=1)
        assert "chain 1" in str(caught.value.details["reason"])
        await ledger.append(DID, b"1", expected_version=1)
        await ledger.close()

    asyncio.run(scenario())


def test_a_node_that_is_stopped_is_told_at_once_and_reads_go_on(own_chain: Any, tmp_path: Any) -> None:
    state = tmp_path / "state"
    site = own_chain("--state", str(state))

    async def scenario() -> None:
        ledger = site.open()
        await ledger.append(DID, b"0", expected_version=0)
        site.server.stop(signal.SIGTERM)
        for _ in range(3):
            with pytest.raises(LedgerUnavailable, match="was not recorded") as caught:
                await ledger.append(DID, b"1", expected_version=1)
            assert "does not answer" in str(caught.value.details["reason"])
        submitted = await ledger.submit_anchor(ROOT, 1)
        assert submitted.state == "submitted"
        assert [line.entry for line in await ledger.entries(DID)] == [b"0"]
        again = site.open("index")
        assert [line.entry for line in await again.entries(DID)] == [b"0"], "a start without the node"
        await again.close()
        site.server.start()
        await appended(ledger, b"1", 1)
        await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        assert [line.entry for line in await ledger.entries(DID)] == [b"0", b"1"]
        await ledger.close()

    asyncio.run(scenario())


def test_a_cancelled_append_is_not_sent_when_the_node_hangs(own_chain: Any) -> None:
    site = own_chain(rpc_seconds=1.0)

    async def scenario() -> None:
        ledger = site.open()

        async def trouble() -> str:
            return str(ledger._station.trouble)

        await appended(ledger, b"0", 0)
        site.server.send_signal(signal.SIGSTOP)
        # A look at the chain that began before the stop would still send what it finds.
        ledger._worker.wake()
        await until(trouble, bool)
        unwanted = asyncio.ensure_future(ledger.append("did:x:unwanted", b"0", expected_version=0))
        # No look ends in an iteration of the loop, so the append cannot give up before it is cancelled.
        while not (unwanted.done() or ledger._worker.waiters._expected):
            await asyncio.sleep(0)
        assert unwanted.cancel()
        with pytest.raises(LedgerUnavailable, match="was not recorded"):
            await ledger.append(DID, b"1", expected_version=1)
        site.server.send_signal(signal.SIGCONT)
        await appended(ledger, b"1", 1)
        assert list(await ledger.entries("did:x:unwanted")) == []
        assert len(await whole(ledger)) == 2
        await ledger.close()

    asyncio.run(scenario())


def test_an_empty_purse_waits_and_alarms(site: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        ledger = site.open()
        await ledger.append(DID, b"0", expected_version=0)
        address = ledger._station.sender
        site.server.call("anvil_setBalance", address, "0x0")
        await asyncio.sleep(LASTING_SECONDS)
        with caplog.at_level(logging.ERROR), pytest.raises(LedgerUnavailable, match="was not recorded") as caught:
            await ledger.append(DID, b"1", expected_version=1)
        assert caught.value.details["outcome"] == "not recorded"
        assert caught.value.details["reason"] == f"the account {address} has not enough funds"
        alarms = [record for record in caplog.records if "not enough funds" in record.message]
        assert len(alarms) == 1, "told once, not with every look"
        await ledger.submit_anchor(ROOT, 1)
        found = await until(lambda: ledger.anchor_status(ROOT), lambda one: one is not None and one.reason)
        assert found is not None
        assert (found.state, "not enough funds" in found.reason) == ("submitted", True)
        site.server.call("anvil_setBalance", address, hex(10**20))
        await until(lambda: ledger.anchor_status(ROOT), is_("confirmed"))
        await ledger.append(DID, b"1", expected_version=1)
        await ledger.close()

    asyncio.run(scenario())
