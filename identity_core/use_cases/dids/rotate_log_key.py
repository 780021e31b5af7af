"""The log of the service goes on under the next generation of its key, beside a running service and without a refused write.

First the service log says that the next key is the present one; every process reads that within a second, and signs with it from then on.
DIDs that did not change for more than a generation are handed on one by one, because they committed to no later key. When nothing that
the old key signed can still be on its way, the key leaves the custodian, and an entry of the service log retires it: from the size that
the tree has then, no reader takes an entry of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.domain.activity import OPERATOR, RequestContext
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import Change, Create, RetireLogKey, RotateLogKey
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.log.entry import signer_of
from identity_core.domain.dids.log.log_keys import LogKeys, key_hash
from identity_core.domain.dids.log.service_log import LogKeyHistory
from identity_core.errors import DidQuarantined, InvalidDocument, InvalidRequest
from identity_core.ports.anchoring import ServiceName
from identity_core.ports.did_method import PreRotatingDidMethod
from identity_core.ports.repositories import IndexRows
from identity_core.use_cases.dids.commit import TICK, DidWriter
from identity_core.use_cases.dids.log_keys import (
    FRESH_SECONDS,
    LOG_KEY,
    SERVICE_KEY,
    FollowServiceLog,
    SignedEntry,
    name_of,
    public_key,
)

SERVICE_METHOD: Final = "ids"
"""Its logs say what happened to a key, which those of did:webvh have no place for."""
PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Rotation:
    """What was done. ``generation`` is the present one, from 1; ``handed_on`` DIDs were moved by themselves; ``retired`` are the multikeys
    that count no more from ``tree_size`` on; ``waiting`` DIDs of before pre-rotation can only go on under a key that was not retired;
    ``late`` are DIDs of which such a key signed an entry that stands at or past that size, and that are refused for it."""

    service_did: str
    generation: int
    multikey: str
    next_key_hashes: tuple[str, ...]
    handed_on: int
    waiting: int
    retired: tuple[str, ...]
    tree_size: int | None
    late: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RotateServiceKey:
    """``method`` keeps the service log. ``settle_seconds`` is how long a signed entry may be on its way to the ledger."""

    writer: DidWriter
    follow: FollowServiceLog
    method: PreRotatingDidMethod
    tree: ServiceName
    rows: IndexRows
    sleep: Callable[[float], Awaitable[None]]
    settle_seconds: float

    async def __call__(
        self,
        *,
        compromised: bool = False,
        secret: bytes | None = None,
        next_hash: str | None = None,
        finish: bool = False,
    ) -> Rotation:
        """``secret``: the 32 octets of the next key, where only its hash was known here; ``next_hash``: that of the one after it, which is
        then not made here. ``finish``: a rotation that was broken off, or that left the old key for DIDs of before, is brought to its
        end, and none begins. Raises ``InvalidRequest`` for a key to which nothing is committed, and where there is none."""
        signer = self.writer.signer
        await self.follow.now()
        if finish:
            did = Did.parse(self._history.did)
        else:
            did = await self._service()
            await self._begin(did, secret, next_hash)
        # Every process has read the service log by then.
        await self.sleep(2 * FRESH_SECONDS)
        handed_on, waiting = await self._hand_on()
        retired: tuple[str, ...] = ()
        if compromised or not waiting:
            retired = await self._retire(did, compromised=compromised)
        sizes = [self._history.retired[key] for key in retired]
        late = await self._late(min(sizes), retired) if sizes else ()
        return Rotation(
            str(did),
            len(self._history.generations),
            signer.multikey,
            signer.next_key_hashes,
            handed_on,
            waiting,
            retired,
            min(sizes, default=None),
            late,
        )

    async def _begin(self, did: Did, secret: bytes | None, next_hash: str | None) -> None:
        generation = len(self._history.generations) + 1
        public = await self._next_key(generation, secret)
        following = next_hash or key_hash(await self._made(generation + 1))
        said = LogKeys((public,), (key_hash(public), following))
        await self._append(did, RotateLogKey(), name_of(generation), said)

    @property
    def _history(self) -> LogKeyHistory:
        if self.follow.history is None:
            raise InvalidRequest("The log key was never rotated: there is nothing to finish.")
        return self.follow.history

    async def _service(self) -> Did:
        """The service's own DID, whose log begins with the first rotation."""
        signer = self.writer.signer
        if self.follow.history is None:
            public = await signer.custodian.generate(SERVICE_KEY, multikey.ED25519, did="-", purpose=SERVICE_KEY)
            # Someone has to control a DID; no one signs in with this key.
            key = Key(multikey.ED25519, public, keys.default_purposes(multikey.ED25519, primary=True))
            signed = await signer.signed(self.method, None, Create((key,), ()), self.writer.clock.now())
            context = RequestContext("beginServiceLog", OPERATOR)
            version = await self.writer.append(None, signed, context, owner=None)
            await self.tree.begin_service(str(version.state.did))
            await self.follow.now()
        return Did.parse(self._history.did)

    async def _next_key(self, generation: int, secret: bytes | None) -> str:
        custodian, name = self.writer.signer.custodian, name_of(generation)
        if secret is not None:
            public = multikey.encode_public(multikey.ED25519, ed25519.generate(secret).public)
        elif (held := await public_key(custodian, name)) is not None:
            public = held
        else:
            raise InvalidRequest("Only the hash of the next key is known here: give the key itself.")
        if key_hash(public) not in self.writer.signer.next_key_hashes:
            raise InvalidRequest("This is not the key that the service log committed to.", details={"key": public})
        if secret is not None:
            await custodian.import_key(name, multikey.ED25519, secret, did="-", purpose=LOG_KEY)
        return public

    async def _made(self, generation: int) -> str:
        name = name_of(generation)
        return await self.writer.signer.custodian.generate(name, multikey.ED25519, did="-", purpose=LOG_KEY)

    async def _append(self, did: Did, change: Change, name: str, said: LogKeys | None = None) -> None:
        """An entry of the service log, by the key of that name."""
        standing = await self.writer.reader.active(did)
        state = standing.recorded.state
        public = await self.writer.signer.custodian.public_key(name)
        at = max(self.writer.clock.now(), state.updated_at + TICK)
        draft = self.method.draft(state, change, at, signer=public, next_keys=said)
        signature = await self.writer.signer.custodian.sign(name, draft.signing_input)
        await self.writer.append(state, SignedEntry(draft, signature), RequestContext("rotateLogKey", OPERATOR))
        await self.follow.now()

    async def _hand_on(self) -> tuple[int, int]:
        """Moves the DIDs that slept through a generation. How many, and how many need an older key that is not retired all the same."""
        present, handed_on, waiting, last = key_hash(self.writer.signer.multikey), 0, 0, ""
        older = {key for key in self._history.generations[:-1] if key not in self._history.retired}
        while names := await self.rows.dids(after=last, limit=PAGE):
            for name in names:
                head = await self.writer.index.head(name)
                if head is None or present in head.state.next_key_hashes:
                    continue
                if head.state.next_key_hashes and await self._moved(Did.parse(name)):
                    handed_on += 1
                else:
                    waiting += not older.isdisjoint(head.state.update_keys)
            last = names[-1]
        return handed_on, waiting

    async def _moved(self, did: Did) -> bool:
        """Whether the DID could be handed on: not one that is withheld, or committed to retired keys alone."""
        try:
            await self.writer.commit(did, RotateLogKey(), RequestContext("rotateLogKey", OPERATOR))
        except (DidQuarantined, InvalidDocument):
            return False
        return True

    async def _late(self, size: int, retired: tuple[str, ...]) -> tuple[str, ...]:
        """The DIDs of the entries of retired keys that came after all."""
        found, ledger = set(), self.writer.ledger
        while lines := await ledger.entries_after(size, PAGE):
            found |= {line.did for line in lines if signer_of(line.entry) in retired}
            size = lines[-1].receipt.sequence
        return tuple(sorted(found))

    async def _retire(self, did: Did, *, compromised: bool) -> tuple[str, ...]:
        signer, custodian = self.writer.signer, self.writer.signer.custodian
        old = [key for key in self._history.generations[:-1] if key not in self._history.retired]
        for number, key in enumerate(self._history.generations, 1):
            if key in old:
                await custodian.destroy(name_of(number))
        # What was signed before may still be on its way.
        await self.sleep(self.settle_seconds)
        size = (await self.writer.ledger.head()).sequence
        for key in old:
            await self._append(did, RetireLogKey(key, size, compromised), signer.name)
        return tuple(old)
