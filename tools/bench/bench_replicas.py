"""What one, two and four replicas do together on one PostgreSQL server, which waits for its disk.

    python -m tools.bench.bench_replicas [--replicas 1 2 4] [--seconds 5] [--clients 16] [--rounds 3] [--folder .]

Each replica is a process with callers of its own (wrk, keep-alive). ``create`` is a createDid with a durable answer; ``read`` is one
DID by version, which no cache holds, so each is a statement at the server; ``resolve`` is one DID from the replica's cache. Replicas,
server and callers share the cores of this machine: the processors that a replica more would bring on a machine of its own are not in
the figures, and CPU a request, of the replicas' processes, says what it would cost there.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from tests.postgres_server import PostgresServer
from tools.bench.rounds import Round, Target, drive
from tools.bench.servers import UNLIMITED, Server, fdatasync_ms, serve
from tools.bench.wire import PREFIX, creation, did_path, make_dids

CONNECTIONS = 200
"""What the server takes: four replicas open more than the 50 of the tests' server."""


@contextmanager
def replicas(count: int, url: str, folder: Path, key: str) -> Iterator[list[Server]]:
    """So many processes on one database, the first of which makes the tables."""
    settings = {
        **UNLIMITED,
        "IDENTITY_DATABASE_URL": url,
        "IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for all replicas",
        "IDENTITY_SERVER_PUBLIC_URL": "https://id.example",
    }
    with ExitStack() as stack:
        yield [
            stack.enter_context(serve(folder / f"replica-{each}", workers=1, limits=settings, key=key, pin=False))
            for each in range(count)
        ]


def together(servers: Sequence[Server], target: Target, seconds: int, clients: int) -> Round:
    """All replicas at once: rates added up, the worst of the latencies."""
    with ThreadPoolExecutor(len(servers)) as pool:
        rounds = list(pool.map(lambda server: drive(server, target, seconds, clients, pin=False), servers))
    rate = sum(one.per_second for one in rounds)
    return Round(
        rate,
        sum(one.cpu_us * one.per_second for one in rounds) / rate,
        statistics.median(one.p50_ms for one in rounds),
        max(one.p99_ms for one in rounds),
        sum(one.strange for one in rounds),
    )


def connections(url: str) -> int:
    """How many the replicas have open in their database."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
        ).fetchone()
    return 0 if row is None else int(row[0])


def bench(counts: Sequence[int], seconds: int, clients: int, rounds: int, folder: Path) -> None:
    """Prints a line a target and count."""
    key = secrets.token_urlsafe(32)
    print(
        f"fdatasync {fdatasync_ms(folder):.2f} ms; {clients} callers in all; median of {rounds} rounds of {seconds} s"
    )
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-replicas-", dir=folder)))
        place.chmod(0o755)
        (place / "server").mkdir()
        postgres = PostgresServer.create(place / "server", fsync=True, connections=CONNECTIONS)
        stack.callback(postgres.stop)
        one = dict[str, float]()
        for count in counts:
            url = postgres.new_database()
            with replicas(count, url, place / f"of-{count}", key) as servers:
                (made,) = make_dids(servers[0], key, 1)
                path, headers = did_path(made.did), {"X-API-Key": key}
                json_too = {**headers, "Content-Type": "application/json"}
                targets = [
                    Target("create", "POST", f"{PREFIX}/dids", 201, headers=json_too, body=creation([])),
                    Target("read", "GET", f"{path}?versionId=1", 200),
                    Target("resolve", "GET", path, 200),
                ]
                for target in targets:
                    # The number of callers stays, or it would be they who make more.
                    found = [together(servers, target, seconds, max(1, clients // count)) for _ in range(rounds)]
                    rate = statistics.median(each.per_second for each in found)
                    one.setdefault(target.name, rate)
                    print(
                        f"{target.name:8} {count} replicas {rate:8.0f} /s, {rate / one[target.name]:4.2f}x of {counts[0]}; "
                        f"CPU of replicas {statistics.median(each.cpu_us for each in found):6.0f} us a request; "
                        f"p50 {statistics.median(each.p50_ms for each in found):6.1f} ms, "
                        f"p99 {statistics.median(each.p99_ms for each in found):6.1f} ms; "
                        f"strange {sum(each.strange for each in found)}",
                        flush=True,
                    )
                print(f"{count} replicas have {connections(url)} connections to the server", flush=True)


def main() -> None:
    """Runs it for each count of replicas."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 4], help="how many [1 2 4]")
    parser.add_argument("--seconds", type=int, default=5, help="length of a round [5]")
    parser.add_argument("--clients", type=int, default=16, help="callers of all replicas together [16]")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each [3]")
    parser.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options = parser.parse_args()
    bench(options.replicas, options.seconds, options.clients, options.rounds, options.folder.resolve())


if __name__ == "__main__":
    main()
