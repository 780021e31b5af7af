"""Signed gaps: an epoch's list made, and one shard of it used. Medians of CPU time on one core.

Run: ``python -m tools.bench.bench_status``. Targets on pyblst: 1,000 gaps signed and laid out in 0.2 s; a shard read, its gap found
and its signature checked in 5 ms.
"""

from __future__ import annotations

import asyncio
import secrets
import statistics
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from identity_bound_credentials.domain import gap_shards, status_gaps
from identity_bound_credentials.domain.gap_shards import Manifest
from identity_bound_credentials.domain.status_gaps import LAST_END, StatusEpoch
from identity_bound_credentials.published_gaps import PublishedGaps

from identity_bbs import interface
from identity_bbs.bls12381 import keys, select
from identity_bbs.suite import ciphersuite
from identity_codec.multibase import base64url_encode

ISSUER = "did:example:issuer"
EPOCH = StatusEpoch(ISSUER, f"{ISSUER}#status", "AAAAAAAAAAAAAAAAAAAAAA", 20_780, 86_400)


def milliseconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return 1000 * (time.process_time() - begun)


def signed_list(gaps: int, secret: bytes, public: bytes) -> tuple[Manifest, list[bytes]]:
    """A list with that many gaps, signed."""
    source = secrets.SystemRandom()
    ends = status_gaps.chain(source.sample(range(1, LAST_END), gaps - 1))
    suite = ciphersuite(select())
    signatures = [interface.sign(suite, secret, public, EPOCH.header, gap) for gap in pairwise(ends)]
    return gap_shards.publish(EPOCH, 1, ends, signatures)


async def fetched(url: str, public: bytes) -> None:
    """Prints what a holder's fetch costs, in this thread alone: the server runs in others."""
    manifests, shards = [], []
    async with PublishedGaps(url) as source:
        for _ in range(100):
            begun = time.thread_time()
            manifest = await source.manifest(EPOCH)
            middle = time.thread_time()
            await source.gap(manifest, public, 1 + secrets.randbelow(LAST_END - 1))
            manifests.append(1000 * (middle - begun))
            shards.append(1000 * (time.thread_time() - middle))
    print(f"shard fetched over HTTP and used: {statistics.median(shards):.2f} ms (target 5)")
    print(f"manifest fetched before it: {statistics.median(manifests):.2f} ms")


def main() -> None:
    secret = keys.generate_secret(secrets.token_bytes(32))
    public = keys.public_key(secret)
    signed_list(2, secret, public)
    times = [milliseconds(lambda: signed_list(1_000, secret, public)) for _ in range(11)]
    print(f"1,000 gaps made: {statistics.median(times):.0f} ms (target 200)")
    manifest, shards = signed_list(5_000, secret, public)
    largest = max(map(len, shards))
    print(f"5,000 gaps: {len(shards)} shards, {largest} bytes the largest, manifest {len(manifest.encoded)} bytes")
    data = manifest.encoded

    def used() -> None:
        read = Manifest.from_octets(data)
        handle = 1 + secrets.randbelow(LAST_END - 1)
        number = read.shard_of(handle)
        read.find(handle, number, shards[number]).check(public, handle)

    used()
    print(
        f"manifest and shard read, gap checked: {statistics.median(milliseconds(used) for _ in range(200)):.2f} ms (target 5)"
    )
    named = {base64url_encode(digest): shard for digest, shard in zip(manifest.digests, shards, strict=True)}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = named.get(self.path.rpartition("/")[2], data)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asyncio.run(fetched(f"http://127.0.0.1:{server.server_port}", public))
        server.shutdown()


if __name__ == "__main__":
    main()
