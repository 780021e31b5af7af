"""Requests a second and CPU a request of the running service, beside a bare Starlette with the same bytes and a bare socket.

    python -m tools.bench.bench_http [--seconds 3] [--rounds 5] [--connections 32] [--workers 1] [--dids 20000] [target ...]

Each target is driven with wrk from another process, ours and the yardstick in turn, so that a neighbour on the machine
hits both; ratios are medians over the rounds, above 1 where ours is the better one. The service has its limiter on
(with buckets that do not run dry), ETags, and a database on the disk. The yardstick runs on the same uvicorn with the
same loop, parser and number of processes; it encodes its JSON for each answer, and sends none of our other headers.

``resolve`` repeats one DID, which is answered from the cache; ``resolve-many`` draws each time one of ``--dids`` DIDs,
which are more than any cache holds; ``resolve-version`` is never cached. A further target is one more entry of
``targets``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator

from tools.bench.floor import socket_floor_us
from tools.bench.rounds import Round, Target, drive, middle, need_wrk, parser
from tools.bench.servers import LIMITED, UNLIMITED, Reply, Server, fresh_server, running
from tools.bench.wire import PREFIX, creation, did_path, make_dids

# A DID with everything: three keys, a service, a recovery key.
SPECIFIED = creation(
    ["X25519KeyAgreementKey2020", "Bls12381G2Key2020"],
    serviceEndpoints=[{"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/didcomm"}],
    recoveryKey=True,
)
MANY = "resolve-many"


def targets(server: Server, key: str, many: int) -> list[Target]:
    """Makes what the targets need and lists them. ``many`` DIDs are made for the target that wants them."""
    keyed = {"X-API-Key": key, "Content-Type": "application/json"}
    create, create_bls = creation([]), creation(["Bls12381G2Key2020"])
    path = did_path(make_dids(server, key, 1, SPECIFIED)[0].did)
    small = did_path(make_dids(server, key, 1, create)[0].did)
    paths = tuple(did_path(made.did) for made in make_dids(server, key, many)) if many else ()
    etag = server.ask(path).headers["etag"]
    route = f"{PREFIX}/dids/{{did}}"
    unsigned = {"Content-Type": "application/json"}
    return [
        Target("resolve", "GET", path, 200, route),
        Target("resolve-small", "GET", small, 200, route),
        Target("resolve-304", "GET", path, 304, route, {"If-None-Match": etag}),
        Target("resolve-version", "GET", f"{path}?versionId=1", 200, route),
        Target(MANY, "GET", paths[0] if paths else small, 200, route, paths=paths),
        Target("401", "DELETE", path, 401, route, unsigned, '{"confirm":true}'),
        Target("429", "GET", path, 429, route, limited=True),
        Target("create", "POST", f"{PREFIX}/dids", 201, f"{PREFIX}/dids", keyed, create),
        Target("create-bls", "POST", f"{PREFIX}/dids", 201, f"{PREFIX}/dids", keyed, create_bls),
        Target("metrics", "GET", "/metrics", 200, "/metrics"),
        Target("health", "GET", "/health", 200, "/health"),
    ]


@contextlib.contextmanager
def baseline(target: Target, ours: Reply, workers: int) -> Iterator[Server]:
    """The yardstick for one target."""
    canned = {
        "method": target.method,
        "path": target.route,
        "status": ours.status,
        "media_type": ours.headers.get("content-type", "application/json"),
        "body": ours.body.decode(),
        "headers": {name: ours.headers[name] for name in ("etag", "cache-control", "vary") if name in ours.headers},
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as spec:
        json.dump(canned, spec)
        spec.flush()
        command = [sys.executable, "-m", "uvicorn", "tools.bench.baseline_starlette:app", "--port", "{port}"]
        command += ["--workers", str(workers)]
        command += ["--loop", "uvloop", "--http", "httptools", "--ws", "none", "--lifespan", "off"]
        command += ["--no-access-log", "--no-server-header", "--log-level", "warning"]
        with running(command, {"BASELINE": spec.name}, "/", status=404, pin=workers == 1) as server:
            yield server


def measure(server: Server, target: Target, options: argparse.Namespace) -> str:
    """One line of the report."""
    once = None
    for _ in range(2 if target.limited else 1):
        once = server.ask(target.path, target.headers, target.method, target.body)
    if once is None or once.status != target.status:
        return f"{target.name:16} does not answer {target.status}: {once}"[:300]
    pin = options.workers == 1
    ours: list[Round] = []
    theirs: list[Round] = []
    with baseline(target, once, options.workers) as yardstick:
        for each in (server, yardstick):
            drive(each, target, 1, options.connections, pin=pin)
        for _ in range(options.rounds):
            ours.append(drive(server, target, options.seconds, options.connections, pin=pin))
            theirs.append(drive(yardstick, target, options.seconds, options.connections, pin=pin))
    pairs = list(zip(ours, theirs, strict=True))
    rate = statistics.median(a.per_second / b.per_second for a, b in pairs)
    cpu = statistics.median(b.cpu_us / a.cpu_us if a.cpu_us else float("nan") for a, b in pairs)
    mine, other = middle(ours), middle(theirs)
    strange = mine.strange + other.strange
    floor = socket_floor_us(target, once, options) if pin else math.nan
    mine.keep(
        target.name,
        peer_per_second=other.per_second,
        peer_cpu_us=other.cpu_us,
        rate=rate,
        cpu=cpu,
        floor_us=floor,
        floor_rate=other.cpu_us / floor,
    )
    return (
        f"{target.name:16} {mine.per_second:9.0f}/s {mine.cpu_us:8.1f} us {mine.p50_ms:7.2f} {mine.p99_ms:7.2f} ms | "
        f"{other.per_second:9.0f}/s {other.cpu_us:8.1f} us | "
        f"{rate:5.2f}x {cpu:5.2f}x | {floor:6.1f} us" + (f"  {strange} strange answers" if strange else "")
    )


def main() -> None:
    """Runs the chosen targets and prints the table."""
    options_of = parser(__doc__, rounds=5, seconds=3)
    options_of.add_argument("names", nargs="*", metavar="target")
    options_of.add_argument("--workers", type=int, default=1)
    options_of.add_argument("--dids", type=int, default=20_000, help=f"DIDs of {MANY} [20000]")
    options = options_of.parse_args()
    need_wrk()
    print(
        f"{'target':16} {'ours':>11} {'CPU':>11} {'p50':>7} {'p99':>10} | {'Starlette':>11} {'CPU':>11} | rate   CPU  | socket"
    )
    with fresh_server(options.workers, UNLIMITED) as (server, key):
        every = targets(server, key, options.dids if not options.names or MANY in options.names else 0)
        unknown = set(options.names) - {each.name for each in every}
        if unknown:
            raise SystemExit(f"unknown: {sorted(unknown)}; there are {[each.name for each in every]}")
        chosen = [each for each in every if not options.names or each.name in options.names]
        for target in (each for each in chosen if not each.limited):
            print(measure(server, target, options), flush=True)
    for target in (each for each in chosen if each.limited):
        with fresh_server(options.workers, LIMITED) as (server, key):
            print(measure(server, target, options), flush=True)


if __name__ == "__main__":
    main()
