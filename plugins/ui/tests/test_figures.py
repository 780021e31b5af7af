"""The figures of the overview, from an exposition of Prometheus as the service makes it."""

from __future__ import annotations

import math

from identity_observability.metrics import Metrics
from identity_ui.figures import figures


def test_operations_are_counted_by_outcome() -> None:
    measured = Metrics(shared=None)
    for status, seconds in [(200, 0.002)] * 98 + [(404, 0.02), (503, 0.2)]:
        measured.observe("resolveDid", status, seconds)
    measured.observe("", 200, 40.0)
    found = figures(measured.render({"ledger": "ok"}), now=0.0)
    assert list(found.rates) == ["resolveDid", "none"]
    rate = found.rates["resolveDid"]
    assert (rate.count, rate.refused, rate.faults) == (100, 1, 1)
    assert math.isclose(rate.mean, (98 * 0.002 + 0.22) / 100)
    # 99 of the 100 took at most 25 ms.
    assert rate.p99 == 0.025
    assert rate.p50 == 0.0025
    assert found.rates["none"].p99 == math.inf
    assert found.count == 101


def test_queues_and_time_since_start_are_there_and_nothing_else() -> None:
    text = b"""# TYPE identity_database_writes_waiting gauge
identity_database_writes_waiting 7.0
# TYPE identity_plugin_in_flight gauge
identity_plugin_in_flight{plugin="ledger:sql"} 2.0
identity_plugin_in_flight{plugin="prover:bbs"} 0.0
identity_plugin_in_flight{plugin="of, \\"=\\\\ and }\\n"} +Inf
# TYPE identity_process_start_time_seconds gauge
identity_process_start_time_seconds 1000.0
# TYPE identity_process_open_fds gauge
identity_process_open_fds 12.0
"""
    found = figures(text, now=1060.0)
    assert found.seconds == 60
    assert found.queues == {
        ("database_writes_waiting", ""): 7,
        ("plugin_in_flight", "ledger:sql"): 2,
        ("plugin_in_flight", "prover:bbs"): 0,
        ("plugin_in_flight", 'of, "=\\ and }\n'): math.inf,
    }
    assert found.rates == {}
