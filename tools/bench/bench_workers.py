"""Proofs through the port, in worker processes: rate, latency, and what a call costs the server.

    python -m tools.bench.bench_workers [--seconds 5] [--workers 1 2] [--rounds 3]

The prover is bbs, the statement a 64-bit bound, the credential checked before. ``rate`` has eight callers for each worker, ``latency``
one caller at all. CPU is that of the server's process alone, user and system; ``read`` is the cheapest call there is, so that its cost is
that of the way. Medians over the rounds. Targets: two workers make 70 % more than one; the way costs the server at most 0.2 ms a call.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from identity_isolation.provers import in_processes
from identity_kit.conformance.prover_cases import NOW, BbsIssuer, context, statement

from identity_core.bootstrap import SystemClock
from identity_core.plugin.manager import PluginManager
from identity_core.settings import load
from tools.bench.bench_prover import CASES, SCHEMA, VALUES

CALLERS = 8


@dataclass(frozen=True)
class Figures:
    """Calls a second; server CPU of a call in microseconds; latencies in milliseconds."""

    rate: float
    cpu_us: float
    p50_ms: float
    p99_ms: float


async def measure(call: Callable[[], Awaitable[object]], callers: int, seconds: float) -> Figures:
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def caller() -> None:
        while (began := time.perf_counter()) < end:
            await call()
            latencies.append(time.perf_counter() - began)

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller() for _ in range(callers)))
    took, spent = time.perf_counter() - began, time.process_time() - cpu
    latencies.sort()
    count = len(latencies)
    return Figures(count / took, spent / count * 1e6, latencies[count // 2] * 1e3, latencies[int(count * 0.99)] * 1e3)


async def bench(workers: int, seconds: float, rounds: int) -> None:
    settings = load(environment={}, overrides={"prover.backend": "bbs"})
    plugins = PluginManager.load(settings, clock=SystemClock(), logger=logging.getLogger("identity"))
    plugins.isolation = in_processes
    began = time.perf_counter()
    prover = plugins.proof_workers("bbs", workers=workers, deadline_seconds=60.0)
    assert prover is not None
    await plugins.proof_workers_settled()
    print(f"{workers} worker{'s' * (workers > 1)}: the first is up after {time.perf_counter() - began:.2f} s")
    issuer = BbsIssuer("bench")
    witness = issuer.credential(SCHEMA, VALUES)
    asked = statement(issuer.key, *CASES["64-bit bound"], schema=SCHEMA)
    proof = await prover.prove(asked, witness, context=context())
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "prove": lambda: prover.prove(asked, witness, context=context()),
        "verify": lambda: prover.verify(asked, proof, context=context(), now=NOW),
        "read": lambda: prover.read(proof.proof),
    }
    # So that every worker has its tables.
    await measure(calls["prove"], CALLERS * workers, 1.0)
    for name, call in calls.items():
        for title, callers in (("rate", CALLERS * workers), ("latency", 1)):
            figures = [await measure(call, callers, seconds) for _ in range(rounds)]
            rate, cpu, p50, p99 = _medians(figures)
            print(
                f"  {name:7}{title:9}{callers:3} callers {rate:9.0f}/s   server CPU {cpu:7.1f} µs a call"
                f"   p50 {p50:8.2f} ms   p99 {p99:8.2f} ms",
                flush=True,
            )
    await plugins.close()


def _medians(figures: list[Figures]) -> tuple[float, float, float, float]:
    return (
        statistics.median(one.rate for one in figures),
        statistics.median(one.cpu_us for one in figures),
        statistics.median(one.p50_ms for one in figures),
        statistics.median(one.p99_ms for one in figures),
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    import uvloop

    for workers in given.workers:
        uvloop.run(bench(workers, given.seconds, given.rounds))


if __name__ == "__main__":
    main()
