"""Witnesses: how long a kept entry takes to check offline, how large it is, and how far the quorum is behind the log.

    python -m tools.bench.bench_witness verify [--entries 1000000] [--rounds 300]
    python -m tools.bench.bench_witness lag [--seconds 60] [--rate 20]

`verify`: one entry of 700 bytes in a tree of so many, a policy of four witnesses of whom three must have cosigned, as `identity ledger
verify --policy` checks it once both files are read. The tree has its real height; entries other than the one are hashes of their numbers.

`lag`: a ledger on disk that takes ``rate`` entries a second, its feeder, and four witnesses on loopback: two honest ones, which make the
quorum, one that cosigns with another key and one that never answers. The lag of an entry is from its append to the moment at which a
checkpoint that covers it has its quorum.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from identity_transparency.cosigned import StoredCosignedCheckpoints
from identity_transparency.http_witness import HttpWitness
from identity_transparency.use_cases.feed import CosignedLog, FedWitness, WitnessFeeder

from identity_codec import ed25519
from identity_core.bootstrap.ports import SystemClock
from identity_tlog.leaf import LogLeaf, verify_entry
from identity_tlog.note import WITNESS, Checkpoint, VerifierKey, cosignature_line, cosignature_message, sign_checkpoint
from identity_tlog.policy import WitnessPolicy
from identity_tlog.proofs import TlogProof, inclusion_spans, span_hash
from identity_tlog.tree import complete_root, leaf_hash
from tests.lying_witness import lying_witness, whole
from tests.transparency import LoggedLedger, LogKey
from tests.witnesses import witness

ENTRY = bytes(range(32, 127)) * 7 + b"x" * 35


def quantiles(milliseconds: list[float]) -> str:
    ordered = sorted(milliseconds)
    return f"median {statistics.median(ordered):8.3f} ms, p99 {ordered[int(len(ordered) * 0.99) - 1]:8.3f} ms"


def kept_entry(entries: int) -> tuple[bytes, bytes]:
    """The file of an entry in the middle, and the policy."""
    from datetime import UTC, datetime

    key, index = LogKey(bytes(32)), entries // 2
    did = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnabcdefghijk"
    leaf = LogLeaf(index + 1, leaf_hash(b"t").hex(), index // 16 + 1, datetime.now(UTC), did, 1, ENTRY).encode()
    hashes = b"".join(leaf_hash(leaf if number == index else b"%d" % number) for number in range(entries))

    def node(height: int, number: int) -> bytes:
        return complete_root(hashes[(number << height) * 32 : ((number + 1) << height) * 32])

    path = tuple(span_hash(span, node) for span in inclusion_spans(index, entries))
    checkpoint = Checkpoint(key.verifier.name, entries, span_hash((0, entries), node))
    note, lines = sign_checkpoint(checkpoint, key.verifier, key.pair.sign(checkpoint.text.encode())), []
    for number in range(1, 5):
        pair = ed25519.generate(bytes([number]) * 32)
        name = VerifierKey(f"witness{number}.example.org/w1", pair.public, WITNESS)
        lines.append(f"witness W{number} {name}")
        if number < 4:
            seconds = int(time.time())
            note += cosignature_line(name, seconds, pair.sign(cosignature_message(checkpoint.text, seconds))).encode()
    policy = "\n".join([f"log {key.verifier}", *lines, "group G 3 W1 W2 W3 W4", "quorum G", ""])
    return TlogProof(index, path, note, leaf).encode(), policy.encode()


def verify(entries: int, rounds: int) -> None:
    """Prints time and size."""
    file, text = kept_entry(entries)
    policy, took = WitnessPolicy.parse(text), []
    for _ in range(rounds):
        started = time.process_time()
        verify_entry(TlogProof.parse(file), policy)
        took.append((time.process_time() - started) * 1000)
    print(f"one entry of {entries:,}, CPU               {quantiles(took)}")
    print(f"its file, an entry of {len(ENTRY)} bytes      {len(file):8,} bytes")


def lie(it: socket.socket, _: bytes) -> None:
    """Cosigns with another key."""
    it.sendall(whole("200 OK", LogKey().verifier.line(bytes(64)).encode()))


async def lag(folder: Path, seconds: float, rate: float) -> None:
    """Prints the lag of every entry."""
    logged, clock = LoggedLedger(folder), SystemClock()
    hung = threading.Event()
    with contextlib.ExitStack() as stack:
        stack.callback(hung.set)
        key = str(logged.key.verifier)
        honest = [stack.enter_context(witness(folder / name, key, name=f"{name}.example")) for name in ("w1", "w2")]
        urls = [told["url"] for told in honest]
        urls += [
            stack.enter_context(lying_witness(lie)),
            stack.enter_context(lying_witness(lambda *_: bool(hung.wait()))),
        ]
        keys = [told["verifierKey"] for told in honest]
        keys += [str(VerifierKey(f"w{number}.example", LogKey().pair.public, WITNESS)) for number in (3, 4)]
        lines = "".join(f"witness W{number} {one}\n" for number, one in enumerate(keys))
        policy = WitnessPolicy.parse(f"{lines}group G 2 W0 W1 W2 W3\nquorum G\n".encode())
        async with httpx.AsyncClient(trust_env=False) as http:
            fed = [FedWitness(one, HttpWitness(http, url)) for one, url in zip(policy.witnesses, urls, strict=True)]
            cosigned = CosignedLog(policy, logged.signer, StoredCosignedCheckpoints(logged.store.database))
            feeder = WitnessFeeder(cosigned, fed, logged, clock, lambda: True)
            async with feeder:
                found = await _lags(logged, cosigned, seconds, rate)
        print(f"{len(found)} entries at {rate:g}/s, until the quorum {quantiles(found)}")
        print(f"of the witnesses at the end               {feeder.lags()}")
    await logged.close()


async def _lags(logged: Any, cosigned: CosignedLog, seconds: float, rate: float) -> list[float]:
    appended: list[float] = []
    found: list[float] = []

    async def look() -> None:
        while len(found) < len(appended) or time.monotonic() < end:
            while len(found) < min(cosigned.size, len(appended)):
                found.append((time.monotonic() - appended[len(found)]) * 1000)
            await asyncio.sleep(0.002)

    end = time.monotonic() + seconds
    looking = asyncio.create_task(look())
    while time.monotonic() < end:
        await logged.ledger.append(f"did:x:{len(appended)}", b"x" * 700, expected_version=0)
        appended.append(time.monotonic())
        await asyncio.sleep(1 / rate)
    await looking
    return found


def main() -> None:
    """Runs what the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["verify", "lag"])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=20.0)
    given = parser.parse_args()
    if given.what == "verify":
        verify(given.entries, given.rounds)
        return
    with tempfile.TemporaryDirectory(dir=".") as folder:
        asyncio.run(lag(Path(folder), given.seconds, given.rate))


if __name__ == "__main__":
    main()
