"""The log of the service's own DID, which every process reads every few seconds, and before it signs.

The custodian holds a generation ``log``, ``log/2``, ``log/3``, … of the keys that sign the entries of logs. The log states which of
them is current (``identity_did_ids.service_log``). It begins with the first rotation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final, Protocol

import orjson
from identity_did_ids import service_log
from identity_did_ids.service_log import SERVICE_METHOD, LogKeyHistory

from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.logs import key_hash
from identity_core.domain.dids.state import LogInvalid
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import LedgerBackend
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.dids.log_keys import SERVICE_KEY, LogKey, LogSigner, name_of, public_key


class ServiceName(Protocol):
    """The DID of the service, whose log lists the generations of the log key."""

    async def service_did(self) -> str | None:
        """Return the DID; None before the first rotation of the log key."""

    async def begin_service(self, did: str) -> str:
        """Return the service's DID, which becomes ``did`` if there was none. Durable on return."""


FRESH_SECONDS: Final = 1.0


@dataclass(slots=True)
class FollowServiceLog(Repeating):
    """The ``Generations`` of the log of the service's own DID.

    - ``retired``: tree sizes by multikey, for other parts to read.
    - ``hearers``: called with a log that has grown, before anything is signed by it.

    Its steps also read the service log, so that replaced keys stop being valid where nothing is written.
    """

    complaint: ClassVar[str] = "keys that were replaced meanwhile are not known"

    signer: LogSigner
    ledger: LedgerBackend
    tree: ServiceName
    clock: Clock
    retired: dict[str, int]
    history: LogKeyHistory | None = field(default=None, init=False)
    hearers: list[Callable[[LogKeyHistory], Awaitable[None]]] = field(default_factory=list, init=False)
    lines: list[bytes] = field(default_factory=list, init=False)
    _did: str | None = field(default=None, init=False)
    _looked: float = field(default=float("-inf"), init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def step(self) -> None:
        await self.now()

    async def tell(self, hearer: Callable[[LogKeyHistory], Awaitable[None]]) -> None:
        """Call ``hearer`` with the current log, if it has begun, and with each growth. Raises what ``hearer`` raises."""
        if self.history is not None:
            await hearer(self.history)
        self.hearers.append(hearer)

    async def fresh(self) -> None:
        """Do as ``Generations.fresh``."""
        if self._is_stale():
            async with self._turn:
                # A caller that waited has what the one before has read.
                if self._is_stale():
                    await self._read()

    async def now(self) -> None:
        """Do as ``Generations.now``."""
        async with self._turn:
            await self._read()

    def _is_stale(self) -> bool:
        return self.clock.monotonic() - self._looked >= FRESH_SECONDS

    async def _read(self) -> None:
        looked = self.clock.monotonic()
        self._did = self._did or await self.tree.service_did()
        if self._did is not None:
            entries = await self.ledger.entries(self._did, after=len(self.lines))
            if entries:
                await self._take([*self.lines, *(line.entry for line in entries)])
        self._looked = looked

    async def _take(self, lines: list[bytes]) -> None:
        try:
            history = service_log.read(lines)
        except LogInvalid as error:
            raise StorageMismatch(f"The service log does not hold: {error}") from error
        held = await self._held_keys(history)
        if not held or held[-1].multikey != history.generations[-1]:
            raise StorageMismatch("The service log is not of the keys that the custodian holds.")
        for hearer in self.hearers:
            await hearer(history)
        own = key_hash(history.generations[-1])
        self.lines, self.history = lines, history
        self.retired.update(history.retired)
        self.signer.name, self.signer.multikey = held[-1].name, held[-1].multikey
        self.signer.older = tuple(key for key in held[:-1] if key.multikey not in history.retired)
        self.signer.next_key_hashes = tuple(one for one in history.next_key_hashes if one != own)

    async def _held_keys(self, history: LogKeyHistory) -> list[LogKey]:
        """Return the generations that the custodian holds, oldest first. Raises ``StorageMismatch`` if it holds another key instead of
        one.
        """
        held = []
        for number, expected in enumerate(history.generations, 1):
            name = name_of(number)
            found = await public_key(self.signer.custodian, name)
            if found is not None and found != expected:
                raise StorageMismatch("The service log is not of the keys that the custodian holds.")
            if found is not None:
                held.append(LogKey(name, found))
        return held


PAGE: Final = 500


async def find_service(ledger: LedgerBackend, custodian: Custodian) -> str | None:
    """Return the DID whose first entry lists the service's own key and no other; None if the ledger has none or the custodian holds
    no such key. It reads the ledger from its beginning."""
    own = await public_key(custodian, SERVICE_KEY)
    sequence = 0
    while own is not None and (lines := await ledger.entries_after(sequence, PAGE)):
        for line in lines:
            if line.version == 1 and own.encode() in line.entry and _is_of(line.entry, own):
                return line.did
        sequence = lines[-1].receipt.sequence
    return None


def _is_of(entry: bytes, own: str) -> bool:
    try:
        document = DidDocument.read(orjson.loads(entry)["state"])
    except (IdentityError, ValueError, LookupError, TypeError):
        # Anyone may have written it, and then it is not an entry of ours.
        return False
    return Did.parse(document.did).method == SERVICE_METHOD and [one.multibase for one in document.methods] == [own]
