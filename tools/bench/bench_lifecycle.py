"""What writes and refusals cost the server: durable creates, DIDAuth writes, bad signatures, 401 and 429.

    python -m tools.bench.bench_lifecycle [--rounds 5] [--seconds 3] [--count 3000] [--folder .] [name ...]

Creates and refusals are one request that wrk repeats over 32 keep-alive clients. A DIDAuth write can be made only once, so
for each round ``--count`` DIDs get one challenge each, bound to purpose and body, every signature is made beforehand, and only
the sending is measured. The buckets are on and never dry, but for 429. The figures beside it are those that the project
promises; data lie in ``--folder``, whose fdatasync is printed, because a durable answer waits for it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from identity_client import Signer, hash_body
from tools.bench.rounds import Round, Target, drive, measured, middle, need_wrk, parser
from tools.bench.servers import LIMITED, UNLIMITED, Server, fdatasync_ms, fresh_server
from tools.bench.wire import PREFIX, Made, creation, did_path, encode_request, exchange, make_dids

BLS = creation(["Bls12381G2Key2020"])
PLAIN = creation([])
JSON = {"Content-Type": "application/json"}
AGENT = {"type": "DIDCommMessaging", "serviceEndpoint": "https://agent.example/0"}


@dataclass(frozen=True)
class Wanted:
    """The promise: at most so much CPU a request, or at least so many requests a second."""

    cpu_us: float | None = None
    per_second: float | None = None

    def compare(self, got: Round) -> str:
        if self.cpu_us is not None:
            return f"{'ok    ' if got.cpu_us <= self.cpu_us else 'MISSED'} CPU <= {self.cpu_us:.0f} us"
        if self.per_second is not None:
            return f"{'ok    ' if got.per_second >= self.per_second else 'MISSED'} >= {self.per_second:.0f}/s"
        return "no promise"


@dataclass(frozen=True)
class Case:
    """A line of the report: how one round is run on a server of so many processes."""

    name: str
    wanted: Wanted
    prepare: Callable[[Server, str, argparse.Namespace], Callable[[], Round]]
    workers: int = 1
    limited: bool = False


def repeated(target: Target, server: Server, options: argparse.Namespace, workers: int = 1) -> Callable[[], Round]:
    """Rounds of wrk, after one request whose answer is looked at."""
    once = server.ask(target.path, target.headers, target.method, target.body)
    if target.limited:
        once = server.ask(target.path, target.headers, target.method, target.body)
    if once.status != target.status:
        raise SystemExit(f"{target.name} answers {once.status}, not {target.status}: {once.body[:300]!r}")
    return lambda: drive(server, target, options.seconds, options.connections, pin=workers == 1)


def create(name: str, body: str, wanted: Wanted, workers: int = 1) -> Case:
    """Durable creates."""

    def prepare(server: Server, key: str, options: argparse.Namespace) -> Callable[[], Round]:
        target = Target(name, "POST", f"{PREFIX}/dids", 201, headers={"X-API-Key": key, **JSON}, body=body)
        return repeated(target, server, options, workers)

    return Case(name, wanted, prepare, workers)


def update_body(text: str) -> str:
    """An update that changes the one service of the DID."""
    changed = {**AGENT, "id": "didcommmessaging-1", "serviceEndpoint": f"https://agent.example/{text}"}
    return json.dumps({"operation": "updateService", "service": changed})


def signed(server: Server, made: list[Made], bodies: list[str], *, live: int = 1) -> Iterator[tuple[str, str, str]]:
    """(path, Authorization, body) for one update of each DID, after ``live`` challenges for exactly that were made."""
    digests = [hash_body(json.loads(body)) for body in bodies]
    asks = [
        encode_request("GET", f"{PREFIX}/auth/challenge?did={one.did}&purpose=update&bodyHash={digest}")
        for one, digest in zip(made, digests, strict=True)
        for _ in range(live)
    ]
    replies = exchange(server, asks, 32).replies[::live]
    for one, body, digest, reply in zip(made, bodies, digests, replies, strict=True):
        if reply.status != 200:
            raise SystemExit(f"the challenge answers {reply.status}: {reply.body[:300]!r}")
        text = json.loads(reply.body)["challenge"]
        yield did_path(one.did), Signer(one.did, one.secret).header(text, purpose="update", digest=digest), body


def did_auth(server: Server, key: str, options: argparse.Namespace) -> Callable[[], Round]:
    """Updates under DIDAuth, each of its own DID."""
    start = creation([], serviceEndpoints=[AGENT])
    made = make_dids(server, key, options.count, start)
    turn = 0

    def run() -> Round:
        nonlocal turn
        turn += 1
        bodies = [update_body(str(turn))] * len(made)
        requests = [
            encode_request("PATCH", path, {"Authorization": header}, body)
            for path, header, body in signed(server, made, bodies)
        ]
        return measured(server, requests, options.connections, 200, pin=True)

    return run


def bad_signature(live: int) -> Callable[[Server, str, argparse.Namespace], Callable[[], Round]]:
    """A well-formed header of the right DID with a signature by another key, while so many challenges are live."""

    def prepare(server: Server, key: str, options: argparse.Namespace) -> Callable[[], Round]:
        owner, stranger = make_dids(server, key, 2)
        mixed = [Made(owner.did, stranger.secret)]
        path, header, body = next(signed(server, mixed, [update_body("x")], live=live))
        target = Target("bad signature", "PATCH", path, 401, headers={"Authorization": header, **JSON}, body=body)
        return repeated(target, server, options)

    return prepare


def refused(name: str, headers: dict[str, str]) -> Case:
    """A write with no signature at all, or with one that is invalid."""

    def prepare(server: Server, key: str, options: argparse.Namespace) -> Callable[[], Round]:
        path = did_path(make_dids(server, key, 1)[0].did)
        target = Target(name, "PATCH", path, 401, headers={**headers, **JSON}, body=update_body("x"))
        return repeated(target, server, options)

    return Case(name, Wanted(cpu_us=50), prepare)


def too_many(server: Server, key: str, options: argparse.Namespace) -> Callable[[], Round]:
    """A resolve from an address whose bucket is empty."""
    path = did_path(make_dids(server, key, 1)[0].did)
    return repeated(Target("429", "GET", path, 429, limited=True), server, options)


CASES = (
    create("create", PLAIN, Wanted(cpu_us=380)),
    create("create-bls", BLS, Wanted(cpu_us=550)),
    create("create-2-workers", PLAIN, Wanted(per_second=3000), workers=2),
    create("create-bls-2-workers", BLS, Wanted(per_second=2300), workers=2),
    Case("didauth-write", Wanted(cpu_us=500), did_auth),
    Case("bad-signature", Wanted(cpu_us=1000), bad_signature(1)),
    Case("bad-signature-16-live", Wanted(cpu_us=1000), bad_signature(16)),
    refused("401-nothing", {}),
    refused("401-malformed", {"Authorization": "DIDAuth bm90IGEgc2lnbmF0dXJl"}),
    Case("429", Wanted(cpu_us=35), too_many, limited=True),
)


def report(case: Case, server: Server, key: str, options: argparse.Namespace) -> str:
    """One line: medians over the rounds."""
    run = case.prepare(server, key, options)
    run()
    got = middle([run() for _ in range(options.rounds)])
    got.keep(case.name)
    return (
        f"{case.name:22} {got.per_second:8.0f}/s {got.cpu_us:8.1f} us {got.p50_ms:8.2f} {got.p99_ms:8.2f} ms  "
        f"{case.wanted.compare(got)}" + (f"  {got.strange} strange answers" if got.strange else "")
    )


def main() -> None:
    """Runs the chosen cases and prints the table; each has a server of its own."""
    options_of = parser(__doc__, rounds=5, seconds=3)
    options_of.add_argument("names", nargs="*", metavar="name", help=", ".join(case.name for case in CASES))
    options_of.add_argument("--count", type=int, default=3000, help="DIDAuth writes of a round [3000]")
    options_of.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    options = options_of.parse_args()
    need_wrk()
    unknown = set(options.names) - {case.name for case in CASES}
    if unknown:
        raise SystemExit(f"unknown: {sorted(unknown)}; there are {[case.name for case in CASES]}")
    folder = options.folder.resolve()
    print(f"fdatasync {fdatasync_ms(folder):.2f} ms, {options.connections} clients, median of {options.rounds} rounds")
    print(f"{'case':22} {'rate':>10} {'server CPU':>11} {'p50':>8} {'p99':>11}  promise")
    for case in CASES:
        if not options.names or case.name in options.names:
            with fresh_server(case.workers, LIMITED if case.limited else UNLIMITED, folder) as (server, key):
                print(report(case, server, key, options), flush=True)


if __name__ == "__main__":
    main()
