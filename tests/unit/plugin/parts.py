"""A clock, good tenants for every socket, and sources made of objects: what the plugin tests build with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from identity_core.domain.callers import ApiKey
from identity_core.domain.dids.changes import Change
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.state import DidState
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import ProofInvalid, VersionConflict
from identity_core.plugin.border import Bulkhead
from identity_core.plugin.limits import Limits
from identity_core.plugin.load import PluginSource
from identity_core.plugin.manager import PluginManager
from identity_core.plugin.sockets import Socket
from identity_core.ports.custodian import KeyNotHeld
from identity_core.ports.ledger import LedgerEntry, LedgerHead, LogSize, Receipt
from identity_core.settings import Settings, load

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
log = logging.getLogger("identity.tests")


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class GoodLedger:
    lines: list[LedgerEntry] = field(default_factory=list)

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        await asyncio.sleep(0)
        if expected_version != sum(line.did == did for line in self.lines):
            raise VersionConflict
        receipt = Receipt("00" * 32, 1, len(self.lines) + 1, NOW)
        self.lines.append(LedgerEntry(did, expected_version + 1, entry, receipt))
        return receipt

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        return [line for line in self.lines if line.did == did][after:][:limit]

    async def log_size(self, did: str) -> LogSize:
        sizes = [len(line.entry) for line in self.lines if line.did == did]
        return LogSize(len(sizes), sum(sizes))

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        return self.lines[sequence : sequence + limit]

    async def head(self) -> LedgerHead:
        return LedgerHead(len(self.lines), 1)


KEY = ApiKey("k1", "one", "0" * 64, None, None, None, None, NOW)


class GoodKeys:
    async def find(self, digest: str) -> ApiKey | None:
        return KEY if digest == KEY.digest else None


class GoodCustodian:
    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"Ed25519VerificationKey2020"})

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        return "z6Mk"

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        return "z6Mk"

    async def public_key(self, name: str) -> str:
        raise KeyNotHeld

    async def sign(self, name: str, message: bytes) -> bytes:
        await asyncio.sleep(0)
        return bytes(64)

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        return bytes(80)

    async def destroy(self, name: str) -> None:
        return None


@dataclass(frozen=True)
class GoodEntry:
    did: Did
    signing_input: bytes

    def sealed(self, signature: bytes) -> bytes:
        return self.signing_input + signature

    def after(self, signature: bytes) -> DidState:
        return STATE


DID = Did.parse("did:toy:a")
STATE = DidState(DID, 1, NOW, NOW, "create", "hash", None, DidDocument(str(DID), (), ()))


class GoodMethod:
    name = "toy"
    mutable = True

    def check(self, did: Did) -> None:
        return None

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> GoodEntry:
        return GoodEntry(DID, b"entry")

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        return STATE

    def expand(self, did: Did) -> DidState | None:
        return None


class GoodProver:
    suite = "toy-suite"
    predicate_types = frozenset({"eq"})

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        return ZkProof("cHJvb2Y", (), "eq", "p1")

    def read(self, proof: str) -> PresentedProof:
        raise ProofInvalid

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        return None


def source(name: str, plugin: object | Callable[[], object], *, distribution: str | None = None) -> PluginSource:
    """A source whose import returns ``plugin``, or what the function ``plugin`` returns."""
    importing = plugin if callable(plugin) and not isinstance(plugin, type) else lambda: plugin
    return PluginSource(name, distribution or f"identity-{name}", "2.1", importing)


def manager(*sources: PluginSource, settings: Settings | None = None, clock: HandClock | None = None) -> PluginManager:
    settings = settings or load(environment={}, overrides={"did.method": "toy"})
    return PluginManager.load(settings, clock=clock or HandClock(), logger=log, sources=sources)


def bulkhead(socket: Socket[Any], clock: HandClock | None = None, **limits: Any) -> Bulkhead:
    values = {"deadline_seconds": 0.05, "calls_in_flight": 8, "failures_to_open": 3, "retry_seconds": 5.0} | limits
    return Bulkhead(f"{socket.kind}:toy", Limits(**values), socket.contract, clock or HandClock(), log)
