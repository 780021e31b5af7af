"""An hour of everything at once while something goes wrong each minute: nothing that was acknowledged is lost.

    python -m tools.soak [--seconds 3600] [--every 60] [--clients 2] [--report dist/soak.html]

Callers create, change, resolve and read, and `identity probe` goes the whole way from credential to proof. Each ``--every`` seconds
the service is killed, frozen, its disk is full (root only), it is restarted, its clock steps, or its witness is down, in turn. A fault's
window ends when the service has taken a write after it; outside of windows no answer may be 5xx and no connection may break, and beside
a step of the clock or a witness who is down not even within. Ends with 1 when something was lost, or refused that should not have been,
or memory or files have grown. The report is one page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests import servers
from tools.bench.bench_soak import Sample, sample
from tools.bench.servers import Server
from tools.soak.load import Callers, Told
from tools.soak.machine import Machine, machine
from tools.soak.report import Fault, page

# What no single request may notice. A probe is many: what it was given before a step of the clock is too old after it.
UNSEEN = frozenset({"clock step", "witness down"})
MEBIBYTE = 2**20
MORE_MEBIBYTES, MORE_FILES = 64.0, 32


@dataclass
class Sampling:
    """A sample each second of whatever process serves at the time."""

    machine: Machine
    told: Told
    began: float

    def __post_init__(self) -> None:
        self.samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(1):
            running = self.machine.running
            server = Server(running.process.pid, running.wire.url)
            self.samples.append(sample(server, self.machine.data_dir, self.began, self.told.answers.total()))

    def end(self) -> list[Sample]:
        self._stop.set()
        self._thread.join()
        return self.samples


def grown(samples: list[Sample], faults: list[Fault]) -> list[str]:
    """Where the most of the last third is above the most of the first: each third has had processes that were new and old."""
    calm = [
        one for one in samples if one.anonymous and not any(fault.begin <= one.second <= fault.end for fault in faults)
    ]
    if len(calm) < 3:
        return []
    first, last = calm[: len(calm) // 3], calm[-(len(calm) // 3) :]
    found = []
    memory = [max(one.anonymous for one in part) / MEBIBYTE for part in (first, last)]
    if memory[1] > memory[0] + MORE_MEBIBYTES:
        found.append(f"memory grew from {memory[0]:.0f} to {memory[1]:.0f} MiB")
    files = [max(one.files for one in part) for part in (first, last)]
    if files[1] > files[0] + MORE_FILES:
        found.append(f"open files grew from {files[0]} to {files[1]}")
    return found


def unexpected(told: Told, faults: list[Fault], began: float) -> list[str]:
    """Failures that no window covers."""
    found = []
    for moment, what in told.failures:
        second = moment - began
        seen = {fault.what for fault in faults if fault.begin <= second <= fault.end}
        if not (seen - UNSEEN or (what.startswith("probe ") and "clock step" in seen)):
            found.append(f"{second:.1f} s: {what}")
    return found


def soak(seconds: float, every: float, clients: int, folder: Path, report: Path) -> int:
    """Runs it and writes the report. Returns the exit code."""
    told, faults = Told(), list[Fault]()
    with ExitStack() as stack:
        around = stack.enter_context(machine(folder))
        around.recovered()
        began = time.monotonic()
        sampling = Sampling(around, told, began)
        stack.callback(sampling.end)
        callers = Callers(around.running.stranger, told, clients, folder)
        stack.callback(callers.end)
        names = list(around.faults())
        while (left := seconds - (time.monotonic() - began)) > every:
            time.sleep(every)
            name = names[len(faults) % len(names)]
            begin = time.monotonic() - began
            around.faults()[name]()
            around.recovered()
            # What was asked before the end of the window is answered after it.
            faults.append(Fault(name, begin, time.monotonic() - began + 1))
            print(f"{begin:6.0f} s {name}, {faults[-1].end - begin:.1f} s; {len(told.created)} DIDs so far", flush=True)
        time.sleep(max(0.0, left))
        callers.end()
        samples = sampling.end()
        around.recovered()
        lost = told.lost(around.running.stranger)
        around.end()
        checked = servers.run("fsck", "--deep", "--data-dir", around.data_dir, timeout=3600)
        faulty = [] if checked.returncode == 0 else [f"fsck: {checked.stdout}{checked.stderr}"]
    wrong = [*(f"lost: {did}" for did in lost), *unexpected(told, faults, began), *grown(samples, faults), *faulty]
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(page(seconds, told, faults, samples, began, wrong))
    print(
        f"acknowledged {len(told.created)} DIDs, {len(told.changed)} of them changed: {len(lost)} lost; {len(faults)} faults; {report}"
    )
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def main() -> None:
    """Reads the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600, help="how long [3600]")
    parser.add_argument("--every", type=float, default=60, help="seconds from the end of a fault to the next [60]")
    parser.add_argument("--clients", type=int, default=2, help="callers of each kind [2]")
    parser.add_argument(
        "--report", type=Path, default=Path("dist/soak.html"), help="the page that is written [dist/soak.html]"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="identity-soak-") as folder:
        sys.exit(soak(options.seconds, options.every, options.clients, Path(folder), options.report))


if __name__ == "__main__":
    main()
