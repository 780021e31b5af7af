"""The custodian: keys by name in a table, unsealed ones kept in memory.

The log key signs every entry, so a key is unsealed once and kept. What another process changed is noticed by the database's counter of
foreign changes in each turn of the event loop that uses a key, or within a second on a server that has none. Memory cannot be
wiped from Python: anyone who reads the process's memory has the keys that it used.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from identity_bbs.blind import IssueRequest
from identity_bbs.holders import HolderConsent, HolderSecrets, root_of
from identity_codec import sealing
from identity_core.cache import BoundedCache
from identity_core.database import DatabaseError, Transaction
from identity_core.errors import Overloaded, PluginUnavailable
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import KeyNameTaken, KeyNotHeld, Resealed, checked_names
from identity_custodian_sealed.box_contents import DataKey
from identity_custodian_sealed.data_key import Seal, SealBroken, StoredSeal, stored_seal
from identity_custodian_sealed.held_key import CAPABILITIES, HeldKey, Label
from identity_custodian_sealed.processes import Attendance
from identity_custodian_sealed.resealing import generation_of, reseal

MOST_IN_MEMORY = 4_096
MOST_ON_THE_LOOP = 16
"""Messages that are signed in the event loop: about a millisecond. 128 messages, of 64 numbers, take more than thirty."""
_MATERIAL_OCTETS = 48

_BY_NAME = (
    "SELECT s.generation, k.key_type, k.did, k.purpose, k.public_key, k.box "
    "FROM custodian_seal s LEFT JOIN custodian_keys k ON k.name = :name WHERE s.id = 1"
)
_INSERT = (
    "INSERT INTO custodian_keys (name, key_type, did, purpose, public_key, box) "
    "VALUES (:name, :key_type, :did, :purpose, :public_key, :box) ON CONFLICT DO NOTHING"
)
_DELETE = "DELETE FROM custodian_keys WHERE name = :name"


def holder_secrets(root: bytes, random: Callable[[int], bytes]) -> HolderSecrets:
    """Return the secrets that follow from ``root``, of 32 bytes."""
    return HolderSecrets(lambda info: sealing.derive_key(root, info=info, length=_MATERIAL_OCTETS), random)


class SealedCustodian:
    """A ``HolderCustodian``, ``RenewingCustodian`` and ``AttendedCustodian``.

    Raises ``PluginUnavailable`` when the database is out of reach or a box does not
    open, ``Overloaded``."""

    def __init__(self, seal: Seal, data_key: DataKey, *, clock: Clock) -> None:
        self._database = seal.database
        self._seal = seal
        self._data_key = data_key
        self._clock = clock
        self._random = seal.random
        self._held: BoundedCache[str, HeldKey] = BoundedCache(MOST_IN_MEMORY)
        self._seen: int | None = None
        self._looked_in: asyncio.AbstractEventLoop | None = None
        self._attendance = Attendance(seal)
        # By the root that they follow from.
        self._secrets: dict[bytes, HolderSecrets] = {}

    @property
    def capabilities(self) -> frozenset[str]:
        return CAPABILITIES

    async def generate(self, name: str, key_type: str, *, did: str, purpose: str) -> str:
        label = Label(name, key_type, did, purpose)
        label.check()
        held = await self._find(name)
        if held is None:
            held = await self._store(HeldKey.generated(label, self._random))
        if held.label != label:
            raise KeyNameTaken
        return held.public_key

    async def import_key(self, name: str, key_type: str, secret: bytes, *, did: str, purpose: str) -> str:
        label = Label(name, key_type, did, purpose)
        label.check()
        key = HeldKey.from_secret(label, bytes(secret))
        held = await self._find(name) or await self._store(key)
        if held != key:
            raise KeyNameTaken
        return held.public_key

    async def public_key(self, name: str) -> str:
        """See ``Custodian``. The box is opened, which detects a public key that another program wrote into the row."""
        return (await self._get(name)).public_key

    async def sign(self, name: str, message: bytes) -> bytes:
        return (await self._get(name)).sign(message)

    async def sign_bbs(self, name: str, header: bytes, messages: Sequence[bytes | int]) -> bytes:
        return await _signed(len(messages), partial((await self._get(name)).sign_bbs, header, messages))

    async def sign_bbs_blind(
        self, name: str, messages: Sequence[bytes | int], commitment: bytes, request: IssueRequest
    ) -> bytes:
        return await _signed(
            len(messages), partial((await self._get(name)).sign_bbs_blind, messages, commitment, request)
        )

    async def commit_holder(self, secret: str, credential: str, request: IssueRequest) -> bytes:
        with checked_names():
            return (await self._holder_secrets(secret)).commit(secret, credential, request)

    async def consent(
        self, secret: str, credentials: Sequence[str], message: bytes, pseudonym: str | None
    ) -> HolderConsent:
        with checked_names():
            return (await self._holder_secrets(secret)).consent(secret, credentials, message, pseudonym)

    async def holders_root(self) -> int:
        """See ``RenewingCustodian``."""
        with _translated():
            stored = await self._database.read(stored_seal)
            if stored is None or stored.generation != self._data_key.generation:
                await self._take_over()
        return len(self._data_key.roots)

    async def _holder_secrets(self, name: str) -> HolderSecrets:
        """Return the secrets of the generation that the name states, also after a resealing, because credentials are
        bound to them."""
        number = root_of(name)
        if number > len(self._data_key.roots) and number > await self.holders_root():
            raise KeyNotHeld
        root = self._data_key.roots[number - 1]
        if root not in self._secrets:
            self._secrets[root] = holder_secrets(root, self._random)
        return self._secrets[root]

    async def destroy(self, name: str) -> None:
        with _translated():
            await self._database.write(lambda transaction: self._deleted(transaction, name))
        self._held.forget(name)

    def reseal_now(self, *, compromised: bool) -> Resealed:
        """See ``ResealingCustodian``."""
        with _translated():
            return reseal(self._seal, compromised=compromised)

    async def attend(self) -> float:
        """See ``AttendedCustodian``."""
        with _translated():
            return await self._attendance.tell()

    async def close(self) -> None:
        """Erase the keys in memory and close the database."""
        self._held.clear()
        try:
            # A row that stays counts as the one of a process that crashed.
            with contextlib.suppress(DatabaseError):
                await self._attendance.leave()
        finally:
            await self._database.close()

    async def _get(self, name: str) -> HeldKey:
        held = await self._find(name)
        if held is None:
            raise KeyNotHeld
        return held

    async def _find(self, name: str) -> HeldKey | None:
        loop = asyncio.get_running_loop()
        if self._looked_in is not loop:
            # Once a turn of the loop: of all that signs in one, only the first asks the database.
            self._look()
            self._looked_in = loop
            loop.call_soon(self._end_turn)
        held = self._held.get(name)
        if held is not None:
            return held
        with _translated():
            row = await self._row(name)
        if row is None:
            return None
        key_type, did, purpose, public_key, box = row
        label = Label(name, key_type, did, purpose)
        try:
            secret = sealing.unseal(self._data_key.key, bytes(box), label.encode(public_key))
        except (sealing.BoxInvalid, UnicodeEncodeError) as error:
            raise PluginUnavailable("A sealed key cannot be opened: its row was changed.") from error
        return self._held.store(name, HeldKey.from_secret(label, secret))

    def _look(self) -> None:
        """Forget what is held when another process may have changed it."""
        with _translated():
            changes = self._database.foreign_changes()
        if changes is None:
            changes = int(self._clock.monotonic())
        if changes != self._seen:
            self._seen = changes
            self._held.clear()

    def _end_turn(self) -> None:
        self._looked_in = None

    async def _row(self, name: str) -> tuple[Any, ...] | None:
        """Return the row of the name, sealed under the current data key."""
        while True:
            read = await self._database.read(lambda transaction: transaction.execute(_BY_NAME, _named(name)).fetchone())
            if read is None:
                raise PluginUnavailable("The seal of the keys is gone.")
            generation, *row = read
            if row[0] is None:
                return None
            if generation == self._data_key.generation:
                return tuple(row)
            await self._take_over()

    async def _take_over(self) -> None:
        """Open the data key that is stored now, after another process sealed everything anew."""
        stored = await self._stored()
        while True:
            try:
                # To stretch a passphrase takes half a second.
                self._data_key = await asyncio.to_thread(self._seal.unsealed, stored)
                return
            except SealBroken as error:
                before, stored = stored, await self._stored()
                # Sealed anew once more meanwhile, under a master key that replaced the one it was looked for with.
                if stored != before:
                    continue
                self._seal.logger.error("the keys were sealed anew, and this process cannot open them: %s", error)
                raise PluginUnavailable("The keys were sealed anew under a master key that is not here.") from error

    async def _stored(self) -> StoredSeal:
        stored = await self._database.read(stored_seal)
        if stored is None:
            raise PluginUnavailable("The seal of the keys is gone.")
        return stored

    async def _store(self, key: HeldKey) -> HeldKey:
        """Return the key that is stored under the name: this one, or the one that was first."""
        label = key.label
        bound = label.encode(key.public_key)
        row = {
            "name": label.name,
            "key_type": label.key_type,
            "did": label.did,
            "purpose": label.purpose,
            "public_key": key.public_key,
        }
        with _translated():
            while True:
                under = self._data_key
                sealed = row | {"box": sealing.seal(under.key, key.secret, bound, random=self._random)}
                job = partial(self._inserted, row=sealed, generation=under.generation)
                inserted = await self._database.write(job)
                if inserted is not None:
                    break
                await self._take_over()
        if inserted:
            return self._held.store(label.name, key)
        return await self._get(label.name)

    def _inserted(self, transaction: Transaction, *, row: Mapping[str, object], generation: int) -> int | None:
        """Return how many rows; None where the data key that sealed it is no longer the one in use."""
        if generation_of(transaction, self._database.dialect) != generation:
            return None
        return transaction.execute(_INSERT, row).rowcount

    def _deleted(self, transaction: Transaction, name: str) -> int:
        generation_of(transaction, self._database.dialect)
        return transaction.execute(_DELETE, {"name": name}).rowcount


async def _signed(messages: int, sign: Callable[[], bytes]) -> bytes:
    """Return what ``sign`` does, from a thread where that takes so many messages that other requests would wait."""
    return await asyncio.to_thread(sign) if messages > MOST_ON_THE_LOOP else sign()


def _named(name: str) -> dict[str, object]:
    # PostgreSQL has no NUL in texts; no key has such a name either.
    return {"name": name.replace("\0", "\1")}


@contextmanager
def _translated() -> Iterator[None]:
    """Yield the database's errors as the port's."""
    try:
        yield
    except Overloaded:
        raise
    except DatabaseError as error:
        raise PluginUnavailable("The custodian's database is not available.") from error
