import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from identity_core.api.request_log import FreeRefusals
from identity_core.cli.connections import Connections
from identity_core.errors import IdentityError, Overloaded
from identity_core.settings.server import Server


@dataclass(eq=False)
class Known:
    """A connection that lets the tests say what is true of it."""

    octets: int = 0
    late: bool = False
    asked: list[float] = field(default_factory=list)
    aborted: bool = False
    refused: str = ""

    def end_if_late(self, now: float) -> bool:
        self.asked.append(now)
        return self.late

    def unsent(self) -> int:
        return self.octets

    def abort(self) -> None:
        self.aborted = True

    def refuse(self, refusal: IdentityError) -> None:
        self.refused = refusal.code


class Loop:
    """A clock that goes on when it is told to, and what waits for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: list[tuple[float, Any, tuple[Any, ...]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, run: Any, *arguments: Any) -> None:
        self.waiting.append((self.now + seconds, run, arguments))

    def tick(self) -> None:
        at, run, arguments = self.waiting.pop(0)
        self.now = at
        run(*arguments)


def opened(connections: Connections, loop: Any, peer: str | None) -> str | None:
    """The code of the refusal of a new connection, or None."""
    refusal = connections.admit(Known(), peer, loop)
    return None if refusal is None else refusal.code


def test_connections_are_counted_by_address_and_by_network() -> None:
    connections, loop = Connections(Server(max_connections_per_address=2)), Loop()
    assert [opened(connections, loop, "192.0.2.1") for _ in range(3)] == [None, None, "RATE_LIMITED"]
    assert opened(connections, loop, "192.0.2.2") is None
    assert opened(connections, loop, "::ffff:192.0.2.2") is None
    assert opened(connections, loop, "192.0.2.2") == "RATE_LIMITED"
    of_network = [opened(connections, loop, f"2001:db8:0:1::{number:x}") for number in range(3)]
    assert of_network == [None, None, "RATE_LIMITED"]
    assert opened(connections, loop, "2001:db8:0:2::1") is None


@pytest.mark.parametrize("peer", [None, "10.1.2.3", "::ffff:10.1.2.3"], ids=["unix socket", "proxy", "mapped proxy"])
def test_who_stands_for_many_counts_in_all_only(peer: str | None) -> None:
    server = Server(max_connections_per_address=1, max_connections=3, trusted_proxies=("10.0.0.0/8",))
    connections, loop = Connections(server), Loop()
    assert [opened(connections, loop, peer) for _ in range(4)] == [None, None, None, "OVERLOADED"]


def test_who_leaves_is_not_counted_and_who_was_refused_never_was() -> None:
    connections, loop = Connections(Server(max_connections_per_address=1)), Loop()
    first, refused, second = Known(), Known(), Known()
    assert connections.admit(first, "192.0.2.1", loop) is None
    assert connections.admit(refused, "192.0.2.1", loop) is not None
    connections.leave(refused)
    assert opened(connections, loop, "192.0.2.1") == "RATE_LIMITED"
    connections.leave(first)
    connections.leave(first)
    assert connections.admit(second, "192.0.2.1", loop) is None
    assert opened(connections, loop, "192.0.2.1") == "RATE_LIMITED"


def test_one_tick_looks_after_all_and_rests_when_none_is_left() -> None:
    connections, loop = Connections(Server()), Loop()
    known = [Known() for _ in range(3)]
    for each in known:
        connections.admit(each, None, loop)
    assert len(loop.waiting) == 1
    loop.tick()
    assert [len(each.asked) for each in known] == [1, 1, 1]
    for each in known:
        connections.leave(each)
    loop.tick()
    assert loop.waiting == []
    connections.admit(Known(), None, loop)
    assert len(loop.waiting) == 1


def test_a_thousand_that_are_late_are_not_ended_in_one_go() -> None:
    connections, loop = Connections(Server()), Loop()
    known = [Known(late=True) for _ in range(1000)]
    for each in known:
        connections.admit(each, None, loop)
    loop.tick()
    assert sum(len(each.asked) for each in known) == 32


def test_answers_that_nobody_reads_are_bounded_in_all() -> None:
    connections = Connections(Server())
    mebibyte = 1 << 20
    known = [Known(mebibyte * size) for size in (1, 20, 2, 3)]
    for each in known:
        connections.blocked(each)
    assert [each.aborted for each in known] == [False] * 4
    big = Known(12 * mebibyte)
    connections.blocked(big)
    assert [each.aborted for each in known] == [False, True, False, False]
    assert not big.aborted


def test_bodies_that_do_not_end_are_bounded_in_all() -> None:
    """The largest is refused, no matter who sends the next octet."""
    connections = Connections(Server())
    mebibyte = 1 << 20
    small, large, last = Known(), Known(), Known()
    connections.unfinished(small, 1 * mebibyte)
    connections.unfinished(large, 20 * mebibyte)
    connections.unfinished(last, 11 * mebibyte)
    assert not large.refused
    connections.unfinished(last, 12 * mebibyte)
    assert (small.refused, large.refused, last.refused) == ("", "OVERLOADED", "")
    connections.finished(last)
    connections.unfinished(small, 32 * mebibyte)
    assert not small.refused


def test_who_reads_again_is_no_longer_counted() -> None:
    connections = Connections(Server())
    known = [Known(20 << 20) for _ in range(2)]
    connections.blocked(known[0])
    connections.unblocked(known[0])
    connections.blocked(known[1])
    assert not known[0].aborted
    assert not known[1].aborted


def test_refused_connections_are_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    connections, loop = Connections(Server(max_connections_per_address=1)), Loop()
    for _ in range(5):
        opened(connections, loop, "192.0.2.1")
    loop.tick()
    loop.tick()
    assert [record.message for record in caplog.records] == [
        "connections refused or cut off: 4 of one address; 1 are open"
    ]
    opened(connections, loop, "192.0.2.1")
    loop.tick()
    assert len(caplog.records) == 1
    loop.now += 60
    loop.waiting[0] = (loop.now, *loop.waiting[0][1:])
    loop.tick()
    assert len(caplog.records) == 2


def test_a_short_deadline_is_looked_at_often_enough() -> None:
    connections, loop = Connections(Server(first_byte_timeout_seconds=0.2)), Loop()
    connections.admit(Known(), None, loop)
    assert loop.waiting[0][0] <= 0.05


def test_the_loop_of_asyncio_does() -> None:
    async def scenario() -> int:
        connections, known = Connections(Server(first_byte_timeout_seconds=0.1)), Known()
        connections.admit(known, None, asyncio.get_running_loop())
        while not known.asked:
            await asyncio.sleep(0.01)
        return len(known.asked)

    assert asyncio.run(asyncio.wait_for(scenario(), 20)) == 1


def test_a_flood_of_refused_connections_writes_fifty_lines_a_second(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "identity.request")
    connections, silent = Connections(Server(), logged=True), Connections(Server())
    for each in (connections, silent):
        each._free = FreeRefusals(lambda: clock)
    clock = 5.0
    for _ in range(70):
        assert b"HTTP/1.1 503 " in connections.refusal_octets(Overloaded(), [])
        silent.refusal_octets(Overloaded(), [])
    assert len(caplog.records) == 50
    clock = 6.5
    connections.refusal_octets(Overloaded(), [])
    assert caplog.records[-1].fields["leftOut"] == 20  # type: ignore[attr-defined]
