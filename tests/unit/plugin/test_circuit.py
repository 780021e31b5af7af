"""The circuit: opens after failures in a row, lets one probe through, closes again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from identity_core.errors import PluginUnavailable
from identity_core.plugin.limits import Circuit


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def circuit(clock: HandClock) -> Circuit:
    return Circuit(clock, failures_to_open=3, retry_seconds=5.0)


def fail(circuit: Circuit, times: int) -> list[bool]:
    return [circuit.failed() for _ in range(times)]


def test_it_opens_at_the_last_failure_in_a_row(circuit: Circuit) -> None:
    assert fail(circuit, 2) == [False, False]
    circuit.succeeded()
    assert fail(circuit, 3) == [False, False, True]
    assert circuit.state == "open"
    assert circuit.tripped


def test_open_refuses_and_says_when_to_come_again(circuit: Circuit, clock: HandClock) -> None:
    fail(circuit, 3)
    clock.seconds += 1.5
    with pytest.raises(PluginUnavailable) as refusal:
        circuit.admit("ledger:sql")
    assert refusal.value.details == {"plugin": "ledger:sql", "retryAfter": 4}


def test_one_probe_decides(circuit: Circuit, clock: HandClock) -> None:
    fail(circuit, 3)
    clock.seconds += 5
    circuit.admit("x")
    assert circuit.state == "probing"
    with pytest.raises(PluginUnavailable):
        circuit.admit("x")
    circuit.succeeded()
    assert circuit.state == "closed"
    assert not circuit.tripped


def test_each_failed_probe_doubles_the_wait_up_to_a_minute(circuit: Circuit, clock: HandClock) -> None:
    fail(circuit, 3)
    waits = []
    for _ in range(6):
        before = clock.seconds
        while circuit.state == "open":
            try:
                circuit.admit("x")
            except PluginUnavailable:
                clock.seconds += 1
        waits.append(clock.seconds - before)
        assert circuit.failed()
    assert waits == [5, 10, 20, 40, 60, 60]
    clock.seconds += 60
    circuit.admit("x")
    circuit.succeeded()
    fail(circuit, 3)
    clock.seconds += 5
    circuit.admit("x")  # success forgets the long waits


def test_a_probe_whose_caller_went_away_makes_room(circuit: Circuit, clock: HandClock) -> None:
    fail(circuit, 3)
    clock.seconds += 5
    circuit.admit("x")
    circuit.undecided()
    assert circuit.state == "open"
    circuit.admit("x")


def test_calls_were_under_way_when_it_opened_do_not_prolong_it(circuit: Circuit, clock: HandClock) -> None:
    fail(circuit, 3)
    assert fail(circuit, 5) == [False] * 5
    clock.seconds += 5
    circuit.admit("x")
