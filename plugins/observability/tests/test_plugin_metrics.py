import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from identity_observability.kernel_gauges import limiter_gauges, plugin_gauges
from identity_observability.metrics import Metrics

from identity_core.extension.declaration import Gauge
from identity_core.plugin.build import WorkerTable
from identity_core.plugin.choose import InUse
from identity_core.plugin.sockets import LEDGER
from tests.unit.plugin.parts import bulkhead


@dataclass
class Limiter:
    degraded: bool = False
    local_decisions: int = 0


def test_counters_are_shown_at_each_scrape() -> None:
    bulk, limiter = bulkhead(LEDGER), Limiter()
    plugins = {"ledger:toy": InUse("active", bulk, WorkerTable(2, 1, 3, "", waits=False))}
    metrics = Metrics([*plugin_gauges(lambda: plugins), *limiter_gauges(limiter)], shared=None)
    bulk.calls, bulk.failures, bulk.timeouts, bulk.refused, bulk.in_flight = 9, 4, 2, 1, 5
    for _ in range(2):
        text = metrics.render({}).decode()
        for line in (
            'identity_plugin_calls_total{plugin="ledger:toy"} 9.0',
            'identity_plugin_failures_total{plugin="ledger:toy"} 4.0',
            'identity_plugin_timeouts_total{plugin="ledger:toy"} 2.0',
            'identity_plugin_refused_total{plugin="ledger:toy"} 1.0',
            'identity_plugin_in_flight{plugin="ledger:toy"} 5.0',
            'identity_plugin_working{plugin="ledger:toy"} 1.0',
            'identity_plugin_processes{plugin="ledger:toy"} 1.0',
            'identity_plugin_process_restarts_total{plugin="ledger:toy"} 3.0',
            "identity_limiter_degraded 0.0",
            "identity_limiter_local_decisions_total 0.0",
        ):
            assert f"\n{line}\n" in text
    bulk.calls, limiter.degraded, limiter.local_decisions = 10, True, 7
    plugins["ledger:toy"] = InUse("shut off", bulk, WorkerTable(2, 0, 4, "", waits=False))
    text = metrics.render({}).decode()
    assert 'identity_plugin_calls_total{plugin="ledger:toy"} 10.0' in text
    assert 'identity_plugin_working{plugin="ledger:toy"} 0.0' in text
    assert "identity_limiter_degraded 1.0" in text
    assert "identity_limiter_local_decisions_total 7.0" in text


def test_installation_without_shared_limiter_has_no_gauges_of_it() -> None:
    metrics = Metrics([*plugin_gauges(dict), *limiter_gauges(None)], shared=None)
    assert b"identity_limiter" not in metrics.render({})


def test_gauge_that_is_added_later_is_rendered() -> None:
    gauges: list[Gauge] = []
    metrics = Metrics(gauges, shared=None)
    assert b"identity_waiting" not in metrics.render({})
    gauges.append(Gauge("waiting", "livemax", "Requests that wait.", lambda: 3))
    assert b"\nidentity_waiting 3.0\n" in metrics.render({})


WORKER = """
import os, sys
os.environ["PROMETHEUS_MULTIPROC_DIR"] = sys.argv[1]
from identity_observability.kernel_gauges import plugin_gauges
from identity_observability.metrics import Metrics
from identity_core.plugin.choose import InUse
from identity_core.plugin.sockets import LEDGER
from tests.unit.plugin.parts import bulkhead
bulk = bulkhead(LEDGER)
metrics = Metrics([*plugin_gauges(lambda: {"ledger:toy": InUse("active", bulk)})], shared=sys.argv[1])
bulk.calls, bulk.in_flight = 5, 2
metrics.copy()
if len(sys.argv) > 2:
    print("up", flush=True)
    sys.stdin.readline()
sys.stdout.buffer.write(metrics.render({}))
"""


def test_processes_add_up_and_an_ended_one_has_no_calls(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    dead = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 'identity_plugin_in_flight{plugin="ledger:toy"} 2.0' in dead.stdout
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*command, "stay"], text=True, **pipes) as alive:
        assert alive.stdout is not None
        alive.stdout.readline()
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        alive.communicate("\n")
    assert 'identity_plugin_calls_total{plugin="ledger:toy"} 15.0' in shown
    assert 'identity_plugin_in_flight{plugin="ledger:toy"} 4.0' in shown
