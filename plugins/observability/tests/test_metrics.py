import math
import subprocess
import sys
from pathlib import Path

from identity_observability.metrics import BUCKETS, Metrics
from prometheus_client import CollectorRegistry, Histogram, generate_latest


def test_counts_and_times_by_operation_and_status() -> None:
    metrics = Metrics(shared=None)
    for seconds in (0.0002, 0.0002, 3.0):
        metrics.observe("resolveDid", 200, seconds)
    metrics.observe("", 404, 0.001)
    text = metrics.render({}).decode()
    assert 'identity_request_duration_seconds_count{operation="resolveDid",status="200"} 3.0' in text
    assert 'identity_request_duration_seconds_bucket{le="0.00025",operation="resolveDid",status="200"} 2.0' in text
    assert 'identity_request_duration_seconds_count{operation="none",status="404"} 1.0' in text


def test_duration_is_counted_as_by_the_library() -> None:
    metrics, registry = Metrics(shared=None), CollectorRegistry()
    name = "identity_request_duration_seconds"
    theirs = Histogram(name, "Seconds.", ["operation", "status"], registry=registry, buckets=BUCKETS).labels("a", "200")
    for bound in BUCKETS:
        for seconds in (bound, math.nextafter(bound, 0.0), math.nextafter(bound, math.inf), 1.5 * bound):
            metrics.observe("a", 200, seconds)
            theirs.observe(seconds)
    metrics.observe("a", 200, 0.0)
    theirs.observe(0.0)

    def samples(text: bytes) -> list[str]:
        return [line for line in text.decode().splitlines() if line.startswith(name) and "_created" not in line]

    assert samples(metrics.render({})) == samples(generate_latest(registry)) != []


def test_two_applications_do_not_share() -> None:
    first, second = Metrics(shared=None), Metrics(shared=None)
    first.observe("resolveDid", 200, 0.1)
    assert b'operation="resolveDid"' not in second.render({})


WORKER = """
import os, sys
os.environ["PROMETHEUS_MULTIPROC_DIR"] = sys.argv[1]
from identity_observability.metrics import Metrics
metrics = Metrics(shared=sys.argv[1])
metrics.observe("resolveDid", 200, 0.1)
sys.stdout.buffer.write(metrics.render({}))
"""


def test_workers_share_through_a_directory(tmp_path: Path) -> None:
    for workers in (1, 2, 3):
        run = subprocess.run([sys.executable, "-c", WORKER, str(tmp_path)], capture_output=True, text=True, check=True)
        assert f'_count{{operation="resolveDid",status="200"}} {workers}.0' in run.stdout
