"""The keys that sign access tokens: Ed25519 keys ``token-1``, ``token-2``, … that never leave the custodian.

The one in use has a number (setting ``token.key_number``, and ``identity keys rotate token``, which the service log keeps). The
next key is published before it signs, so readers with a cached JWK Set know it already. The one before verifies until its last
token has expired, so a replacement signs no user out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from identity_did_ids.service_keys import TOKEN, Replacement, of_use, since_theft, token_key_name
from identity_did_ids.service_log import LogKeyHistory
from msgspec import Struct, field

from identity_codec import multibase, multikey
from identity_codec.jose import JoseKey
from identity_codec.strict_json import JsonValue
from identity_codec.structs import convert
from identity_codec.values import Hidden
from identity_core.errors import PluginUnavailable, StorageMismatch
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_oauth.domain import tokens as token
from identity_oauth.wire import Jwk, JwkSet

SEAL_KEY: Final = "token-seal"
_PURPOSE: Final = "token"


class VerificationKey(Struct, frozen=True):
    """A key that verifies tokens; ``kid`` is its RFC 7638 thumbprint."""

    kid: str
    key: JoseKey

    @classmethod
    def of_multikey(cls, text: str) -> VerificationKey:
        """Return the key of a multikey of the custodian."""
        key = JoseKey(*multikey.decode_public(text))
        return cls(key.thumbprint, key)

    @property
    def jwk(self) -> dict[str, JsonValue]:
        """Its entry in a JWK Set."""
        return {**self.key.jwk, "use": "sig", "alg": token.ALGORITHMS[0], "kid": self.kid}


async def _nothing_to_read() -> None:
    """Read nothing: no process replaces keys here."""


class TokenKeys(Hidden, Struct):
    """The keys of access tokens.

    - ``number``, ``name``, ``signing``: number, name in the custodian and public half of the key in use.
    - ``known``: all keys that verify now, by ``kid``, the one in use first.
    - ``seal``: the 32-byte secret under which tokens name their API keys.
    - ``renew``: reads the replacement of a key that the custodian no longer holds.
    """

    custodian: Custodian
    clock: Clock
    lifetime_seconds: int
    number: int
    seal: bytes
    renew: Callable[[], Awaitable[None]] = _nothing_to_read
    _keys: tuple[VerificationKey, ...] = ()
    _before: Mapping[datetime, VerificationKey] = field(default_factory=dict)

    @classmethod
    async def open(
        cls, custodian: Custodian, number: int, clock: Clock, lifetime: int, replaced: Sequence[Replacement] = ()
    ) -> TokenKeys:
        """Return the keys; the custodian makes missing ones.

        - ``number``: the lowest number of the key in use, from 1.
        - ``lifetime``: the lifetime of a token in seconds.
        - ``replaced``: the replacements that the service log lists.
        """
        await custodian.generate(SEAL_KEY, multikey.ED25519, did="-", purpose=_PURPOSE)
        # Ed25519 is deterministic: all processes derive the same secret, and the key itself never leaves the custodian.
        signature = await custodian.sign(SEAL_KEY, b"identity: API keys in access tokens, v1")
        keys = cls(custodian, clock, lifetime, number, hashlib.sha256(signature).digest())
        await keys.follow(replaced)
        return keys

    async def hear(self, history: LogKeyHistory) -> None:
        """Take over the keys that the service log lists."""
        await self.follow(history.replaced)

    async def follow(self, replacements: Sequence[Replacement]) -> None:
        """Continue with the newest of ``replacements``, unless it is past already. Raises ``StorageMismatch`` if the custodian holds
        another
        key instead of one.
        """
        mine = of_use(replacements, TOKEN)
        last = mine[-1] if mine else None
        number = self.number if last is None else max(self.number, last.number)
        publics = [await self._generate(each) for each in (number, number + 1)]
        if last is not None and number == last.number:
            if publics[0] != last.multikey:
                raise StorageMismatch("The service log is not of the token keys that the custodian holds.")
            keep = timedelta(seconds=self.lifetime_seconds + token.LEEWAY_SECONDS)
            before = {one.at + keep: VerificationKey.of_multikey(one.replaces) for one in since_theft(mine)}
        else:
            # The change of the setting replaced it, and the time was not recorded.
            before = {} if number == 1 else {_NEVER: VerificationKey.of_multikey(await self._generate(number - 1))}
        self.number, self._keys, self._before = number, tuple(map(VerificationKey.of_multikey, publics)), before

    async def _generate(self, number: int) -> str:
        return await self.custodian.generate(token_key_name(number), multikey.ED25519, did="-", purpose=_PURPOSE)

    @property
    def name(self) -> str:
        return token_key_name(self.number)

    @property
    def signing(self) -> VerificationKey:
        return self._keys[0]

    @property
    def verification_keys(self) -> Mapping[str, VerificationKey]:
        now = self.clock.now()
        # The one in use comes first: some readers of a JWK Set take the first key that they can use.
        return {key.kid: key for key in (*self._keys, *(key for end, key in self._before.items() if now < end))}

    async def signed(self, signing_input: Callable[[str], str]) -> str:
        """Return the compact JWS of the input that ``signing_input`` makes for a ``kid``. Raises what the custodian raises."""
        try:
            return await self._signed(signing_input)
        except KeyNotHeld:
            # Another process has replaced the key a moment ago, and it is gone.
            await self.renew()
        try:
            return await self._signed(signing_input)
        except KeyNotHeld as error:
            raise PluginUnavailable("The custodian does not hold the key of tokens.") from error

    async def _signed(self, signing_input: Callable[[str], str]) -> str:
        text = signing_input(self.signing.kid)
        signature = await self.custodian.sign(self.name, text.encode("ascii"))
        return f"{text}.{multibase.base64url_encode(signature)}"


_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class GetJwks(Struct, frozen=True):
    """The public keys that verify tokens as a JWK Set (RFC 7517 §5), the one in use first."""

    keys: TokenKeys

    async def __call__(self) -> JwkSet:
        return JwkSet(keys=tuple(convert(key.jwk, Jwk) for key in self.keys.verification_keys.values()))
