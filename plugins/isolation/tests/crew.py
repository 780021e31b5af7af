"""Vicious provers at work: worker processes for the tests of them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from identity_isolation import waiting
from identity_isolation.calls import Together, encode_several
from identity_isolation.provers import in_processes
from identity_kit.conformance.prover_cases import NOW

from identity_core.bootstrap import SystemClock
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, IssuerKey, Statement, Witness, ZkProof
from identity_core.plugin.build import WorkerTable
from identity_core.plugin.choose import InstalledPlugin
from identity_core.plugin.load import module_source
from identity_core.plugin.manager import PluginManager
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import load
from tests.unit.plugin.parts import log

MODULE = "tests.fault.vicious_prover"
SCHEMA = Schema("urn:crew", (Attribute("age", AttributeType.INTEGER),))
STATEMENT = Statement(IssuerKey("did:example:ivo#bbs", bytes(96)), SCHEMA, (Predicate.parse(SCHEMA, "age", "gte", 18),))
SECRET = "Hana-Mori-Castellanos-7318204915663"
WITNESS = Witness(b"\x17" * 80, {"age": 40, "name": SECRET})


def context(vice: str = "", proof_id: str = "p1") -> Context:
    """Return a context that makes the prover fall into a vice."""
    return Context(f"vice:{vice}", b"n" * 16, NOW.replace(microsecond=0), NOW.replace(year=2027), proof_id, None, None)


@dataclass(frozen=True)
class Crew:
    """A manager and the prover that it has in processes."""

    manager: PluginManager
    port: ProofWorkers

    async def prove(self, vice: str = "", proof_id: str = "p1") -> ZkProof:
        return await self.port.prove(STATEMENT, WITNESS, context=context(vice, proof_id))

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """For the calls that hang; those that do not may take their time on a busy machine."""
        pool = self.port._thing.pool  # type: ignore[attr-defined]
        usual, pool._deadline_seconds = pool._deadline_seconds, seconds
        try:
            yield
        finally:
            pool._deadline_seconds = usual

    def is_quick(self) -> None:
        """As if a proof had been seen to take a millisecond, however busy the machine is: those that wait are made together."""
        self.port._thing.pool._waiting._proof_seconds = 1e-3  # type: ignore[attr-defined]

    async def pid(self) -> int:
        """The process that answers, once one does."""
        return int((await self.prove()).public_signals[0])

    @property
    def bulkhead(self) -> Any:
        return self.manager.in_use()["prover:vicious"].bulkhead

    @property
    def worker_table(self) -> WorkerTable:
        worker_table = self.manager.in_use()["prover:vicious"].worker_table
        assert worker_table is not None
        return worker_table

    @property
    def row(self) -> InstalledPlugin:
        return next(row for row in self.manager.installed() if row.name == "vicious")


class Sizes:
    """How many calls went to a worker together, each time that several of a kind did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type[Together]) -> None:
        self.seen: list[int] = []

        def counted(of: type[Together], calls: Sequence[bytes]) -> bytes:
            if of is kind:
                self.seen.append(len(calls))
            return encode_several(of, calls)

        monkeypatch.setattr(waiting, "encode_several", counted)


@contextlib.asynccontextmanager
async def crew(
    *, workers: int = 1, deadline_seconds: float = 60.0, settled: bool = True, reference: str = MODULE, **overrides: Any
) -> AsyncIterator[Crew]:
    """Workers of the vicious prover; keys of ``overrides`` have ``__`` for a dot."""
    given = {name.replace("__", "."): value for name, value in overrides.items()}
    settings = load(environment={}, overrides=given)
    manager = PluginManager.load(settings, clock=SystemClock(), logger=log, sources=[module_source(reference)])
    manager.isolation = in_processes
    port = manager.proof_workers(settings.prover.backend, workers=workers, deadline_seconds=deadline_seconds)
    assert port is not None
    try:
        if settled:
            await manager.proof_workers_settled()
            # Under load a start may take longer than the timeout for a prover that no setting names.
            await until(lambda: bool(manager.in_use()["prover:vicious"].worker_table.up) or bool(trouble(manager)))
        yield Crew(manager, port)
    finally:
        await manager.close()


def trouble(manager: PluginManager) -> str:
    worker_table = manager.in_use()["prover:vicious"].worker_table
    assert worker_table is not None
    return worker_table.trouble


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits for what happens elsewhere."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
