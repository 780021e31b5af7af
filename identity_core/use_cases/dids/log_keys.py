"""The keys that sign the entries of logs: which one signs the next entry of a DID, and what the entry says of those after it.

The custodian holds a generation ``log``, ``log/2``, ``log/3``, … of them; the next is made when the present one starts, and every entry
commits to both (``domain.dids.log.log_keys``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from identity_core.codec import multikey
from identity_core.domain.dids.changes import Change, Deactivate, Expire
from identity_core.domain.dids.log.log_keys import LogKeys, key_hash
from identity_core.domain.dids.state import DidState
from identity_core.errors import InvalidDocument
from identity_core.ports.custodian import Custodian
from identity_core.ports.did_method import DidMethod, PreRotatingDidMethod, UnsignedEntry

LOG_KEY: Final = "log"


def name_of(generation: int) -> str:
    """The name in the custodian of a generation, from 1."""
    return LOG_KEY if generation == 1 else f"{LOG_KEY}/{generation}"


@dataclass(frozen=True, slots=True)
class LogKey:
    """A key that signs entries: its name in the custodian and its multikey."""

    name: str
    multikey: str


@dataclass(frozen=True, slots=True)
class Drafted:
    """An entry without its signature, and the key that it waits for."""

    entry: UnsignedEntry
    key: LogKey


@dataclass(slots=True)
class LogSigner:
    """Drafts and signs entries with the key that may. ``name`` and ``multikey`` are of the present generation, ``next_key_hashes`` of
    those that may follow it (none: entries commit to nothing), ``older`` the generations before it that the custodian still holds."""

    custodian: Custodian
    name: str
    multikey: str
    next_key_hashes: tuple[str, ...] = ()
    older: tuple[LogKey, ...] = ()

    @classmethod
    async def open(cls, custodian: Custodian) -> LogSigner:
        """With the first generation and the next, made where they are not there yet."""
        first, following = [
            await custodian.generate(name_of(number), multikey.ED25519, did="-", purpose=LOG_KEY) for number in (1, 2)
        ]
        return cls(custodian, LOG_KEY, first, (key_hash(following),))

    def draft(self, method: DidMethod, state: DidState | None, change: Change, at: datetime) -> Drafted:
        """The next entry of a log. Raises what ``method.draft`` raises, and ``InvalidDocument`` where none of the keys may sign it."""
        if not (isinstance(method, PreRotatingDidMethod) and method.pre_rotates):
            key = self._key(state, committed=False)
            return Drafted(method.draft(state, change, at, signer=key.multikey), key)
        key = self._key(state, committed=True)
        keys = self._said(state, change, key)
        return Drafted(method.draft(state, change, at, signer=key.multikey, next_keys=keys), key)

    async def sign(self, drafted: Drafted) -> bytes:
        """The signature that the entry waits for. Raises ``KeyNotHeld`` for a key that was destroyed meanwhile."""
        return await self.custodian.sign(drafted.key.name, drafted.entry.signing_input)

    def _key(self, state: DidState | None, *, committed: bool) -> LogKey:
        """The newest key that may sign after ``state``."""
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
        raise InvalidDocument(
            "None of the keys that the service holds may sign the next entry of this DID.",
            details={"did": str(state.did)},
        )

    def _said(self, state: DidState | None, change: Change, key: LogKey) -> LogKeys | None:
        """What the entry says of the keys of its log; None where that follows from the entry before."""
        if not self.next_key_hashes:
            return None
        if state is not None and not state.next_key_hashes:
            # A DID of before begins with a change that its controller asked for, and may be handed on at once.
            return None if isinstance(change, Expire | Deactivate) else self._present()
        if state is not None and state.update_keys == (key.multikey,) and self._reaches_present(state):
            return None
        return self._present() if key.multikey == self.multikey else self._on_the_way(key)

    def _present(self) -> LogKeys:
        return LogKeys((self.multikey,), (key_hash(self.multikey), *self.next_key_hashes))

    def _on_the_way(self, key: LogKey) -> LogKeys:
        """For a log that was not changed while more than one generation passed: the entry after this one is the present key's."""
        return LogKeys((key.multikey,), (key_hash(key.multikey), key_hash(self.multikey)))

    def _reaches_present(self, state: DidState) -> bool:
        present = (key_hash(self.multikey), *self.next_key_hashes)
        wanted = present if state.update_keys == (self.multikey,) else present[:1]
        return set(wanted) <= set(state.next_key_hashes)
