"""The whole operation generateDelegatedProof over HTTP, and what it costs those who only resolve.

    python -m tools.bench.bench_delegated [--rounds 5] [--requests 1000] [--connections 16] [--suite 1|2] [--prover-workers 2] [--folder .]
        [case ...]

Each request is made once, because its IBCT is good once: ``--requests`` tokens a round are signed beforehand, and only the sending is
measured. Aki asks with an access token of his own; the server is on SQLite, durable, with its prover in processes beside it, and
nothing is pinned. CPU is apart for server and prover processes; the prover's own time is that of the same proof in this process.
The floor of a rate is what two processors reach with these provers and a server at its floor.
Targets: of suite 1 the server spends at most 0.8 ms on a proof, 700/s with 16 clients on two cores, p99 60 ms, of suite 2 220/s; both kinds
of processes together at most the prover's own time and 3 ms; resolve's p99 while proofs keep both cores busy at most five times that of
the idle service.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
import statistics
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import uvloop
from identity_kit.conformance.prover_cases import statement

from tools.bench.bench_prover import CASES, SCHEMA, Bench, median
from tools.bench.figures import note
from tools.bench.parties import QUESTION, Parties, gather
from tools.bench.promises import SERVER, of_two
from tools.bench.rounds import Target, drive, measured, middle, need_wrk, parser
from tools.bench.servers import UNLIMITED, fdatasync_ms, running
from tools.bench.wire import Wire, did_path

RATES, P99_MS, SERVER_MS, OVERHEAD_MS, SLOWER = {1: 700, 2: 220}, 60, 0.8, 3.0, 5.0


@dataclass(frozen=True)
class Proofs:
    """A round: CPU in milliseconds of a proof."""

    per_second: float
    server_ms: float
    prover_ms: float
    p50_ms: float
    p99_ms: float


def own_ms() -> float:
    """What the prover itself takes for the question, in this process and warm; CPU."""
    bench = Bench("pyblst")
    asked = statement(bench.issuer.key, *CASES[QUESTION], schema=SCHEMA)
    for _ in range(20):
        bench.prove(asked)
    return median(lambda: bench.prove(asked), 100)


def proofs_round(parties: Parties, requests: Sequence[bytes], connections: int) -> Proofs:
    """Sends them all. Raises ``SystemExit`` when one is refused."""
    server = parties.server
    before = server.cpu_apart()
    got = measured(server, requests, connections, 201, pin=False)
    after = server.cpu_apart()
    if got.strange:
        raise SystemExit(f"{got.strange} of {len(requests)} requests were refused")
    spent = [(late - early) * 1000 / len(requests) for early, late in zip(before, after, strict=True)]
    return Proofs(got.per_second, spent[0], spent[1], got.p50_ms, got.p99_ms)


def proofs(parties: Parties, options: Namespace) -> None:
    """Prints a line a round, and the medians against the targets."""
    own = own_ms()
    proofs_round(parties, parties.requests(200), options.connections)
    rounds = []
    for _ in range(options.rounds):
        rounds.append(proofs_round(parties, parties.requests(options.requests), options.connections))
        _line("", rounds[-1])
    middle_of = Proofs(*(statistics.median(column) for column in zip(*map(_figures, rounds), strict=True)))
    _line("median", middle_of)
    floor = of_two(SERVER + middle_of.prover_ms * 1e3)
    note(f"delegated proof, suite {options.suite}", **asdict(middle_of), prover_own_ms=own, floor_per_second=floor)
    over = middle_of.server_ms + middle_of.prover_ms - own
    _verdict(f"CPU beside the prover's own {own:.2f} ms: {over:.2f} ms", over <= OVERHEAD_MS, f"<= {OVERHEAD_MS} ms")
    server, rate = middle_of.server_ms, RATES[options.suite]
    _verdict(f"CPU of the server {server:.2f} ms", server <= SERVER_MS, f"<= {SERVER_MS} ms of suite 1")
    _verdict(f"{middle_of.per_second:.0f}/s", middle_of.per_second >= rate, f">= {rate}/s")
    _verdict(f"p99 {middle_of.p99_ms:.1f} ms", middle_of.p99_ms <= P99_MS, f"<= {P99_MS} ms")


def _figures(one: Proofs) -> tuple[float, ...]:
    return one.per_second, one.server_ms, one.prover_ms, one.p50_ms, one.p99_ms


def _line(title: str, one: Proofs) -> None:
    print(
        f"{title:8}{one.per_second:7.0f}/s   CPU: server {one.server_ms:5.2f} ms, prover {one.prover_ms:5.2f} ms"
        f"   p50 {one.p50_ms:7.2f} ms   p99 {one.p99_ms:7.2f} ms",
        flush=True,
    )


def _verdict(what: str, is_good: bool, promise: str) -> None:
    print(f"        {'ok    ' if is_good else 'MISSED'} {what}, wanted {promise}", flush=True)


@contextlib.contextmanager
def proving(parties: Parties, requests: Sequence[bytes], connections: int) -> Iterator[Callable[[], float]]:
    """Keeps proofs under way; yields how many were made a second so far. Raises ``SystemExit`` when the requests ran out, or one was
    refused."""
    supply = iter(requests)
    stop = threading.Event()
    made = itertools.count()
    strange: list[bytes] = []
    began = time.monotonic()

    async def send() -> None:
        wire = await Wire.open(parties.server.url)
        for request in supply:
            reply = await wire.call(request)
            if reply.status != 201:
                strange.append(reply.body[:300])
                break
            next(made)
            if stop.is_set():
                break
        wire.close()

    async def everybody() -> None:
        await asyncio.gather(*(send() for _ in range(connections)))

    thread = threading.Thread(target=uvloop.run, args=(everybody(),))
    thread.start()
    try:
        yield lambda: next(made) / (time.monotonic() - began)
    finally:
        stop.set()
        thread.join()
    if strange or next(supply, None) is None:
        raise SystemExit(f"the proofs ended early: {strange[:1] or 'more --requests are needed'}")


def resolve(parties: Parties, options: Namespace) -> None:
    """Prints resolve's latency, idle and beside proofs in turn: for clients that leave the cores to the proofs, and for some that take what
    they get."""
    need_wrk()
    for title, clients, pause in (("paced", 16, 20), ("flat out", 32, 0)):
        target = Target("resolve", "GET", did_path(parties.hana.did), 200, pause_ms=pause)
        idle, beside, rates = [], [], []
        drive(parties.server, target, 1, clients, pin=False)
        for _ in range(options.rounds):
            idle.append(drive(parties.server, target, options.seconds, clients, pin=False))
            supply = parties.requests(options.seconds * 500 + 200)
            with proving(parties, supply, options.connections) as rate:
                time.sleep(0.3)
                beside.append(drive(parties.server, target, options.seconds, clients, pin=False))
                rates.append(rate())
        usual, busy = middle(idle), middle(beside)
        for when, one in (("idle", usual), ("beside proofs", busy)):
            strange = f"   {one.strange} strange answers" if one.strange else ""
            figures = f"{one.per_second:7.0f}/s   p50 {one.p50_ms:6.2f} ms   p99 {one.p99_ms:6.2f} ms"
            print(f"{clients} clients {title:9} {when:14}{figures}{strange}", flush=True)
        slower = busy.p99_ms / usual.p99_ms
        _verdict(
            f"p99 {slower:.1f}x of idle beside {statistics.median(rates):.0f} proofs/s",
            slower <= SLOWER,
            f"<= {SLOWER:g}x",
        )


CASES_OF = {"proofs": proofs, "resolve": resolve}


def main() -> None:
    """Runs the chosen cases on one server."""
    options_of = parser(__doc__, rounds=5, seconds=3)
    options_of.set_defaults(connections=16)
    options_of.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES_OF)} [all]")
    options_of.add_argument("--requests", type=int, default=1000, help="proofs of a round [1000]")
    options_of.add_argument("--suite", type=int, choices=[1, 2], default=1, help="of the credential [1]")
    options_of.add_argument("--prover-workers", type=int, default=2, help="prover processes [2]")
    options_of.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options = options_of.parse_args()
    unknown = set(options.cases) - CASES_OF.keys()
    if unknown:
        raise SystemExit(f"unknown: {sorted(unknown)}; there are {list(CASES_OF)}")
    folder = options.folder.resolve()
    key = secrets.token_urlsafe(32)
    environment = {"API_KEY": key, "IDENTITY_PROVER_WORKERS": str(options.prover_workers), **UNLIMITED}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=folder) as place:
        command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", place]
        with running(command, environment, "/ready", status=200, pin=False) as server:
            print(
                f"fdatasync {fdatasync_ms(folder):.2f} ms, {os.cpu_count()} cores, {options.connections} clients,"
                f" {options.prover_workers} prover processes"
            )
            parties = gather(server, key, suite=options.suite)
            for name in options.cases or CASES_OF:
                CASES_OF[name](parties, options)


if __name__ == "__main__":
    main()
