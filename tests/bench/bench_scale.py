"""Whether a large database slows the server down: 100,000 DIDs with 10 versions each, beside a few DIDs.

    python -m tests.bench.bench_scale [--count 100000] [--versions 10] [--rounds 5] [--seconds 3] [--folder .] [--keep DIR]

Seeds one data directory with ``--count`` DIDs and one with ``--few`` (``seeding.py`` says how; ``--keep`` keeps the large
one for the next run), serves both, and drives them in turn. Every request draws a DID at random:

- ``resolve, any``: from all DIDs. The few are answered from the cache, the many hardly ever are.
- ``resolve, hot``: from as many DIDs on both sides, so that both answer from their caches.
- ``resolve ?versionId``, ``?versionTime``: never cached on either side; what the size of the tables costs, and nothing else.
- ``history``: a page of all versions. ``create``: a durable write.

The promise is a ratio of at most 1.2 for resolve. ``--few 20000`` shows ``any`` against a database that is small, but
larger than the caches.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.rounds import Round, Target, drive, middle, need_wrk, parser
from tests.bench.seeding import dids_in, fill, octets_per_version
from tests.bench.servers import UNLIMITED, Server, serve
from tests.bench.wire import PREFIX, creation, did_path

KEY = "bench-key-000000000000000000000000000000000"
DRAWN = 200_000
WANTED = 1.2
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
        Target("create", "POST", f"{PREFIX}/dids", 201, headers=headers, body=creation([])),
    ]


def compare(large: tuple[Server, Target], small: tuple[Server, Target], options: argparse.Namespace) -> str:
    """One line of the report."""
    for server, target in (large, small):
        once = server.ask(target.path, target.headers, target.method, target.body)
        if once.status != target.status:
            raise SystemExit(f"{target.name} answers {once.status}: {once.body[:300]!r}")
        drive(server, target, 1, options.connections, pin=True)
    rounds: tuple[list[Round], list[Round]] = ([], [])
    for _ in range(options.rounds):
        for (server, target), kept in zip((large, small), rounds, strict=True):
            kept.append(drive(server, target, options.seconds, options.connections, pin=True))
    cpu = statistics.median(a.cpu_us / b.cpu_us if b.cpu_us else float("nan") for a, b in zip(*rounds, strict=True))
    rate = statistics.median(b.per_second / a.per_second for a, b in zip(*rounds, strict=True))
    many, few = middle(rounds[0]), middle(rounds[1])
    name, strange = large[1].name, many.strange + few.strange
    verdict = ("ok    " if cpu <= WANTED else "MISSED") + f" <= {WANTED}x" if name.startswith("resolve") else ""
    return (
        f"{name:22} {many.per_second:8.0f}/s {many.cpu_us:8.1f} us {many.p99_ms:8.2f} ms | "
        f"{few.per_second:8.0f}/s {few.cpu_us:8.1f} us {few.p99_ms:8.2f} ms | {cpu:5.2f}x {rate:5.2f}x  {verdict}"
        + (f"  {strange} strange answers" if strange else "")
    )


@contextlib.contextmanager
def large_directory(options: argparse.Namespace) -> Iterator[tuple[Path, list[str]]]:
    """The large data directory, new or kept, and its DIDs."""
    if options.keep is not None and (options.keep / "identity.sqlite").exists():
        yield options.keep.resolve(), dids_in(options.keep)
        return
    with contextlib.ExitStack() as stack:
        place = options.keep or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-scale-", dir=options.folder.resolve()))
        )
        yield place.resolve(), fill(place.resolve(), options.count, options.versions)


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
    options = options_of.parse_args()
    need_wrk()
    with (
        large_directory(options) as (place, dids),
        tempfile.TemporaryDirectory(prefix="bench-few-", dir=options.folder.resolve()) as few,
    ):
        few_dids = fill(Path(few), options.few, options.versions)
        with (
            serve(Path(few), workers=1, limits=UNLIMITED, key=KEY) as small,
            serve(place, workers=1, limits=UNLIMITED, key=KEY) as large,
        ):
            print(f"{len(dids)} DIDs ready in {large.seconds:.2f} s, {len(few_dids)} DIDs in {small.seconds:.2f} s")
            print(HEAD)
            hot = random.sample(dids, min(len(few_dids), len(dids)))
            ours = targets(dids, hot, options.versions)
            theirs = targets(few_dids, few_dids, options.versions)
            for one, other in zip(ours, theirs, strict=True):
                print(compare((large, one), (small, other), options), flush=True)
        if options.keep is None:
            print(octets_per_version(place, options.count * options.versions))


if __name__ == "__main__":
    main()
