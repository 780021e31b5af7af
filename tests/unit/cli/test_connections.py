"""Limits of the connections of one process: ``Connections``."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from identity_core.api.access_log import FreeRefusals
from identity_core.cli.connections import Connections
from identity_core.errors import IdentityError, Overloaded
from identity_core.settings.server import Server


class Loop:
    """A clock that moves when ``check`` is called, and the timers that wait for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Any, tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, run: Any, *arguments: Any) -> object:
        self.timers.append((self.now + seconds, run, arguments))
        return object()

    def check(self) -> None:
        self.now, run, arguments = self.timers.pop(0)
        run(*arguments)


@dataclass(eq=False)
class Known:
    """A connection whose answers to ``Connections`` are chosen by the test."""

    loop: Any = field(default_factory=Loop)
    peer: str | None = None
    is_late: bool = False
    checks: int = 0
    refused: str = ""

    @property
    def client(self) -> tuple[str, int] | None:
        return None if self.peer is None else (self.peer, 1)

    def end_if_late(self, now: float) -> bool:
        self.checks += 1
        return self.is_late

    def refuse(self, refusal: IdentityError) -> None:
        self.refused = refusal.code


def admit(connections: Connections, known: Any) -> str | None:
    """Return the code of the refusal of a new connection, or None."""
    refusal = connections.admit(known)
    return None if refusal is None else refusal.code


def admit_peer(connections: Connections, peer: str | None) -> str | None:
    return admit(connections, Known(peer=peer))


def test_connections_are_counted_by_address_and_network() -> None:
    connections = Connections(Server(max_connections_per_address=2))
    assert [admit_peer(connections, "192.0.2.1") for _ in range(3)] == [None, None, "RATE_LIMITED"]
    assert admit_peer(connections, "192.0.2.2") is None
    assert admit_peer(connections, "::ffff:192.0.2.2") is None
    assert admit_peer(connections, "192.0.2.2") == "RATE_LIMITED"
    of_network = [admit_peer(connections, f"2001:db8:0:1::{number:x}") for number in range(3)]
    assert of_network == [None, None, "RATE_LIMITED"]
    assert admit_peer(connections, "2001:db8:0:2::1") is None


@pytest.mark.parametrize("peer", [None, "10.1.2.3", "::ffff:10.1.2.3"], ids=["unix socket", "proxy", "mapped proxy"])
def test_proxies_and_unix_sockets_count_in_all_only(peer: str | None) -> None:
    server = Server(max_connections_per_address=1, max_connections=3, trusted_proxies=("10.0.0.0/8",))
    connections = Connections(server)
    assert [admit_peer(connections, peer) for _ in range(4)] == [None, None, None, "OVERLOADED"]


def test_oldest_waiting_connection_makes_room() -> None:
    connections = Connections(Server(max_connections=3))
    busy, first, second = Known(), Known(is_late=True), Known(is_late=True)
    assert [admit(connections, each) for each in (busy, first, second)] == [None] * 3
    assert [admit_peer(connections, None) for _ in range(3)] == [None, None, "OVERLOADED"]
    assert [each.checks for each in (first, second)] == [1, 1]


def test_closed_and_refused_connections_are_not_counted() -> None:
    connections = Connections(Server(max_connections_per_address=1))
    first, refused, second = (Known(peer="192.0.2.1") for _ in range(3))
    assert [admit(connections, each) for each in (first, refused)] == [None, "RATE_LIMITED"]
    connections.leave(refused)  # type: ignore[arg-type]
    assert admit_peer(connections, "192.0.2.1") == "RATE_LIMITED"
    for _ in range(2):
        connections.leave(first)  # type: ignore[arg-type]
    assert admit(connections, second) is None
    assert admit_peer(connections, "192.0.2.1") == "RATE_LIMITED"


def test_one_timer_checks_all_and_stops_when_none_is_open() -> None:
    connections, loop = Connections(Server()), Loop()
    known: list[Any] = [Known(loop) for _ in range(3)]
    for each in known:
        admit(connections, each)
    assert len(loop.timers) == 1
    loop.check()
    assert [each.checks for each in known] == [1, 1, 1]
    for each in known:
        connections.leave(each)
    # A new connection before the last check does not start another timer.
    late: Any = Known(loop)
    admit(connections, late)
    connections.leave(late)
    assert len(loop.timers) == 1
    loop.check()
    assert loop.timers == []
    admit(connections, Known(loop))
    assert len(loop.timers) == 1


def test_at_most_64_late_connections_are_closed_at_once() -> None:
    connections, loop = Connections(Server()), Loop()
    known = [Known(loop, is_late=True) for _ in range(1000)]
    for each in known:
        admit(connections, each)
    loop.check()
    assert sum(each.checks for each in known) == 64


def test_the_largest_unfinished_body_is_refused() -> None:
    connections = Connections(Server())
    mebibyte = 1 << 20
    known: list[Any] = [Known() for _ in range(3)]
    small, large, last = known
    for each, size in ((small, 1), (large, 20), (last, 11)):
        connections.count_body(each, size * mebibyte)
    assert not large.refused
    connections.count_body(last, 12 * mebibyte)
    assert [each.refused for each in known] == ["", "OVERLOADED", ""]
    del connections.bodies[last]
    connections.count_body(small, 32 * mebibyte)
    assert not small.refused


def test_a_flood_of_refusals_writes_fifty_records_a_second(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "identity.request")
    connections, silent = Connections(Server(), logged=True), Connections(Server())
    for each in (connections, silent):
        each._free = FreeRefusals(lambda: clock)
    clock = 5.0
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def flood(number: int) -> None:
        for _ in range(number):
            for each in (connections, silent):
                await each.answer(Overloaded(), None, {}, None, send)  # type: ignore[arg-type]

    asyncio.run(flood(70))
    assert {message["status"] for message in sent[::2]} == {503}
    assert len(caplog.records) == 50
    clock = 6.5
    asyncio.run(flood(1))
    assert caplog.records[-1].fields["leftOut"] == 20  # type: ignore[attr-defined]
