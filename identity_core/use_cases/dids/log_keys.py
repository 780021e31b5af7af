"""Keys that sign the entries of logs: the signer of the next entry of a DID, and the keys to which the entry commits.

The custodian holds generations ``log``, ``log/2``, ``log/3``, … of them. The next one is made when the present one starts, and every
entry commits to both (``domain.dids.logs``). From the first rotation on, ``Generations`` reads which one is the present generation.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol, cast

from msgspec import Struct, field

from identity_codec import multikey
from identity_codec.values import Hidden, replace
from identity_core.domain.dids.changes import Change, Create, Deactivate, Expire, RetireLogKey
from identity_core.domain.dids.logs import LogKeys, key_hash
from identity_core.domain.dids.state import DidState
from identity_core.errors import InvalidDocument, PluginUnavailable
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.ports.did_method import DidMethod, PreRotatingDidMethod, UnsignedEntry

LOG_KEY: Final = "log"
SERVICE_KEY: Final = "service"
"""The key of the service's own DID. It exists if the service log has begun."""


def name_of(generation: int) -> str:
    """Return the name of a generation, from 1, in the custodian."""
    return LOG_KEY if generation == 1 else f"{LOG_KEY}/{generation}"


async def public_key(custodian: Custodian, name: str) -> str | None:
    """Return the public multikey, or None if the custodian holds no key of this name."""
    try:
        return await custodian.public_key(name)
    except KeyNotHeld:
        return None


class LogKey(Struct, frozen=True):
    """A key that signs entries: its name in the custodian and its multikey."""

    name: str
    multikey: str


class SignedEntry(Hidden, Struct, frozen=True):
    """An entry and its 64-byte signature."""

    entry: UnsignedEntry
    signature: bytes


class NoKey(InvalidDocument):
    """Error: none of the keys that the service holds may sign the next entry of a DID."""


class Generations(Protocol):
    """A reader of the service log, which updates the signer and the check of retired keys."""

    async def fresh(self) -> None:
        """Read the service log unless it was read in the last second. Raises the errors of ``now``."""

    async def now(self) -> None:
        """Read the service log. Raises ``LedgerUnavailable``. Raises ``StorageMismatch``: when the log is not this custodian's."""


class KnownGenerations:
    """Fixed generations of keys: those with which a signer was opened."""

    async def fresh(self) -> None:
        """Do nothing."""

    async def now(self) -> None:
        """Do nothing."""


class LogSigner(Struct):
    """A signer of entries, with the key that a DID permits. ``name`` and ``multikey`` are of the present generation. ``next_key_hashes``
    are of the possible next ones (none: entries commit to nothing). ``older`` are the earlier generations that the custodian holds."""

    custodian: Custodian
    name: str
    multikey: str
    next_key_hashes: tuple[str, ...] = ()
    older: tuple[LogKey, ...] = ()
    generations: Generations = field(default_factory=KnownGenerations)

    @classmethod
    async def open(cls, custodian: Custodian) -> LogSigner:
        """Open a signer with the first generation and the next; create both at the first startup. After the service log has begun, a
        destroyed key is never created again. A signer without a key (``multikey`` empty) then waits for ``generations``."""
        held = [await public_key(custodian, name_of(number)) for number in (1, 2)]
        if None in held and await public_key(custodian, SERVICE_KEY) is None:
            held = [
                await custodian.generate(name_of(number), multikey.ED25519, did="-", purpose=LOG_KEY)
                for number in (1, 2)
            ]
        first, following = held
        return cls(custodian, LOG_KEY, first or "", () if following is None else (key_hash(following),))

    async def signed(self, method: DidMethod, state: DidState | None, change: Change, at: datetime) -> SignedEntry:
        """Draft and sign the next entry of a log. The present key always signs a ``Create``.

        Raises the errors of ``method.draft`` and of reading the service log, and ``NoKey``."""
        await self.generations.fresh()
        try:
            return await self._signed(method, state, change, at)
        except (NoKey, KeyNotHeld):
            # Another process may have rotated to the next generation just now, and the earlier key may be destroyed.
            await self.generations.now()
        try:
            return await self._signed(method, state, change, at)
        except KeyNotHeld as error:
            raise PluginUnavailable("The custodian does not hold the key of the log.") from error

    async def _signed(self, method: DidMethod, state: DidState | None, change: Change, at: datetime) -> SignedEntry:
        key, entry = self._draft(method, state, change, at)
        return SignedEntry(entry, await self.custodian.sign(key.name, entry.signing_input))

    def _draft(
        self, method: DidMethod, state: DidState | None, change: Change, at: datetime
    ) -> tuple[LogKey, UnsignedEntry]:
        if isinstance(change, Create):
            change = replace(change, update_keys=(self.multikey,))
        # This member is what the protocol adds to a method; to ask for the whole protocol takes longer than a signature.
        if not getattr(method, "pre_rotates", False):
            key = self._key(state, committed=False)
            return key, method.draft(state, change, at, signer=key.multikey)
        key = self._key(state, committed=True)
        keys = self._find_stated_keys(state, change, key)
        rotating = cast("PreRotatingDidMethod", method)
        return key, rotating.draft(state, change, at, signer=key.multikey, next_keys=keys)

    def _key(self, state: DidState | None, *, committed: bool) -> LogKey:
        """Return the newest key that may sign after ``state``."""
        present = LogKey(self.name, self.multikey)
        if state is None:
            return present
        for key in (present, *reversed(self.older)):
            if (
                key_hash(key.multikey) in state.next_key_hashes
                if committed and state.next_key_hashes
                else key.multikey in state.update_keys
            ):
                return key
        raise NoKey(
            "None of the keys that the service holds may sign the next entry of this DID.",
            details={"did": str(state.did)},
        )

    def _find_stated_keys(self, state: DidState | None, change: Change, key: LogKey) -> LogKeys | None:
        """Return the log keys that the entry states; None if they follow from the entry before."""
        if not self.next_key_hashes:
            return None
        if state is not None and not state.next_key_hashes:
            # A DID without pre-rotation begins it with a change that its controller requested, and may use the next key at once.
            return None if isinstance(change, Expire | Deactivate | RetireLogKey) else self._present()
        if state is not None and state.update_keys == (key.multikey,) and self._reaches_present(state):
            return None
        if isinstance(change, Expire) and state is not None and key.multikey in state.update_keys:
            return None
        return self._present() if key.multikey == self.multikey else self._on_the_way(key)

    def _present(self) -> LogKeys:
        return LogKeys((self.multikey,), (key_hash(self.multikey), *self.next_key_hashes))

    def _on_the_way(self, key: LogKey) -> LogKeys:
        """Return the log keys for a log that missed more than one generation: the present key signs the entry after this one."""
        return LogKeys((key.multikey,), (key_hash(key.multikey), key_hash(self.multikey)))

    def _reaches_present(self, state: DidState) -> bool:
        present = (key_hash(self.multikey), *self.next_key_hashes)
        wanted = present if state.update_keys == (self.multikey,) else present[:1]
        return set(wanted) <= set(state.next_key_hashes)
