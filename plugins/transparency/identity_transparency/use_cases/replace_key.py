"""Replacement of the key that signs access tokens, or checkpoints, beside a running service and without a refused request.

First the custodian makes the new key. Then the service log lists it. That one entry is the whole replacement: every process reads
it within a second and continues. A crash before the entry changes nothing, and the next attempt uses the key that was made.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from identity_did_ids.service_keys import TYPE, Replacement, newest, of_use, since_theft
from msgspec import Struct

from identity_codec import multikey
from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_transparency.use_cases.follow import FRESH_SECONDS
from identity_transparency.use_cases.service_log import ServiceLog

NONCE_BYTES: Final = 32
MOST_LISTED: Final = 16
"""So many service entries the document keeps; its log has the others."""


class ReplacedKey(Struct, frozen=True):
    """The result of a replacement: ``multikey``, with this ``number``, signs instead of ``replaces``. ``destroyed`` are the numbers
    of earlier keys that left the custodian."""

    service_did: str
    number: int
    multikey: str
    replaces: str
    tree_size: int
    compromised: bool
    destroyed: tuple[int, ...]


class ReplaceServiceKey(Struct, frozen=True):
    """The replacement of a key of the service.

    - ``use``: one of ``service_keys.USES``.
    - ``name_of``: returns the name in the custodian of the key with a number.
    - ``first``: the lowest possible number of the current key.
    - ``ahead``: how many of the next keys are made before they are needed.
    - ``keep``: how long signatures of a replaced key are valid. The next replacement after that destroys the key.
    """

    log: ServiceLog
    use: str
    name_of: Callable[[int], str]
    first: int
    ahead: int
    keep: timedelta
    succession: Callable[[Replacement], Awaitable[bytes | None]]
    """What the keys of a replacement say of each other, for those who keep what the old one signed."""
    random: Callable[[int], bytes] = secrets.token_bytes
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __call__(self, *, compromised: bool = False) -> ReplacedKey:
        """Replace the present key. ``compromised``: signatures of the old key and of those before it become invalid, and these keys
        are destroyed. Raises as a change of a DID and the custodian do."""
        log = self.log
        await log.follow.now()
        did = await log.begun()
        before = newest(log.history.replaced, self.use)
        number = max(self.first, 1 if before is None else before.number) + 1
        old, new = [await self._generate(each) for each in (number - 1, number)]
        for ahead in range(number + 1, number + 1 + self.ahead):
            await self._generate(ahead)
        size = (await log.writer.ledger.head()).sequence
        wanted = Replacement(self.use, number, new, old, size, compromised, log.writer.clock.now())
        wanted = replace(wanted, succession=await self.succession(wanted))
        await log.update(did, [*await self._crowded_out(), _added(wanted)], self.random(NONCE_BYTES))
        # Every process has read the service log by then.
        await self.sleep(2 * FRESH_SECONDS)
        return ReplacedKey(str(did), number, new, old, size, compromised, await self._destroy_past())

    async def _generate(self, number: int) -> str:
        name = self.name_of(number)
        return await self.log.writer.signer.custodian.generate(name, multikey.ED25519, did="-", purpose=self.use)

    async def _crowded_out(self) -> list[JsonValue]:
        """Return the operations that take the oldest entries out of the document if it is full."""
        standing = await self.log.writer.reader.active(await self.log.begun())
        listed = [one.fragment for one in standing.recorded.state.document.services if one.type == TYPE]
        return [
            {"operation": "removeService", "serviceId": name}
            for name in listed[: max(0, len(listed) + 1 - MOST_LISTED)]
        ]

    async def _destroy_past(self) -> tuple[int, ...]:
        """Destroy the keys in the custodian whose signatures are no longer valid."""
        custodian, now = self.log.writer.signer.custodian, self.log.writer.clock.now()
        mine = of_use(self.log.history.replaced, self.use)
        kept = since_theft(mine)
        past = [one.number - 1 for one in mine if one not in kept or one.at + self.keep < now]
        for number in past:
            await custodian.destroy(self.name_of(number))
        return tuple(past)


def _added(one: Replacement) -> JsonValue:
    return {"operation": "addService", "service": {"id": one.fragment, "type": TYPE, "serviceEndpoint": one.endpoint}}


async def no_succession(_: Replacement) -> None:
    """Return no note, because the signatures of these keys are not stored."""
