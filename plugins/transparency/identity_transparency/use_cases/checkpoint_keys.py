"""The keys that sign the log's checkpoints: ``checkpoint``, ``checkpoint/2``, … in the custodian. The service log states which is
in use.

A replaced key continues to sign for thirty days, so that witnesses and auditors have time to adopt the new one. A compromised key
signs nothing any more. Nor do the keys before it, because the thief could have both.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from identity_did_ids import service_log
from identity_did_ids.service_keys import CHECKPOINT, Replacement, read_replacements
from msgspec import Struct

from identity_codec import multikey
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import StorageMismatch
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.ports.ledger import LedgerBackend, LedgerEntry
from identity_core.use_cases.dids.log_keys import public_key
from identity_transparency.domain.checkpoint_keys import (
    CheckpointKeys,
    EarlierKey,
    keys_listed,
    succession_text,
    verifier_key,
)
from identity_transparency.use_cases.follow import ServiceName, find_service

OVERLAP: Final = timedelta(days=30)


def name_of(number: int) -> str:
    """Return the name in the custodian of a key of checkpoints, from 1."""
    return CHECKPOINT if number == 1 else f"{CHECKPOINT}/{number}"


async def first_key(custodian: Custodian, origin: str) -> CheckpointKeys:
    """Return the keys of a log whose first was never replaced. Raises ``KeyNotHeld``."""
    return CheckpointKeys(verifier_key(origin, await custodian.public_key(CHECKPOINT)))


def signing_still(earlier: Sequence[EarlierKey], now: datetime) -> list[EarlierKey]:
    """Return the earlier keys that sign beside the current one, newest first. A key that was replaced before a compromised one is
    left out, because both lay together."""
    unstolen = itertools.takewhile(lambda one: not one.is_compromised, earlier)
    return [one for one in unstolen if now < one.replaced_at + OVERLAP]


class ReadCheckpointKeys(Struct):
    """A reader of the keys of the log ``origin``, from the service log in the ledger at the call. Raises ``KeyNotHeld``: when none
    was made yet. Raises ``StorageMismatch``: when the custodian holds others. Raises what the ledger raises."""

    custodian: Custodian
    ledger: LedgerBackend
    service: ServiceName
    origin: str
    _did: str | None = None
    _lines: tuple[LedgerEntry, ...] = ()
    _listed: CheckpointKeys | None = None

    async def __call__(self) -> CheckpointKeys:
        self._did = self._did or await self.service.service_did()
        known, listed = self._lines, self._listed
        if self._did is not None and (more := await self.ledger.entries(self._did, after=len(known))):
            known = (*known, *more)
            listed = await self._read(known)
            # Of two that read at once, the one that has seen less takes nothing back.
            if len(known) > len(self._lines):
                self._lines, self._listed = known, listed
        return listed or await first_key(self.custodian, self.origin)

    async def with_first_key(self) -> CheckpointKeys:
        """Return the keys. The first key is made at the first start, and never again after a replacement."""
        if await public_key(self.custodian, CHECKPOINT) is None:
            self._did = await self.service.service_did() or await find_service(self.ledger, self.custodian)
            try:
                return await self()
            except KeyNotHeld:
                await self.custodian.generate(CHECKPOINT, multikey.ED25519, did="-", purpose=CHECKPOINT)
        return await self()

    async def indexed(self, state: DidState | None) -> CheckpointKeys:
        """Return the keys from the newest version of the service's DID, if the ledger cannot be read."""
        listed = None if state is None else keys_listed(self.origin, read_replacements([state]))
        return listed or await first_key(self.custodian, self.origin)

    async def _read(self, lines: tuple[LedgerEntry, ...]) -> CheckpointKeys | None:
        try:
            entries = [line.entry for line in lines]
            history = service_log.read(entries)
        except LogInvalid as error:
            raise StorageMismatch(f"The service log does not hold: {error}") from error
        keys = keys_listed(self.origin, history.replaced, [line.receipt.sequence - 1 for line in lines])
        if keys is None:
            return None
        held = {one.number: await public_key(self.custodian, name_of(one.number)) for one in keys.earlier}
        held[keys.number] = await self.custodian.public_key(name_of(keys.number))
        listed = {one.number: one.key for one in keys.earlier} | {keys.number: keys.present}
        if any(public and verifier_key(self.origin, public) != listed[number] for number, public in held.items()):
            raise StorageMismatch("The service log is not of the keys of checkpoints that the custodian holds.")
        return keys


class SignSuccession(Struct, frozen=True):
    """The note that the old and the new key of the log ``origin`` sign about a replacement. If the old one is compromised, only the
    new one signs."""

    custodian: Custodian
    origin: str

    async def __call__(self, said: Replacement) -> bytes:
        text = succession_text(self.origin, said.replaces, said.multikey, said.tree_size)
        signing = [(said.number, said.multikey)]
        if not said.compromised:
            signing.insert(0, (said.number - 1, said.replaces))
        lines = [
            verifier_key(self.origin, public).line(await self.custodian.sign(name_of(number), text.encode()))
            for number, public in signing
        ]
        return f"{text}\n{''.join(lines)}".encode()
