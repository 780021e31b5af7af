"""CPU a request of /1.0/identifiers beside resolveDid, for the same DID and the same bytes.

    python -m tools.bench.bench_identifiers [--rounds 40] [--requests 400]

One server answers both in turn over a kept connection, so that a neighbour on the machine hits both; CPU is that of the server by
``schedstat``, medians over the rounds. A ratio above 1: ``/1.0/identifiers`` is the cheaper one.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from tools.bench.bench_http import SPECIFIED
from tools.bench.servers import UNLIMITED, Server, fresh_server
from tools.bench.wire import did_path, make_dids

PROFILED = 'application/ld+json;profile="https://w3id.org/did-resolution"'
W3C = "application/did-resolution"


def cpu_seconds(server: Server) -> float:
    """Of all threads; finer than the ticks of ``stat``."""
    tasks = (task for folder in server.family().values() for task in (folder / "task").iterdir())
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def microseconds(server: Server, path: str, headers: Mapping[str, str], requests: int) -> float:
    """CPU a request."""
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    before = cpu_seconds(server)
    for _ in range(requests):
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}")
    connection.close()
    return (cpu_seconds(server) - before) / requests * 1e6


def main() -> None:
    """Prints a line for each way to ask."""
    options_of = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options_of.add_argument("--rounds", type=int, default=40)
    options_of.add_argument("--requests", type=int, default=400)
    options = options_of.parse_args()
    with fresh_server(1, UNLIMITED) as (server, key):
        did = make_dids(server, key, 1, SPECIFIED)[0].did
        own, shared = did_path(did), f"/1.0/identifiers/{quote(did, safe=':')}"
        asked = {
            "resolveDid, did-resolution": (own, {"Accept": W3C}),
            "identifiers, did-resolution": (shared, {"Accept": W3C}),
            "identifiers, as Veramo asks": (shared, {"Accept": PROFILED}),
            "identifiers, the document": (shared, {"Accept": "application/did"}),
            "resolveDid, the document": (own, {"Accept": "application/did+json"}),
        }
        found: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(options.rounds):
            for name, (path, headers) in asked.items():
                found[name].append(microseconds(server, path, headers, options.requests))
        first = statistics.median(found["resolveDid, did-resolution"])
        for name, values in found.items():
            middle = statistics.median(values)
            print(f"{name:30} {middle:7.1f} µs   {first / middle:5.2f}")


if __name__ == "__main__":
    main()
