"""Slow hosts and slow name servers cost their own documents, and not those of others."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from identity_did_web import DidWeb
from identity_did_web.addresses import network_of, site_of
from web_host import NAME, hosting, http, method, to_loopback

from identity_core.domain.dids.did import Did
from identity_core.errors import Overloaded, PluginUnavailable
from identity_core.ports.did_method import CLIENT

FETCHES = 16
SOON = 2.0
"""Seconds; a fetch that waits for a slow host takes three."""
ATTACKER, HANA = "192.0.2.66", "192.0.2.1"


@contextlib.asynccontextmanager
async def silent_host() -> AsyncIterator[int]:
    """The port of a host on all loopback addresses that accepts connections and sends nothing."""
    server = await asyncio.start_server(lambda reader, writer: asyncio.sleep(60), "0.0.0.0", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def resolve_as(web: DidWeb, client: str, did: str) -> Any:
    CLIENT.set(client)
    return await web.resolve(Did.parse(did))


def outcomes(tasks: Sequence[asyncio.Task[Any]]) -> dict[type, int]:
    kinds = [type(task.exception()) for task in tasks]
    return {kind: kinds.count(kind) for kind in kinds}


Names = Callable[[int, int], str]
# DID of the number-th slow document at a port; address of its name.
ATTACKS: dict[str, tuple[Names, Callable[[str], str], Callable[[int], str]]] = {
    "one host": (lambda n, port: f"did:web:slow.example%3A{port}:{n}", lambda _: "127.0.0.2", lambda n: f"192.0.2.{n}"),
    "one site": (
        lambda n, port: f"did:web:n{n}.slow.example%3A{port}",
        lambda _: "127.0.0.2",
        lambda n: f"192.0.2.{n}",
    ),
    "one address": (
        lambda n, port: f"did:web:a.s{n}.example%3A{port}",
        lambda _: "127.0.0.2",
        lambda n: f"192.0.2.{n}",
    ),
    "one client": (
        lambda n, port: f"did:web:a.s{n}.example{n}%3A{port}",
        lambda name: f"127.0.1.{name.rpartition('example')[2]}",
        lambda _: ATTACKER,
    ),
    "one network of clients": (
        lambda n, port: f"did:web:a.s{n}.example{n}%3A{port}",
        lambda name: f"127.0.1.{name.rpartition('example')[2]}",
        lambda n: f"2001:db8::{n:x}",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_slow_hosts_leave_fetches_to_others(tmp_path: Path, name: str) -> None:
    did_of, address_of, client_of = ATTACKS[name]

    def look_up(host: str, port: int, *more: Any) -> Any:
        if host == NAME:
            return to_loopback(host, port, *more)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address_of(host), port))]

    async def test() -> None:
        async with hosting() as host, silent_host() as port:
            web = method(tmp_path, look_up=look_up)
            slow = [
                asyncio.create_task(resolve_as(web, client_of(n), did_of(n, port))) for n in range(1, 2 * FETCHES + 1)
            ]
            await asyncio.sleep(0.2)
            started = time.monotonic()
            state = await resolve_as(web, HANA, host.publish("good"))
            assert state is not None
            assert time.monotonic() - started < SOON
            await asyncio.wait(slow)
            found = outcomes(slow)
            assert found.keys() == {Overloaded, PluginUnavailable}
            assert found[PluginUnavailable] <= FETCHES // 2
            web.close()

    asyncio.run(test())


def test_slow_name_servers_leave_look_ups_to_others(tmp_path: Path) -> None:
    """A thread that looks a name up cannot be ended: it is counted until the name server answers."""
    answered = threading.Event()

    def look_up(host: str, port: int, *more: Any) -> Any:
        if host.endswith("slow.example"):
            answered.wait(30)
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return to_loopback(host, port, *more)

    async def test() -> None:
        async with hosting() as host:
            web = method(tmp_path, look_up=look_up)
            # Twice: the second round comes when the first callers have given up, and their threads have not.
            for turn in range(2):
                slow = [
                    asyncio.create_task(resolve_as(web, f"192.0.2.{n}", f"did:web:n{n}-{turn}.slow.example"))
                    for n in range(FETCHES)
                ]
                await asyncio.sleep(0.2)
                started = time.monotonic()
                assert await resolve_as(web, HANA, host.publish(f"good{turn}")) is not None
                assert time.monotonic() - started < SOON
                await asyncio.wait(slow)
                assert outcomes(slow).keys() <= {Overloaded, PluginUnavailable}
            answered.set()
            web.close()

    try:
        asyncio.run(test())
    finally:
        answered.set()


def test_a_share_is_free_again_and_its_refusal_is_not_kept(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosting() as host:
            host.hang = True
            web = method(tmp_path)
            slow = [asyncio.create_task(web.resolve(Did.parse(host.publish(f"s{n}")))) for n in range(FETCHES // 4)]
            await asyncio.sleep(0.2)
            did = Did.parse(host.publish("good"))
            with pytest.raises(Overloaded) as refused:
                await web.resolve(did)
            assert refused.value.details == {"retryAfter": 1, "limit": FETCHES // 4}
            await asyncio.wait(slow)
            host.hang = False
            assert await web.resolve(did) is not None

    asyncio.run(test())


def test_callers_of_one_did_share_a_fetch(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosting() as host:
            web, did = method(tmp_path), Did.parse(host.publish())
            calls = [asyncio.create_task(web.resolve(did)) for _ in range(50)]
            await asyncio.sleep(0)
            calls[0].cancel()
            states = await asyncio.gather(*calls[1:])
            assert all(state is not None for state in states)
            assert len(host.requests) == 1

    asyncio.run(test())


def test_a_fetch_that_no_caller_waits_for_logs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with hosting() as host:
            web = method(tmp_path)
            host.answers["/.well-known/did.json"] = http(b"{}", status="503 Later")
            call = asyncio.create_task(web.resolve(Did.parse(host.did())))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            await asyncio.sleep(0.3)

    asyncio.run(test())
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%1", "fe80::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_addresses_of_one_network_share_fetches(address: str, network: str) -> None:
    assert network_of(address) == network


def test_hosts_of_one_site_share_fetches() -> None:
    assert [site_of(name) for name in ("a.example", "b.a.example", "c.b.a.example")] == ["a.example"] * 3
