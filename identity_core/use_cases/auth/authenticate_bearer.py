"""From a bearer token to a caller: our own tokens first, then the plugins that know others'.

A token is only as alive as what it was obtained by: it ends with the API key that asked for it, with the DID, and with
the DID's key that signed for it, so that a recovery also ends what a thief has fetched in time.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from identity_core.cache import BoundedCache
from identity_core.crypto.jws import JwsSignatureInvalid, VerificationKey
from identity_core.domain import history, token
from identity_core.domain.caller import ApiKey, Caller
from identity_core.domain.did import Did
from identity_core.domain.history import DidState
from identity_core.domain.token import AccessToken, Envelope
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, Forbidden, InvalidDid
from identity_core.ports.clock import Clock
from identity_core.use_cases.api_keys.authenticate import AuthenticateApiKey
from identity_core.use_cases.auth.issue_token import OPERATE
from identity_core.use_cases.auth.token_keys import TokenKeys
from identity_core.use_cases.dids.reader import DidReader

GENUINE_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class AuthenticateBearer:
    """``plugins`` is asked about tokens of other issuers; its None means that no plugin knows the token.

    ``genuine`` are tokens whose signature was found good, by the SHA-256 of their text: an agent shows one token for minutes, and
    that its key once made the signature does not change. Everything else about a token is asked anew each time.
    """

    reader: DidReader
    api_keys: AuthenticateApiKey
    keys: TokenKeys
    clock: Clock
    plugins: Callable[[str, datetime], Caller | None]
    issuer: str
    genuine: BoundedCache[bytes, Envelope] = field(default_factory=lambda: BoundedCache(GENUINE_KEPT), repr=False)

    async def __call__(self, text: str) -> Caller:
        """The caller, alive. Raises ``AuthFailed``, or ``PluginUnavailable`` when a plugin that may know the token broke."""
        now = self.clock.now()
        envelope = self._own(text)
        if envelope is not None:
            return await self._caller(self._verified(text, envelope, now), now)
        caller = self.plugins(text, now)
        if caller is None:
            raise AuthFailed
        if caller.subject is not None:
            await self._alive(caller.subject)
        return caller

    def claims_to_be_ours(self, text: str) -> bool:
        """Whether the text is a JWT that names us as its issuer; nothing is verified."""
        return self._own(text) is not None

    def has_been_good(self, text: str) -> bool:
        """Whether this process has found the signature of this token good before; nothing else is asked."""
        return self.claims_to_be_ours(text) and _digest(text) in self.genuine

    def _own(self, text: str) -> Envelope | None:
        try:
            envelope = self.genuine.get(_digest(text)) or Envelope.open(text)
        except ValueError:
            return None
        return envelope if envelope.claims.get("iss") == self.issuer else None

    def _verified(self, text: str, envelope: Envelope, now: datetime) -> AccessToken:
        try:
            key = self.keys.known.get(envelope.key_id())
            if key is None:
                raise ValueError("the kid is none of our keys")
            self._check_signature(key, text, envelope)
            return envelope.read(self.issuer, now)
        except (ValueError, JwsSignatureInvalid) as error:
            raise AuthFailed from error

    def _check_signature(self, key: VerificationKey, text: str, envelope: Envelope) -> None:
        digest = _digest(text)
        if digest in self.genuine:
            return
        key.verify(text)
        self.genuine.put(digest, envelope)

    async def _caller(self, found: AccessToken, now: datetime) -> Caller:
        try:
            if found.client.startswith(token.API_KEY):
                return await self._key_caller(found)
            did = Did.parse(found.subject)
            state = (await self.reader.caller(did)).head.state
            if found.key not in history.authentication_keys(state, now):
                raise AuthFailed
        except (ValueError, InvalidDid, DidNotFound, DidDeactivated, Forbidden) as error:
            raise AuthFailed from error
        return Caller(subject=did, scopes=found.scopes)

    async def _key_caller(self, found: AccessToken) -> Caller:
        """The API key as it is now, with no more rights than it has now and the token says."""
        digest = token.unseal_key(self.keys.seal, found.key, found.identifier)
        key = await self.api_keys.by_digest(digest)
        narrowed = _narrowed(key, found.scopes)
        if found.subject == found.client:
            return Caller(api_key=narrowed)
        did = Did.parse(found.subject)
        key.require_scope(OPERATE)
        key.require_target(did)
        await self._alive(did)
        return Caller(subject=did, operator=narrowed, scopes=narrowed.scopes)

    async def _alive(self, did: Did) -> DidState:
        try:
            return (await self.reader.active(did)).head.state
        except (InvalidDid, DidNotFound, DidDeactivated) as error:
            raise AuthFailed from error


def _digest(text: str) -> bytes:
    """Raises ``ValueError`` for what is no ASCII, and so no token."""
    return hashlib.sha256(text.encode("ascii")).digest()


def _narrowed(key: ApiKey, scopes: frozenset[str] | None) -> ApiKey:
    if scopes is None:
        return key
    return dataclasses.replace(key, scopes=scopes if key.scopes is None else scopes & key.scopes)
