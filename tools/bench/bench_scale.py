"""Whether a large database slows the server down: 100,000 DIDs with 10 versions each, beside a few DIDs.

    python -m tools.bench.bench_scale [--count 100000] [--versions 10] [--rounds 5] [--seconds 3] [--folder .] [--keep DIR] [--postgresql]

Seeds one data directory with ``--count`` DIDs and one with ``--few`` (``seeding.py`` says how; ``--keep`` keeps the large
one for the next run), serves both, and drives them in turn. Every request draws a DID at random:

- ``resolve, any``: from all DIDs. The few are answered from the cache, the many hardly ever are.
- ``resolve, hot``: from as many DIDs on both sides, so that both answer from their caches.
- ``resolve ?versionId``, ``?versionTime``: the answer is never cached on either side. Of the few the newest version is held and known
  to be the ledger's, of the many it is read and compared; ``--few 20000`` shows what the size of the tables alone costs.
- ``history``, ``log``: all versions. ``audit``: a page of the audit log. ``create``, ``PATCH``: durable writes.
- ``proof``: generateDelegatedProof over a new credential. ``verification``: of a stored proof. ``status``: the credential's status list.
- ``cold``: each of 1,000 DIDs once, by a server that has just started, so that no cache holds one on either side; CPU by ``schedstat``.

The files are read once before, so that the kernel has them where memory allows: what is compared is the service, not the disk.

``socket`` is what a bare socket spends on the bytes of a resolve.

The promise is a ratio of at most 1.2 for resolve and create. ``--few 20000`` shows ``any`` against a database that is small, but
larger than the caches. ``--count 1000000 --versions 1`` is the largest that is promised; its seeding may take ten minutes. Resident
memory after all of it is printed for both, what is mapped from files apart.

With ``--postgresql`` each side has a database of a private server, which may use all cores; CPU is that of our processes alone, and what
the server spends shows in the rate.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.postgres_server import PostgresServer
from tools.bench.bench_identifiers import cpu_seconds
from tools.bench.bench_lifecycle import did_auth
from tools.bench.bench_verify import proven
from tools.bench.figures import note, spread_of
from tools.bench.floor import socket_floor_us
from tools.bench.parties import Parties, gather
from tools.bench.promises import POSTGRESQL
from tools.bench.rounds import Round, Target, drive, measured, middle, need_wrk, parser
from tools.bench.seeding import dids_in, fill, octets_per_version
from tools.bench.servers import PROVER, UNLIMITED, Server, on_client_core, serve
from tools.bench.wire import PREFIX, creation, did_path, encode_request, exchange

KEY = "bench-key-000000000000000000000000000000000"
DRAWN = 200_000
WANTED = 1.2
PROMISED = ("resolve", "create")
PATCHED = 1000
PROVED = 200
ONCE = 1000
WARMED = 200
HEAD = f"{'':22} {'large':>10} {'CPU':>11} {'p99':>11} | {'few':>10} {'CPU':>11} {'p99':>11} | CPU    rate"


def targets(dids: Sequence[str], hot: Sequence[str], versions: int) -> list[Target]:
    """What one side is asked for. ``hot`` are the DIDs that its caches hold."""
    some = dids if len(dids) <= DRAWN else random.sample(dids, DRAWN)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def reading(name: str, of: Sequence[str], tail: str = "") -> Target:
        paths = tuple(did_path(did) + tail for did in of)
        return Target(name, "GET", paths[0], 200, paths=paths)

    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
    return [
        reading("resolve, any", some),
        reading("resolve, hot", hot),
        reading("resolve ?versionId", some, f"?versionId={(versions + 1) // 2}"),
        reading("resolve ?versionTime", some, f"?versionTime={now}"),
        reading("history", some, "/history"),
        reading("log", some, "/log"),
        Target("audit", "GET", f"{PREFIX}/audit?limit=50", 200, headers=headers),
    ]


def create() -> Target:
    """A durable create."""
    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
    return Target("create", "POST", f"{PREFIX}/dids", 201, headers=headers, body=creation([]))


def repeated(server: Server, target: Target, options: argparse.Namespace) -> Callable[[], Round]:
    """What drives a target for a round; it is warm and answers as it should."""
    once = server.ask(target.path, target.headers, target.method, target.body)
    if once.status != target.status:
        raise SystemExit(f"{target.name} answers {once.status}: {once.body[:300]!r}")
    drive(server, target, 1, options.connections, pin=True)
    return lambda: drive(server, target, options.seconds, options.connections, pin=True)


def updates(server: Server, options: argparse.Namespace) -> Callable[[], Round]:
    """What sends an update under DIDAuth to each of some DIDs that are made for it."""
    return did_auth(server, KEY, argparse.Namespace(count=PATCHED, connections=options.connections))


def of_proofs(parties: Parties) -> list[Target]:
    """What is asked of a proof and of its credential."""
    headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
    stored = f"{PREFIX}/zkp/proofs/{proven(parties, KEY)['proofId']}/verify"
    return [
        Target("verification", "POST", stored, 200, headers=headers, body="{}"),
        Target("status", "GET", parties.status_path, 200),
    ]


def proofs(parties: Parties, options: argparse.Namespace) -> Callable[[], Round]:
    """What sends so many requests for a delegated proof, each under a token of its own."""
    return lambda: measured(parties.server, parties.requests(PROVED), options.connections, 201, pin=True)


def read_files(place: Path) -> None:
    """Has the kernel keep the databases in its page cache."""
    for file in place.glob("*.sqlite"):
        with file.open("rb", buffering=0) as stream:
            while stream.read(2**20):
                pass


def once_each(side: Side, options: argparse.Namespace) -> Round:
    """A round in which every DID is resolved once by a server that never saw it."""
    some = random.sample(side.dids, min(ONCE + WARMED, len(side.dids)))
    warm, cold = some[: len(some) // 6], some[len(some) // 6 :]
    with side.serve() as server, on_client_core(pin=True):
        exchange(server, [encode_request("GET", did_path(did)) for did in warm], options.connections)
        before = cpu_seconds(server)
        done = exchange(server, [encode_request("GET", did_path(did)) for did in cold], options.connections)
        spent = cpu_seconds(server) - before
    ordered = sorted(done.latencies)
    p50, p99 = (ordered[int(len(ordered) * share)] * 1e3 for share in (0.5, 0.99))
    strange = sum(reply.status != 200 for reply in done.replies)
    return Round(len(cold) / done.seconds, spent / len(cold) * 1e6, p50, p99, strange, spread_of(done.latencies))


def compare(name: str, large: Callable[[], Round], small: Callable[[], Round], options: argparse.Namespace) -> str:
    """One line of the report, and the figures of both sides."""
    pairs = [(large(), small()) for _ in range(options.rounds)]
    cpu = statistics.median(a.cpu_us / b.cpu_us if b.cpu_us else float("nan") for a, b in pairs)
    rate = statistics.median(b.per_second / a.per_second for a, b in pairs)
    many, few = middle(a for a, _ in pairs), middle(b for _, b in pairs)
    strange = many.strange + few.strange
    many.keep(f"{options.store}{name}, {options.size}", ratio=cpu)
    few.keep(f"{options.store}{name}, {options.few_size}")
    verdict = ("ok    " if cpu <= WANTED else "MISSED") + f" <= {WANTED}x" if name.startswith(PROMISED) else ""
    return (
        f"{name:22} {many.per_second:8.0f}/s {many.cpu_us:8.1f} us {many.p99_ms:8.2f} ms | "
        f"{few.per_second:8.0f}/s {few.cpu_us:8.1f} us {few.p99_ms:8.2f} ms | {cpu:5.2f}x {rate:5.2f}x  {verdict}"
        + (f"  {strange} strange answers" if strange else "")
    )


def memory(server: Server, store: str, size: str) -> str:
    """Resident memory of its processes, those of the prover not counted: what is its own, and what is mapped from files."""
    kilobytes: Counter[str] = Counter()
    for folder in server.family().values():
        if PROVER in (folder / "cmdline").read_bytes():
            continue
        for line in (folder / "status").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in ("RssAnon", "RssFile"):
                kilobytes[name] += int(rest.split()[0])
    own, mapped = kilobytes["RssAnon"] / 1024, kilobytes["RssFile"] / 1024
    note(f"{store}memory, {size}", anonymous_mib=own, mapped_mib=mapped)
    return f"{own:.0f} MiB of its own, {mapped:.0f} MiB mapped"


@dataclass(frozen=True)
class Side:
    """A data directory, what is set for its server, and its DIDs. With ``url`` the rest is in a database."""

    place: Path
    limits: Mapping[str, str]
    dids: list[str]
    url: str | None = None

    def serve(self) -> contextlib.AbstractContextManager[Server]:
        return serve(self.place, workers=1, limits=self.limits, key=KEY)


@contextlib.contextmanager
def both_sides(options: argparse.Namespace) -> Iterator[tuple[Side, Side]]:
    """The large one, new or kept, and the small one."""
    limits = UNLIMITED | {"IDENTITY_MAPPED_MEBIBYTES": str(options.mapped)}
    with contextlib.ExitStack() as stack:
        root = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-scale-", dir=options.folder.resolve()))
        )
        # The account that PostgreSQL runs as has to come by.
        root.chmod(0o755)
        postgres = None
        if options.postgresql:
            (root / "postgresql").mkdir()
            postgres = PostgresServer.create(root / "postgresql", fsync=True)
            stack.callback(postgres.stop)

        def side(place: Path, count: int) -> Side:
            url = None if postgres is None else postgres.new_database()
            more = {} if url is None else {"IDENTITY_DATABASE_URL": url}
            is_kept = (place / "identity.sqlite").exists()
            dids = dids_in(place) if is_kept else fill(place, count, options.versions, url)
            return Side(place, limits | more, dids, url)

        large = root / "large" if options.keep is None else options.keep.resolve()
        yield side(large, options.count), side(root / "few", options.few)


def main() -> None:
    """Seeds, serves, compares."""
    options_of = parser(__doc__, rounds=5, seconds=3)
    options_of.add_argument("--count", type=int, default=100_000, help="DIDs of the large database [100000]")
    options_of.add_argument("--few", type=int, default=32, help="DIDs of the small one [32]")
    options_of.add_argument("--versions", type=int, default=10, help="versions of each DID [10]")
    options_of.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options_of.add_argument(
        "--keep", type=Path, help="the large data directory: used if it is there, else made and kept"
    )
    options_of.add_argument("--mapped", type=int, default=0, help="mapped_mebibytes of both servers [0]")
    options_of.add_argument("--postgresql", action="store_true", help="databases of a private PostgreSQL server")
    options = options_of.parse_args()
    if options.postgresql and options.keep is not None:
        options_of.error("a database of the private server is not kept")
    need_wrk()
    options.store = POSTGRESQL if options.postgresql else ""
    with both_sides(options) as (big, little):
        options.size, options.few_size = (f"{len(one.dids)} x {options.versions}" for one in (big, little))
        with big.serve() as first:
            print(f"first start, which puts all entries into the transparency log: {first.seconds:.1f} s", flush=True)
            note(f"{options.store}first start, {options.size}", seconds=first.seconds)
        read_files(big.place)
        print(HEAD)
        print(compare("cold", lambda: once_each(big, options), lambda: once_each(little, options), options), flush=True)
        with little.serve() as small, big.serve() as large:
            dids, few_dids = big.dids, little.dids
            print(f"{len(dids)} DIDs ready in {large.seconds:.2f} s, {len(few_dids)} DIDs in {small.seconds:.2f} s")
            hot = random.sample(dids, min(len(few_dids), len(dids)))
            ours = targets(dids, hot, options.versions)
            theirs = targets(few_dids, few_dids, options.versions)
            floor = socket_floor_us(ours[0], large.ask(ours[0].path), options)
            note(f"{options.store}socket", cpu_us=floor)
            print(f"{'socket':22} {floor:22.1f} us")

            def report(name: str, many: Callable[[], Round], some: Callable[[], Round]) -> None:
                print(compare(name, many, some, options), flush=True)

            for one, other in zip(ours, theirs, strict=True):
                report(one.name, repeated(large, one, options), repeated(small, other, options))
            own, others_own = (
                memory(server, options.store, size)
                for server, size in ((large, options.size), (small, options.few_size))
            )
            print(f"resident after the reads: {own}; beside the few: {others_own}")
            mine, others = gather(large, KEY), gather(small, KEY)
            writes = zip((create(), *of_proofs(mine)), (create(), *of_proofs(others)), strict=True)
            for one, other in writes:
                report(one.name, repeated(large, one, options), repeated(small, other, options))
            report("proof", proofs(mine, options), proofs(others, options))
            report("PATCH", updates(large, options), updates(small, options))
        if options.keep is None:
            print(octets_per_version(big.place, options.count * options.versions, big.url))


if __name__ == "__main__":
    main()
