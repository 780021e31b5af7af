"""Rotation of the log key to its next generation, beside a running service and without a refused write.

First the service log states the next key as the current one. Every process reads that within a second, and signs with the new key
from then on. DIDs without a change for more than a generation are handed on one by one, at the requested rate, because they
committed to no later key. Each move is an entry of its own, so an interrupted rotation continues with the rest. When no entry of
the old key can still be under way, the key leaves the custodian, and an entry of the service log retires it. From the current tree
size on, no reader accepts an entry of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from identity_did_ids.service_log import LogKeyHistory
from msgspec import Struct

from identity_codec import ed25519, multikey
from identity_codec.strict_json import JsonValue
from identity_core.domain.activity import OPERATOR, RequestContext
from identity_core.domain.dids.changes import RetireLogKey, RotateLogKey
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.logs import LogKeys, key_hash, signer_of
from identity_core.errors import DidMethodNotSupported, DidQuarantined, InvalidDocument, InvalidRequest
from identity_core.ports.repositories import IndexRows
from identity_core.use_cases.dids.log_keys import LOG_KEY, name_of, public_key
from identity_transparency.use_cases.follow import FRESH_SECONDS, PAGE
from identity_transparency.use_cases.service_log import ServiceLog

HANDED_ON_PER_SECOND: Final = 100.0
"""Leaves the ledger to the service: each is a durable append."""


class Rotation(Struct, frozen=True):
    """The result of a rotation.

    - ``generation``: the current generation, from 1.
    - ``handed_on``: how many DIDs were moved to it without a change.
    - ``retired``: the multikeys whose entries are invalid from ``tree_size`` on.
    - ``waiting``: DIDs from before pre-rotation, which need a key that was therefore not retired.
    - ``late``: DIDs of which such a key signed an entry at or past that size. These are refused.
    """

    service_did: str
    generation: int
    multikey: str
    next_key_hashes: tuple[str, ...]
    handed_on: int
    waiting: int
    retired: tuple[str, ...]
    tree_size: int | None
    late: tuple[str, ...]


class RotateServiceKey(Struct, frozen=True):
    """The rotation of the log key. ``settle_seconds``: how long a signed entry may take to reach the ledger."""

    log: ServiceLog
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
        per_second: float = HANDED_ON_PER_SECOND,
    ) -> Rotation:
        """Rotate the log key.

        - ``secret``: the 32 bytes of the next key, if only its hash was known here.
        - ``next_hash``: the hash of the key after that, which is then not made here.
        - ``finish``: complete an interrupted rotation, or one that left the old key for older DIDs; do not begin a new one.
        - ``per_second``: the most DIDs that are handed on per second.

        Raises ``InvalidRequest``: for a key without a commitment, and when there is none. Raises ``DidMethodNotSupported``: when
        DIDs have a method that cannot hand them on.
        """
        signer = self.log.writer.signer
        await self._require_methods()
        await self.log.follow.now()
        if finish:
            if self.log.follow.history is None:
                raise InvalidRequest("The log key was never rotated: there is nothing to finish.")
            did = Did.parse(self._history.did)
        else:
            did = await self.log.begun()
            await self._begin(did, secret, next_hash)
        # Every process has read the service log by then.
        await self.sleep(2 * FRESH_SECONDS)
        handed_on, waiting = await self._hand_on(1 / per_second)
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

    async def _require_methods(self) -> None:
        """Require the method of every DID before the rotation begins, because a DID that is not handed on cannot change once its
        key is retired."""
        missing, last = list[JsonValue](), ""
        # The DIDs of a method stand together, and ";" is what follows ":".
        while names := await self.rows.dids(after=last, limit=1):
            method = Did.parse(names[0]).method
            if method not in self.log.writer.methods:
                missing.append(method)
            last = f"did:{method};"
        if missing:
            raise DidMethodNotSupported(
                f"There are DIDs of methods that are not installed or not set up here: {', '.join(map(str, missing))}. Give this command "
                "the settings and plugins of the service, such as plugins.webvh.host.",
                details={"methods": missing},
            )

    async def _begin(self, did: Did, secret: bytes | None, next_hash: str | None) -> None:
        generation = len(self._history.generations) + 1
        public = await self._next_key(generation, secret)
        following = next_hash or key_hash(await self._generate(generation + 1))
        said = LogKeys((public,), (key_hash(public), following))
        await self.log.append(did, RotateLogKey(), name_of(generation), said)

    @property
    def _history(self) -> LogKeyHistory:
        return self.log.history

    async def _next_key(self, generation: int, secret: bytes | None) -> str:
        custodian, name = self.log.writer.signer.custodian, name_of(generation)
        if secret is not None:
            public = multikey.encode_public(multikey.ED25519, ed25519.generate(secret).public)
        elif (held := await public_key(custodian, name)) is not None:
            public = held
        else:
            raise InvalidRequest("Only the hash of the next key is known here: give the key itself.")
        if key_hash(public) not in self.log.writer.signer.next_key_hashes:
            raise InvalidRequest("This is not the key that the service log committed to.", details={"key": public})
        if secret is not None:
            await custodian.import_key(name, multikey.ED25519, secret, did="-", purpose=LOG_KEY)
        return public

    async def _generate(self, generation: int) -> str:
        name = name_of(generation)
        return await self.log.writer.signer.custodian.generate(name, multikey.ED25519, did="-", purpose=LOG_KEY)

    async def _hand_on(self, pause: float) -> tuple[int, int]:
        """Hand on the DIDs that did not change for a generation, with a ``pause`` in seconds after each. Return how many, and how
        many still need an older key that is not retired."""
        present, handed_on, waiting, last = key_hash(self.log.writer.signer.multikey), 0, 0, ""
        older = {key for key in self._history.generations[:-1] if key not in self._history.retired}
        while names := await self.rows.dids(after=last, limit=PAGE):
            for name in names:
                head = await self.log.writer.reader.recorded(Did.parse(name))
                if head is None or present in head.state.next_key_hashes:
                    continue
                if head.state.next_key_hashes and await self._moved(Did.parse(name)):
                    handed_on += 1
                    await self.sleep(pause)
                else:
                    waiting += not older.isdisjoint(head.state.update_keys)
            last = names[-1]
        return handed_on, waiting

    async def _moved(self, did: Did) -> bool:
        """Return whether the DID was handed on. A withheld DID, or one committed to retired keys alone, cannot be."""
        try:
            await self.log.writer.commit(did, RotateLogKey(), RequestContext("rotateLogKey", OPERATOR))
        except (DidQuarantined, InvalidDocument):
            return False
        return True

    async def _late(self, size: int, retired: tuple[str, ...]) -> tuple[str, ...]:
        """Return the DIDs with late entries of retired keys."""
        found, ledger = set(), self.log.writer.ledger
        while lines := await ledger.entries_after(size, PAGE):
            found |= {line.did for line in lines if signer_of(line.entry) in retired}
            size = lines[-1].receipt.sequence
        return tuple(sorted(found))

    async def _retire(self, did: Did, *, compromised: bool) -> tuple[str, ...]:
        signer, custodian = self.log.writer.signer, self.log.writer.signer.custodian
        old = [key for key in self._history.generations[:-1] if key not in self._history.retired]
        for number, key in enumerate(self._history.generations, 1):
            if key in old:
                await custodian.destroy(name_of(number))
        # What was signed before may still be on its way.
        await self.sleep(self.settle_seconds)
        size = (await self.log.writer.ledger.head()).sequence
        for key in old:
            await self.log.append(did, RetireLogKey(key, size, compromised), signer.name)
        return tuple(old)
