"""Writers that retry without limit, and their processes, for the fault tests of the ledger kit."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from identity_core.errors import LedgerUnavailable, VersionConflict
from identity_core.ports.ledger import LedgerBackend, LedgerEntry, Receipt
from identity_kit.conformance.ledger_examined import DID
from identity_kit.conformance.loops import close

CALLERS = 8
PAUSE_SECONDS = 0.02


def write_until_killed(reopen: Callable[[], LedgerBackend], told: Connection) -> None:
    """Append without end, and report DID, version and receipt of each acknowledged entry."""

    async def write(ledger: LedgerBackend, did: str) -> None:
        while True:
            version = await version_of(ledger, did)
            try:
                receipt = await ledger.append(did, os.urandom(200), expected_version=version)
            except (VersionConflict, LedgerUnavailable):
                # A process before this one died with an append on its way, or its lease is not over yet.
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                told.send((did, version + 1, receipt))

    async def scenario() -> None:
        ledger = reopen()
        await asyncio.gather(*(write(ledger, f"did:x:{n}") for n in range(CALLERS)))

    asyncio.run(scenario())


def race(reopen: Callable[[], LedgerBackend], name: str, turns: int, told: Connection) -> None:
    """Append ``turns`` entries to an own DID and as many to a shared one; then report ``done``."""

    async def get_in(ledger: LedgerBackend, did: str, entry: bytes) -> None:
        while True:
            lines = await ledger.entries(did)
            if any(line.entry == entry for line in lines):
                return
            try:
                await ledger.append(did, entry, expected_version=len(lines))
            except (VersionConflict, LedgerUnavailable):
                await asyncio.sleep(PAUSE_SECONDS)

    async def scenario() -> None:
        ledger = reopen()
        for turn in range(turns):
            entry = f"{name}.{turn}".encode()
            await asyncio.gather(get_in(ledger, DID, entry), get_in(ledger, f"did:x:{name}", entry))
        await close(ledger)
        told.send("done")

    asyncio.run(scenario())


@dataclass
class Attempts:
    """The outcome of every append, by its entry, which no other append has. ``refused`` counts ``LedgerUnavailable``."""

    acknowledged: dict[bytes, Receipt] = field(default_factory=dict)
    unknown: set[bytes] = field(default_factory=set)
    never: set[bytes] = field(default_factory=set)
    refused: int = 0

    def check(self, lines: Sequence[LedgerEntry]) -> None:
        """Check that every receipt is true, and every answer that an entry was not recorded."""
        found = {line.entry: line.receipt for line in lines}
        lost = [entry for entry, receipt in self.acknowledged.items() if found.get(entry) != receipt]
        assert not lost, f"acknowledged and lost: {lost}"
        assert not self.never & found.keys(), f"told as not recorded, and there: {self.never & found.keys()}"
        guessed = found.keys() - self.acknowledged.keys() - self.unknown
        assert not guessed, f"refused as a conflict, and there: {guessed}"


async def write_until_told(ledger: LedgerBackend, did: str, attempts: Attempts, stop: asyncio.Event) -> None:
    """Append different entries to ``did`` until ``stop``, and note each result."""
    number = version = 0
    while not stop.is_set():
        # Where nothing can be read either, it is an append that is to be refused: one of an old version is as good.
        with suppress(LedgerUnavailable):
            version = len(await ledger.entries(did))
        entry = f"{did}.{number}".encode()
        number += 1
        try:
            attempts.acknowledged[entry] = await ledger.append(did, entry, expected_version=version)
        except VersionConflict:
            # An append whose outcome was unknown has come through meanwhile, or the version was an old one.
            await asyncio.sleep(PAUSE_SECONDS)
        except LedgerUnavailable as error:
            attempts.refused += 1
            told = attempts.never if error.details.get("outcome") == "not recorded" else attempts.unknown
            told.add(entry)
            await asyncio.sleep(PAUSE_SECONDS)


async def version_of(ledger: LedgerBackend, did: str) -> int:
    """Return the number of entries of ``did``, as soon as the ledger is available."""
    while True:
        try:
            return len(await ledger.entries(did))
        except LedgerUnavailable:
            await asyncio.sleep(PAUSE_SECONDS)


@contextmanager
def process(work: Callable[[Connection], None]) -> Iterator[tuple[BaseProcess, Connection]]:
    """Yield a forked process, and the connection for its reports. It is killed at the end."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("processes cannot be forked here")
    context = multiprocessing.get_context("fork")
    near, far = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(far,), daemon=True)
    child.start()
    far.close()
    try:
        yield child, near
    finally:
        child.kill()
        child.join(30)
        near.close()


def received(told: Connection, count: int, seconds: float) -> Iterator[Any]:
    """Yield the next ``count`` reports of a process, each within ``seconds``."""
    for _ in range(count):
        assert told.poll(seconds), "a process that writes has nothing to tell"
        try:
            yield told.recv()
        except EOFError:
            pytest.fail("a process that writes has ended; see its traceback")


def received_rest(told: Connection) -> Iterator[Any]:
    """Return the reports of a process before it was killed."""
    try:
        while True:
            yield told.recv()
    except EOFError:
        return
