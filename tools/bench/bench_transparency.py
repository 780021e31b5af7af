"""The transparency log: proofs, tiles on disk, projector, audit, and the size of a proof that is kept.

    python -m tools.bench.bench_transparency [--entries 1000000] [--proofs 300] [--folder .]

Entries of 700 bytes, one DID for three of them. The tree is filled through the store as the projector does it; the projector's own rate is
measured over the SQL ledger with a part of them, since filling that takes the time of so many appends. The audit reads a
directory, as `identity ledger audit --dir` does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from identity_transparency.cli.ledger_audit import examine
from identity_transparency.cli.sources import FolderSource
from identity_transparency.tree import TransparencyTree

from identity_core.store import Store
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint
from identity_tlog.proofs import TlogProof, consistency_spans, inclusion_spans, span_hash, verify_inclusion
from identity_tlog.tiles import Tile, bundled, levels_of, needed, node_from, tiles_of
from identity_tlog.tree import leaf_hash
from tests.did_use_cases import MovableClock
from tests.transparency import LoggedLedger, LogKey

ENTRY = os.urandom(350).hex().encode()


def leaves(count: int) -> Iterator[bytes]:
    """Sound leaves, 16 to a block."""
    clock = MovableClock()
    for number in range(count):
        clock.move(microseconds=700)
        hash_ = leaf_hash(b"%d" % number).hex()
        did = f"did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAn{number // 3:08}"
        yield LogLeaf(number + 1, hash_, number // 16 + 1, clock.time, did, number % 3 + 1, ENTRY).encode()


async def fill(folder: Path, target: Path, count: int) -> Store:
    """The tree through the store, and the directory of an export."""
    store = Store.open(folder)
    size, seconds, part = 0, 0.0, []
    for leaf in leaves(count):
        part.append(leaf)
        if len(part) == 256 or size + len(part) == count:
            path = target / "tile" / Tile(None, size // 256, len(part)).path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bundled(part))
            started = time.perf_counter()
            hashes = [leaf_hash(one) for one in part]
            size = (await TransparencyTree(store.database).append(size, hashes, hashes)).size
            seconds += time.perf_counter() - started
            part = []
    print(f"stored tree, pages of 256            {count / seconds:10,.0f} entries/s")
    return store


async def proofs(store: Store, count: int, rounds: int, target: Path) -> None:
    """Proofs from the store, and the size of one that is kept."""
    tree, key = TransparencyTree(store.database), LogKey()
    frontier = await tree.frontier()
    inclusion, consistency, verifying, sizes = [], [], [], []
    for turn in range(rounds):
        index = (turn * 7_919_993) % count
        started = time.perf_counter()
        spans = inclusion_spans(index, count)
        node = node_from(await tree.tiles(needed(spans)))
        hashes = tuple(span_hash(span, node) for span in spans)
        inclusion.append(time.perf_counter() - started)
        level0 = (await tree.tiles([(0, index // 256)]))[0, index // 256]
        leaf = level0[index % 256 * 32 : index % 256 * 32 + 32]
        started = time.perf_counter()
        verify_inclusion(leaf, index, count, hashes, frontier.root)
        verifying.append(time.perf_counter() - started)
        started = time.perf_counter()
        spans = consistency_spans(index + 1, count)
        node = node_from(await tree.tiles(needed(spans)))
        _ = [span_hash(span, node) for span in spans]
        consistency.append(time.perf_counter() - started)
        text = f"{Checkpoint(key.verifier.name, count, frontier.root).text}\n{key.verifier.line(bytes(64))}"
        receipt = LogLeaf(index + 1, "0" * 64, index // 16 + 1, MovableClock().time, "did:x:y", 1, b"").receipt
        sizes.append(len(TlogProof(index, hashes, text.encode(), receipt).encode()))
    for label, times in (
        ("inclusion proof", inclusion),
        ("consistency proof", consistency),
        ("verifying one", verifying),
    ):
        ordered = sorted(times)
        p50, p99 = statistics.median(ordered) * 1e3, ordered[int(len(ordered) * 0.99)] * 1e3
        print(f"{label + f' at {count:,}':36} p50 {p50:7.3f} ms  p99 {p99:7.3f} ms")
    print(f"offline proof, without cosignatures  {max(sizes):10,} bytes")
    for level in range(levels_of(count)):
        for tile in tiles_of(count, level):
            path = target / "tile" / tile.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((await tree.tiles([(level, tile.number)]))[level, tile.number])


def disk(folder: Path, count: int) -> None:
    """Bytes of each table a million entries, by SQLite's own count."""
    import sqlite3

    with sqlite3.connect(folder / "identity.sqlite") as connection:
        for table in ("transparency_tiles", "transparency_places"):
            (data,) = connection.execute(
                "SELECT sum(pgsize) FROM dbstat WHERE name LIKE ?", (f"%{table}%",)
            ).fetchone() or (0,)
            print(f"{table:36} {data / count:10.1f} MB a million entries")
    connection.close()


def audit(target: Path, checkpoint: Checkpoint) -> None:
    """The whole log against its checkpoint, from files."""
    started, cpu = time.perf_counter(), time.process_time()
    findings = examine(FolderSource(target), checkpoint, [], lambda _: None)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    rate, busy = checkpoint.size / seconds, checkpoint.size / cpu
    print(
        f"audit of a directory                 {rate:10,.0f} entries/s ({busy:,.0f} by CPU), {len(findings)} findings"
    )


async def projector(folder: Path, count: int) -> None:
    """Over the SQL ledger."""
    logged = LoggedLedger(folder)
    for start in range(0, count, 200):
        appends = (logged.ledger.append(f"did:x:{n}", ENTRY, expected_version=0) for n in range(start, start + 200))
        await asyncio.gather(*appends)
    started, cpu = time.perf_counter(), time.process_time()
    await logged.follower.now()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    print(
        f"projector over the SQL ledger        {count / seconds:10,.0f} entries/s, CPU {cpu / count * 1e6:5.1f} µs an entry"
    )
    started = time.perf_counter()
    for _ in range(100):
        await logged.follower.now()
    print(f"nothing new to project               {(time.perf_counter() - started) * 1e4:10.1f} µs")
    await logged.close()


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--proofs", type=int, default=300)
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-transparency-", dir=options.folder))
    try:
        (folder / "small").mkdir()
        asyncio.run(projector(folder / "small", min(options.entries, 20_000)))

        async def large() -> Checkpoint:
            store = await fill(folder, folder / "log", options.entries)
            await proofs(store, options.entries, options.proofs, folder / "log")
            frontier = await TransparencyTree(store.database).frontier()
            await store.close()
            return Checkpoint("id.example/log", frontier.size, frontier.root)

        checkpoint = asyncio.run(large())
        disk(folder, options.entries)
        audit(folder / "log", checkpoint)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
