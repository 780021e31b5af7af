"""The authentication of API keys and bearer tokens (openapi/DECISIONS.md §3.3).

The text of an API key is hashed at once. The answer of the stores is remembered for two seconds, so that a busy key costs no look-up. A
write of this process forgets it at once; another process sees a revocation after two seconds at the latest. Unknown, expired and revoked
keys take the same time and get the same answer. Bearer tokens: those of the service first, then those of other issuers, by plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from identity_codec.values import value_class
from identity_core.cache import BoundedCache
from identity_core.domain import callers as key_text
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, InvalidDid
from identity_core.ports.clock import Clock
from identity_core.ports.key_store import KeyStore
from identity_core.use_cases.dids.index import DidReader

LIFETIME_SECONDS = 2.0
CAPACITY = 10_000


class ApiKeyCache:
    """The answers of the key stores about digests, cached for ``LIFETIME_SECONDS``; a full cache drops the oldest.

    Negative answers are kept apart, so that a flood of guesses does not push out the keys that are in use.
    """

    def __init__(self, clock: Clock) -> None:
        self.writes = 0
        self._clock = clock
        self._found: BoundedCache[str, tuple[float, ApiKey]] = BoundedCache(CAPACITY)
        self._missing: BoundedCache[str, float] = BoundedCache(CAPACITY)

    def recall(self, digest: str) -> tuple[bool, ApiKey | None]:
        """Whether the answer is known, and the answer."""
        now = self._clock.monotonic()
        found = self._found.get(digest)
        if found is not None and now < found[0]:
            return True, found[1]
        until = self._missing.get(digest)
        return until is not None and now < until, None

    def has_been_good(self, digest: str) -> bool:
        """Whether the stores knew this digest when they were asked last, however long ago."""
        return digest in self._found

    def learn(self, digest: str, key: ApiKey | None, *, writes: int) -> None:
        """Remembers what the stores said. ``writes`` is the counter as it stood when they were asked: an answer that a
        write of ours has overtaken is not worth remembering."""
        if writes != self.writes:
            return
        until = self._clock.monotonic() + LIFETIME_SECONDS
        self._drop(digest)
        if key is None:
            self._missing.put(digest, until)
        else:
            self._found.put(digest, (until, key))

    def forget(self, digest: str) -> None:
        """The next question about ``digest`` goes to the stores: it has just been written."""
        self.writes += 1
        self._drop(digest)

    def _drop(self, digest: str) -> None:
        self._found.forget(digest)
        self._missing.forget(digest)


@value_class
class AuthenticateApiKey:
    """Asks ``stores`` in their order; the first that knows the key decides. ``fingerprint`` makes that of a digest."""

    stores: Sequence[KeyStore]
    known: ApiKeyCache
    clock: Clock
    fingerprint: Callable[[str], str]

    async def __call__(self, text: str) -> ApiKey:
        """The key. Raises ``AuthFailed`` for one that is unknown, expired or revoked. A store that fails raises what it
        raises: an outage is no refusal, and a later store cannot speak for an earlier one."""
        if len(text) > key_text.MAX_LENGTH:
            raise AuthFailed
        return await self.by_digest(key_text.digest_of(text))

    async def by_digest(self, digest: str) -> ApiKey:
        """The same for a key that was known before by its SHA-256, 64 hex digits: that of an access token."""
        is_known, key = self.known.recall(digest)
        if not is_known:
            key = await self._ask(digest)
        if key is None or not key.usable(self.clock.now()):
            raise AuthFailed
        return key

    def has_been_good(self, text: str) -> bool:
        """Whether this process knows the key as one that was good when it was last looked up: no store is asked. For an edge that
        has a stranger's address pay before a guess reaches the stores."""
        return len(text) <= key_text.MAX_LENGTH and self.known.has_been_good(key_text.digest_of(text))

    async def _ask(self, digest: str) -> ApiKey | None:
        writes = self.known.writes
        for store in self.stores:
            key = await store.find(digest)
            if key is not None:
                key = replace(key, fingerprint=self.fingerprint(digest))
                break
        else:
            key = None
        self.known.learn(digest, key, writes=writes)
        return key


class OwnTokens(Protocol):
    """The access tokens that the service issues. An extension provides it as a service.

    ``resource_metadata``: the URL of the metadata of the interface as a resource (RFC 9728).
    """

    resource_metadata: str

    def claims_to_be_ours(self, text: str) -> bool:
        """Return whether the text is a token that names the service as its issuer; nothing is verified."""

    def has_been_good(self, text: str) -> bool:
        """Return whether this process has found the signature of this token good before; nothing else is checked."""

    async def __call__(self, text: str, resource: str) -> Caller | None:
        """Return the caller, alive; None for a token of another issuer. Raises ``AuthFailed``.

        ``resource``: the path of the one resource that the token must be for, empty for the interface.
        """


@value_class
class AuthenticateBearer:
    """``own`` returns the tokens of the service, None if it issues none. ``plugins`` verifies those of other issuers, None for one that
    no plugin knows."""

    reader: DidReader
    clock: Clock
    own: Callable[[], OwnTokens | None]
    plugins: Callable[[str, datetime], Caller | None]

    async def __call__(self, text: str, resource: str = "") -> Caller:
        """Return the caller, alive. Where a ``resource`` is named, only tokens of the service are good.

        Raises ``AuthFailed``. Raises ``PluginUnavailable``: when a plugin that may know the token fails.
        """
        own = self.own()
        caller = None if own is None else await own(text, resource)
        if caller is None and not resource:
            caller = self.plugins(text, self.clock.now())
            if caller is not None and caller.subject is not None:
                await alive(self.reader, caller.subject)
        if caller is None:
            raise AuthFailed
        return caller


async def alive(reader: DidReader, did: Did) -> None:
    """Raise ``AuthFailed``: when the DID is unknown, malformed or deactivated."""
    try:
        await reader.active(did)
    except (InvalidDid, DidNotFound, DidDeactivated) as error:
        raise AuthFailed from error
