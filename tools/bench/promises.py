"""What the project promises of its speed, and the benchmarks that measure it: the rows of the page of figures.

Floors that no benchmark measures are sums of what an answer cannot do without, each part measured alone: of a create its key (13 µs),
signature (14), the verification of the own signature (38), hashes (5), SQL (45) and HTTP (8), with the BLS key one multiplication in G2
more (130); of an update under DIDAuth two verifications, a signature, SQL and HTTP; of a cold read its SQL (8); of a proof its
multiplications, sums and pairings. A rate has what two processors reach that do nothing else, and a p99 the time that sixteen clients wait
for one another at that rate. They, and what is asked, are of one machine; ``PACE`` is what this one takes for the same work, none of
which is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    """A value of a figure."""

    figure: str
    value: str


@dataclass(frozen=True)
class Promise:
    """A row. ``floor`` is a number or what was measured of it; what ``over`` says is taken away from the value first."""

    path: str
    bench: str
    measured: Place
    unit: str
    asked: float
    at_most: bool = True
    floor: float | Place | None = None
    peer: Place | None = None
    over: Place | None = None

    def is_kept(self, value: float) -> bool:
        return value <= self.asked if self.at_most else value >= self.asked


class Work(NamedTuple):
    """Work that says how fast a machine is, and what the machine takes for it of which promises and floors speak."""

    name: str
    measured: Place
    there: float
    unit: str = "µs"


@dataclass(frozen=True)
class Bench:
    """Runs of one module: ``quick`` and ``full`` are the arguments of each. With ``has_folder`` it takes ``--folder``."""

    module: str
    quick: tuple[str, ...]
    full: tuple[str, ...]
    has_folder: bool = field(default=True)


SOCKET = Place("socket", "cpu_us")
POSTGRESQL = "PostgreSQL "
"""Before the names of figures of it."""
MILLION, FEW, TENFOLD = "1000000 x 1", "1000 x 1", "100000 x 10"
WIDEST = "64-bit interval, two-sided"
CREATE, CREATE_BLS, SQL, SERVER, PROVE, VERIFY = 120, 250, 8, 350, 700, 1700
"""Floors of CPU in microseconds."""


def of_two(floor: float) -> float:
    """Answers a second of two processors, of which each takes ``floor`` microseconds of one."""
    return 2e6 / floor


PACE = (
    Work("an Ed25519 signature and its verification, libsodium", Place("libsodium", "cpu_us"), 52),
    Work("an answer of plain Starlette", Place("401", "peer_cpu_us"), 37.6),
    Work("an answer of a bare socket", Place("401", "floor_us"), 5.8),
)
BENCHES: Mapping[str, Bench] = {
    "machine": Bench("bench_machine", ("",), ("",), has_folder=False),
    "lifecycle": Bench(
        "bench_lifecycle",
        ("create create-bls create-2-workers create-bls-2-workers didauth-write --rounds 1 --seconds 1 --count 300",),
        ("create create-bls create-2-workers create-bls-2-workers didauth-write",),
    ),
    "http": Bench(
        "bench_http",
        ("resolve resolve-many 401 429 --rounds 1 --seconds 1 --dids 2000",),
        ("resolve resolve-many 401 429",),
        has_folder=False,
    ),
    "scale": Bench(
        "bench_scale",
        ("--count 20000 --versions 1 --few 1000 --rounds 1 --seconds 1",),
        (
            "--count 1000000 --versions 1 --few 1000 --rounds 3 --seconds 2",
            "--count 100000 --versions 10 --few 1000 --rounds 3 --seconds 2",
            "--count 100000 --versions 1 --few 1000 --rounds 3 --seconds 2 --postgresql",
        ),
    ),
    "delegated": Bench(
        "bench_delegated",
        ("proofs --rounds 1 --requests 200", "proofs --rounds 1 --requests 200 --suite 2"),
        ("proofs", "proofs --suite 2"),
    ),
    "prover": Bench(
        "bench_prover",
        ("--suite 1 --backend blst --backend pyblst --skip-peers --runs 5",),
        ("--suite 1 --backend blst --backend pyblst --skip-peers",),
        has_folder=False,
    ),
    "verify": Bench("bench_verify", ("--rounds 1 --seconds 1",), ("",), has_folder=False),
    "storage": Bench("bench_storage", ("--callers 64 --postgresql --seconds 1",), ("--callers 64 --postgresql",)),
    "start": Bench("bench_start", ("--rounds 1 --count 300",), ("",)),
}
PROMISES = (
    Promise("create", "lifecycle", Place("create", "cpu_us"), "µs", 380, floor=CREATE),
    Promise("create with BLS key", "lifecycle", Place("create-bls", "cpu_us"), "µs", 550, floor=CREATE_BLS),
    Promise(
        "create, two workers",
        "lifecycle",
        Place("create-2-workers", "per_second"),
        "/s",
        3000,
        False,
        floor=of_two(CREATE),
    ),
    Promise(
        "create with BLS key, two workers",
        "lifecycle",
        Place("create-bls-2-workers", "per_second"),
        "/s",
        2300,
        False,
        floor=of_two(CREATE_BLS),
    ),
    Promise("DIDAuth write", "lifecycle", Place("didauth-write", "cpu_us"), "µs", 500, floor=150),
    *(
        Promise(
            name,
            "http",
            Place(name, "cpu_us"),
            "µs",
            asked,
            floor=Place(name, "floor_us"),
            peer=Place(name, "peer_cpu_us"),
        )
        for name, asked in (("401", 80.0), ("429", 70.0))
    ),
    Promise(
        "resolve, cached, beside Starlette",
        "http",
        Place("resolve", "rate"),
        "times",
        0.6,
        False,
        floor=Place("resolve", "floor_rate"),
    ),
    *(
        Promise(
            f"{name}, 1,000,000 DIDs, over the socket",
            "scale",
            Place(f"{name}, {MILLION}", "cpu_us"),
            "µs",
            65,
            floor=SQL,
            over=SOCKET,
        )
        for name in ("resolve, any", "resolve ?versionId", "resolve ?versionTime")
    ),
    *(
        Promise(f"{name}, beside 1,000 DIDs", "scale", Place(f"{name}, {MILLION}", "ratio"), "times", 1.2, floor=1)
        for name in ("cold", "resolve ?versionId", "resolve ?versionTime", "create")
    ),
    *(
        Promise(
            f"{name}, PostgreSQL, 100,000 beside 1,000 DIDs",
            "scale",
            Place(f"{POSTGRESQL}{name}, 100000 x 1", "ratio"),
            "times",
            1.2,
            floor=1,
        )
        for name in ("cold", "create")
    ),
    Promise(
        "memory of its own after reads of 1,000,000 DIDs",
        "scale",
        Place(f"memory, {MILLION}", "anonymous_mib"),
        "MiB",
        300,
        floor=Place(f"memory, {FEW}", "anonymous_mib"),
    ),
    *(
        Promise(path, "delegated", Place("delegated proof, suite 1", value), unit, asked, is_at_most, floor)
        for path, value, unit, asked, is_at_most, floor in (
            ("delegated proof, server", "server_ms", "ms", 0.8, True, SERVER / 1e3),
            ("delegated proof", "per_second", "/s", 700, False, of_two(SERVER + PROVE)),
            ("delegated proof, p99", "p99_ms", "ms", 60, True, 16e3 / of_two(SERVER + PROVE)),
        )
    ),
    Promise(
        "delegated proof of suite 2",
        "delegated",
        Place("delegated proof, suite 2", "per_second"),
        "/s",
        220,
        False,
        floor=Place("delegated proof, suite 2", "floor_per_second"),
    ),
    *(
        Promise(
            f"64-bit interval, {what} ({name})",
            "prover",
            Place(f"{name}, {WIDEST}", f"{what}_ms"),
            "ms",
            asked,
            floor=floor / 1e3,
        )
        for name, what, asked, floor in (
            ("blst", "prove", 1.3, PROVE),
            ("blst", "verify", 2.0, VERIFY),
            ("pyblst", "prove", 2.7, PROVE),
            ("pyblst", "verify", 2.9, VERIFY),
        )
    ),
    Promise(
        "stored verification",
        "verify",
        Place("stored", "per_second"),
        "/s",
        650,
        False,
        floor=of_two(VERIFY),
    ),
    *(
        Promise(
            f"appends, {callers}",
            "storage",
            Place(f"append, {callers} callers", "per_second"),
            "/s",
            asked,
            False,
            floor=Place(f"inserts alone, {store}", "per_second"),
        )
        for store, callers, asked in (
            ("SQLite", "SQLite, 64", 15_000),
            ("PostgreSQL", "PostgreSQL, 4 x 16", 9_000),
        )
    ),
    *(
        Promise(path, "start", Place(figure, "seconds"), "s", asked, floor=Place("imports alone", "seconds"))
        for path, figure, asked in (
            ("start to ready", "start, 1 process", 0.6),
            ("two workers after kill -9", "start after kill -9, 2 processes", 1.5),
        )
    ),
)
