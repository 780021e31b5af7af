"""Minutes of mixed load: whether memory, files, threads and the write-ahead logs stay where they are.

    python -m tools.bench.bench_soak [--seconds 300] [--dids 25000] [--clients 16] [--workers 1] [--folder .] [--csv FILE]

Callers in one process, in a closed loop: of ten requests seven resolve a random DID, one creates, two update one of the
caller's own DIDs (a challenge, then the signed PATCH). First ``--dids`` DIDs are made and each is resolved, so that every cache
is full before the clock starts. Each second is sampled from ``/proc``; the slope is that of Theil and Sen over the last two
thirds, in MiB per ten minutes. Anonymous memory is the figure; files that SQLite maps (RssFile) grow with the
database up to a fixed size and can be dropped by the kernel.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import itertools
import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import uvloop

from identity_client import Signer, hash_body
from identity_codec.strict_json import JsonValue
from tools.bench.servers import UNLIMITED, Reply, Server, on_client_core, serve
from tools.bench.wire import PREFIX, Made, Wire, creation, did_path, encode_request, exchange, make_dids

KEY = "bench-key-000000000000000000000000000000000"
MIX = ("resolve",) * 7 + ("create",) + ("update",) * 2
MEBIBYTE = 2**20
WANTED_MIB = 5.0
CHANGES_OF_ONE = 20


@dataclass(frozen=True)
class Sample:
    """The server's processes together at one second; sizes in bytes."""

    second: float
    anonymous: int
    mapped: int
    files: int
    threads: int
    ledger_wal: int
    identity_wal: int
    requests: int
    cpu_seconds: float


