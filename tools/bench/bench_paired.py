"""CPU of a request beside an earlier state of the service: both servers run at once on the same core, and are driven in turn.

    python -m tools.bench.bench_paired --against DIR [--seconds 2] [--rounds 7] [--connections 16] [--dids 30000] [target ...]

``DIR`` is a checkout of the earlier state with its own ``.venv``. Each server has a database of its own with ``--dids`` DIDs. Ratios
are medians over the rounds, below 1 where this state needs less CPU; ``least`` compares the best round of each, which a busy
machine disturbs less. CPU is counted in nanoseconds (``schedstat``), so that a round of two seconds is enough. ``resolve`` is also
driven beside plain Starlette, which returns the same body. The target ``start``, which stands alone, compares starts: with all
extensions, and of the kernel without them.
"""

from __future__ import annotations

import argparse
import contextlib
import secrets
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from tools.bench import bench_http
from tools.bench.bench_http import MANY
from tools.bench.bench_identifiers import cpu_seconds
from tools.bench.figures import note
from tools.bench.rounds import Round, Target, drive, middle, need_wrk, parser
from tools.bench.servers import ROOT, UNLIMITED, Server, running

# The largest ratio of CPU that is asked of each target.
ASKED = {"resolve": 2.0, MANY: 1.2, "resolve-version": 1.35, "401": 2.0, "create": 1.03}
WANTED_RATE = 0.6


@dataclass(frozen=True)
class Side:
    """A running service and its targets by name."""

    server: Server
    targets: dict[str, Target]

    def drive(self, name: str, options: argparse.Namespace) -> Round:
        """Drive a target for a round, with CPU from ``schedstat``."""
        before = cpu_seconds(self.server)
        one = drive(self.server, self.targets[name], options.seconds, options.connections, pin=True)
        spent = cpu_seconds(self.server) - before
        requests = one.per_second * options.seconds
        return Round(one.per_second, spent / requests * 1e6, one.p50_ms, one.p99_ms, one.strange, one.spread)


@contextlib.contextmanager
def served(checkout: Path, count: int) -> Iterator[Side]:
    """Start the service of ``checkout`` with ``count`` DIDs."""
    key = secrets.token_urlsafe(32)
    with started(checkout, {"API_KEY": key, **UNLIMITED}) as server:
        yield Side(server, {one.name: one for one in bench_http.targets(server, key, count)})


@contextlib.contextmanager
def started(checkout: Path, settings: Mapping[str, str]) -> Iterator[Server]:
    """Start the service of ``checkout`` on an empty directory, with one process, on the server's core."""
    python = sys.executable if checkout == ROOT else str(checkout / ".venv" / "bin" / "python")
    # The working directory decides which of two checkouts ``-m`` imports.
    command = ["env", "-C", str(checkout), python, "-m", "identity_core", "serve", "--port", "{port}"]
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        command += ["--data-dir", place, "--workers", "1"]
        with running(command, settings, "/ready", status=200, pin=True) as server:
            yield server


def start(checkout: Path, off: str = "") -> float:
    """Return the seconds of CPU of a start until ``/ready``, of all processes that then live. ``off``: disabled plugins."""
    with started(checkout, {"IDENTITY_PLUGINS_DISABLED": off} if off else {}) as server:
        return cpu_seconds(server)


def compare_starts(before: Path, rounds: int) -> Iterator[str]:
    """Yield a line for a start with all extensions, and one for a start of the kernel without any."""
    found = entry_points(group="identity.plugins")
    extensions = ",".join(one.name for one in found if one.value.endswith(".extension"))
    for name, off, asked in (("start, all", "", 1.02), ("start, kernel", extensions, 0.8)):
        pairs = [(start(ROOT, off), start(before)) for _ in range(rounds)]
        ratio = statistics.median(now / then for now, then in pairs)
        now, then = (statistics.median(side) for side in zip(*pairs, strict=True))
        note(f"{name}, paired", cpu_seconds=now, before_seconds=then, ratio=ratio)
        verdict = "ok    " if ratio <= asked else "MISSED"
        yield f"{name:16} {now * 1e3:8.1f} ms {'':10} | {then * 1e3:8.1f} ms {'':10} | {ratio:5.2f}x {verdict} <= {asked}x"


def compare(name: str, new: Side, old: Side, options: argparse.Namespace) -> str:
    """Return one line of the report."""
    for side in (new, old):
        drive(side.server, side.targets[name], 1, options.connections, pin=True)
    pairs = [(new.drive(name, options), old.drive(name, options)) for _ in range(options.rounds)]
    ratio = statistics.median(a.cpu_us / b.cpu_us for a, b in pairs)
    least = min(a.cpu_us for a, _ in pairs) / min(b.cpu_us for _, b in pairs)
    mine, before = middle(a for a, _ in pairs), middle(b for _, b in pairs)
    mine.keep(f"{name}, paired", before_us=before.cpu_us, ratio=ratio)
    asked = ASKED.get(name)
    verdict = "" if asked is None else f"{'ok    ' if ratio <= asked else 'MISSED'} <= {asked}x"
    strange = mine.strange + before.strange
    return (
        f"{name:16} {mine.cpu_us:8.1f} us {mine.per_second:8.0f}/s | {before.cpu_us:8.1f} us {before.per_second:8.0f}/s | "
        f"{ratio:5.2f}x (least {least:.2f}x) {verdict}" + (f"  {strange} strange answers" if strange else "")
    )


def beside_starlette(new: Side, options: argparse.Namespace) -> str:
    """Return the line that compares a cached resolve with plain Starlette."""
    target = new.targets["resolve"]
    once = new.server.ask(target.path)
    with bench_http.baseline(target, once, 1) as yardstick:
        drive(yardstick, target, 1, options.connections, pin=True)
        pairs = [
            tuple(
                drive(server, target, options.seconds, options.connections, pin=True).per_second
                for server in (new.server, yardstick)
            )
            for _ in range(options.rounds)
        ]
    rate = statistics.median(ours / theirs for ours, theirs in pairs)
    verdict = "ok    " if rate >= WANTED_RATE else "MISSED"
    return f"resolve: {rate:.2f}x the rate of plain Starlette, {verdict} >= {WANTED_RATE}x"


def main() -> None:
    """Measure and print the table."""
    options_of = parser(__doc__, rounds=7, seconds=2)
    options_of.set_defaults(connections=16)
    options_of.add_argument("names", nargs="*", metavar="target")
    options_of.add_argument(
        "--against", type=Path, required=True, metavar="DIR", help="the checkout of the state before"
    )
    options_of.add_argument("--dids", type=int, default=30_000, help=f"DIDs of {MANY} [30000]")
    options = options_of.parse_args()
    need_wrk()
    if options.names == ["start"]:
        for line in compare_starts(options.against.resolve(), options.rounds):
            print(line, flush=True)
        return
    names = options.names or [*ASKED]
    count = options.dids if MANY in names else 0
    with served(ROOT, count) as new, served(options.against.resolve(), count) as old:
        print(f"{'target':16} {'now':>11} {'':>10} | {'before':>11} {'':>10} | CPU", flush=True)
        for name in names:
            print(compare(name, new, old, options), flush=True)
        if "resolve" in names:
            print(beside_starlette(new, options), flush=True)


if __name__ == "__main__":
    main()
