"""The last hour, from expositions as the service makes them."""

from __future__ import annotations

import asyncio
import math

from identity_observability.metrics import Metrics
from identity_ui.figures import figures
from identity_ui.plots import SAMPLES, KeepFigures, intervals, sample_of

GAUGES = b"""identity_database_writes_waiting 7.0
identity_plugin_in_flight{plugin="ledger:sql"} 2.0
identity_plugin_in_flight{plugin="prover:bbs"} 3.0
identity_plugin_in_flight_limit{plugin="prover:bbs"} 64.0
identity_database_writes_waiting_limit 1000.0
"""


def test_an_interval_has_rates_latency_and_what_waits() -> None:
    measured = Metrics(shared=None)
    for _ in range(50):
        measured.observe("resolveDid", 200, 4.0)
    first = sample_of(measured.render({}), 1000.0)
    for status, seconds in [(200, 0.002)] * 98 + [(404, 0.02), (503, 0.2)]:
        measured.observe("resolveDid", status, seconds)
    measured.observe("createDid", 201, 0.002)
    second = sample_of(measured.render({}) + GAUGES, 1010.0)
    (found,) = intervals([first, second])
    assert (found.at, found.requests, found.refused, found.faults) == (1010.0, 10.1, 0.1, 0.1)
    assert found.mean is not None
    assert math.isclose(found.mean, (99 * 0.002 + 0.22) / 101 * 1000)
    assert found.within == 25.0
    assert found.waiting == (7.0, 0.0, 5.0)


def test_no_latency_without_requests() -> None:
    measured = Metrics(shared=None)
    first, second = (sample_of(measured.render({}), at) for at in (0.0, 30.0))
    measured.observe("resolveDid", 200, 40.0)
    third = sample_of(measured.render({}), 60.0)
    quiet, slow = intervals([first, second, third])
    assert (quiet.requests, quiet.mean, quiet.within) == (0, None, None)
    assert (slow.mean, slow.within) == (40_000.0, None)


def test_counts_that_fell_because_process_ended_make_no_interval() -> None:
    measured = Metrics(shared=None)
    measured.observe("resolveDid", 200, 1.0)
    many, none = sample_of(measured.render({}), 0.0), sample_of(b"", 30.0)
    assert intervals([many, none]) == []
    assert intervals([many, many]) == []


def test_an_hour_is_kept_and_the_moment_of_the_look_is_its_end() -> None:
    measured, now = Metrics(shared=None), [0.0]
    kept = KeepFigures(lambda: measured.render({}), lambda: now[0])
    for seconds in [2.0, 4.0, 8.0, 16.0] + [30.0] * SAMPLES:
        assert asyncio.run(kept.step()) == seconds
        now[0] += seconds
    shown = kept.list_intervals(measured.render({}))
    assert len(shown) == SAMPLES
    assert (shown[-1].at, shown[0].at) == (now[0], now[0] - (SAMPLES - 1) * 30.0)


def test_rates_of_the_last_hour_leave_out_older_requests() -> None:
    measured, now = Metrics(shared=None), [0.0]
    kept = KeepFigures(lambda: measured.render({}), lambda: now[0])
    measured.observe("resolveDid", 200, 20.0)
    for _ in range(SAMPLES):
        asyncio.run(kept.step())
    measured.observe("resolveDid", 200, 0.002)
    measured.observe("createDid", 201, 0.02)
    measured.observe("createDid", 201, 0.02)
    found = kept.rates_of_hour(figures(measured.render({}), now=0.0).rates)
    assert [(name, rate.count, rate.p50) for name, rate in found.items()] == [
        ("createDid", 2, 0.025),
        ("resolveDid", 1, 0.0025),
    ]


def test_rates_are_those_since_the_start_after_a_process_ended() -> None:
    measured, other = Metrics(shared=None), Metrics(shared=None)
    kept = KeepFigures(lambda: measured.render({}), lambda: 0.0)
    for _ in range(5):
        measured.observe("resolveDid", 200, 0.002)
    asyncio.run(kept.step())
    other.observe("resolveDid", 200, 0.002)
    assert kept.rates_of_hour(figures(other.render({}), now=0.0).rates)["resolveDid"].count == 1