def sample(server: Server, data_dir: Path, began: float, requests: int) -> Sample:
    """Reads ``/proc``."""
    sums: collections.Counter[str] = collections.Counter()
    for folder in server.family().values():
        with contextlib.suppress(OSError):
            for line in (folder / "status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in ("RssAnon", "RssFile"):
                    sums[name] += int(value.split()[0]) * 1024
                elif name == "Threads":
                    sums[name] += int(value)
            sums["files"] += len(list((folder / "fd").iterdir()))
    wal = {}
    for name in ("ledger", "identity"):
        path = data_dir / f"{name}.sqlite-wal"
        wal[name] = path.stat().st_size if path.exists() else 0
    return Sample(
        time.monotonic() - began,
        sums["RssAnon"],
        sums["RssFile"],
        sums["files"],
        sums["Threads"],
        wal["ledger"],
        wal["identity"],
        requests,
        server.cpu_seconds(),
    )


class Load:
    """The callers and what they were answered."""

    def __init__(self, server: Server, made: list[Made], seconds: float) -> None:
        self._server = server
        self._made = made
        self._paths = [did_path(one.did) for one in made]
        self._until = time.monotonic() + seconds
        self.answers: collections.Counter[tuple[str, int]] = collections.Counter()

    @property
    def requests(self) -> int:
        return self.answers.total()

    async def call(self, place: int, clients: int) -> None:
        """Send requests as one caller, which updates DIDs that no other caller updates."""
        wire = await Wire.open(self._server.url)
        dice = random.Random(place)
        own = list(range(place, len(self._made), clients))
        create = encode_request("POST", f"{PREFIX}/dids", {"X-API-Key": KEY}, creation([]))
        turns = itertools.count()
        while time.monotonic() < self._until:
            what = dice.choice(MIX)
            reply: Reply | None
            if what == "resolve":
                reply = await wire.call(encode_request("GET", dice.choice(self._paths)))
            elif what == "create":
                reply = await wire.call(create)
            else:
                turn = next(turns)
                reply = await self._update(wire, own[turn // CHANGES_OF_ONE % len(own)], turn)
                if reply is None:
                    continue
            self.answers[what, reply.status] += 1
        wire.close()

    async def _update(self, wire: Wire, number: int, turn: int) -> Reply | None:
        one = self._made[number]
        body: JsonValue = {"operation": "setAlsoKnownAs", "alsoKnownAs": [f"https://hana.example/{turn}"]}
        digest = hash_body(body)
        offer = await wire.call(
            encode_request("GET", f"{PREFIX}/auth/challenge?did={one.did}&purpose=update&bodyHash={digest}")
        )
        self.answers["challenge", offer.status] += 1
        if offer.status != 200:
            return None
        text = json.loads(offer.body)["challenge"]
        header = Signer(one.did, one.secret).header(text, purpose="update", digest=digest)
        return await wire.call(
            encode_request("PATCH", self._paths[number], {"Authorization": header}, json.dumps(body))
        )


async def soak(server: Server, data_dir: Path, made: list[Made], options: argparse.Namespace) -> list[Sample]:
    """Samples each second while the callers call; prints what they were answered."""
    began = time.monotonic()
    load = Load(server, made, options.seconds)
    callers = [asyncio.ensure_future(load.call(place, options.clients)) for place in range(options.clients)]
    samples = []
    while not all(caller.done() for caller in callers):
        samples.append(sample(server, data_dir, began, load.requests))
        await asyncio.wait(callers, timeout=1)
        late = time.monotonic() > began + options.seconds + 30
        if late or any(caller.done() and caller.exception() for caller in callers):
            print("the load did not end by itself")
            break
    for caller in callers:
        caller.cancel()
    for outcome in await asyncio.gather(*callers, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise SystemExit(f"a caller failed: {outcome!r}")
    print("answers: " + ", ".join(f"{what} {status}: {n}" for (what, status), n in sorted(load.answers.items())))
    return samples


def slope(samples: Sequence[Sample], name: str) -> float:
    """The median slope between all pairs of seconds, a second (Theil and Sen): a single step does not sway it."""
    thinned = samples[:: max(1, len(samples) // 300)]
    found = [
        (getattr(b, name) - getattr(a, name)) / (b.second - a.second)
        for a, b in itertools.combinations(thinned, 2)
        if b.second > a.second
    ]
    return statistics.median(found) if found else float("nan")


def report(samples: list[Sample]) -> None:
    """Prints first, last, most and slope of each figure after the warm-up."""
    warm = samples[len(samples) // 3 :]
    first, last = warm[0], warm[-1]
    asked, spent = last.requests - first.requests, last.cpu_seconds - first.cpu_seconds
    print(
        f"{asked / max(1e-9, last.second - first.second):.0f} requests a second, {spent / max(1, asked) * 1e6:.0f} us CPU"
    )
    for name, unit in (("anonymous", MEBIBYTE), ("mapped", MEBIBYTE), ("files", 1), ("threads", 1)):
        rise = slope(warm, name) * 600 / unit
        start, end, most = (value / unit for value in (getattr(first, name), getattr(last, name), max_of(warm, name)))
        verdict = ""
        if name == "anonymous":
            verdict = f"  {'ok' if rise <= WANTED_MIB else 'MISSED'} <= {WANTED_MIB:.0f} MiB"
        print(f"{name:10} {start:9.1f} -> {end:9.1f}, most {most:9.1f}, {rise:+8.2f} in 10 minutes{verdict}")
    for name in ("ledger_wal", "identity_wal"):
        print(
            f"{name:12} at most {max_of(warm, name) / MEBIBYTE:.1f} MiB, at the end {getattr(last, name) / MEBIBYTE:.1f}"
        )


def max_of(samples: Sequence[Sample], name: str) -> int:
    """The highest value of a figure."""
    return max(int(getattr(each, name)) for each in samples)


def main() -> None:
    """Fills the caches, runs the load, prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300, help="length of the load [300]")
    parser.add_argument(
        "--dids", type=int, default=25_000, help="DIDs made beforehand, more than any cache holds [25000]"
    )
    parser.add_argument("--clients", type=int, default=16, help="callers [16]")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(), help="where data lie, on a real disk [.]")
    parser.add_argument("--csv", type=Path, help="writes every sample to this file")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-soak-", dir=options.folder.resolve()) as place,
        serve(Path(place), workers=options.workers, limits=UNLIMITED, key=KEY) as server,
        on_client_core(pin=options.workers == 1),
    ):
        made = make_dids(server, KEY, options.dids)
        exchange(server, [encode_request("GET", did_path(one.did)) for one in made], options.clients)
        print(
            f"{len(made)} DIDs made and resolved; {options.seconds} s of load by {options.clients} callers", flush=True
        )
        samples = uvloop.run(soak(server, Path(place), made, options))
    report(samples)
    if options.csv is not None:
        rows = [[field.name for field in fields(Sample)], *(astuple(each) for each in samples)]
        options.csv.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")


if __name__ == "__main__":
    main()
