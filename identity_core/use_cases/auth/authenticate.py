"""The authentication of API keys and bearer tokens (openapi/DECISIONS.md §3.3).

The text of an API key is hashed at once. The answer of the stores is cached for two seconds, so that a busy key needs no look-up. A
write of this process removes it at once; another process sees a revocation after two seconds at the latest. Unknown, expired and revoked
keys take the same time and get the same answer. Bearer tokens: those of the service first, then those of other issuers, by plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from identity_codec.values import replace
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
    """A cache of the key stores' answers about digests, for ``LIFETIME_SECONDS``; a full cache evicts the oldest.

    Negative answers have a separate cache, so that a flood of guesses does not evict the keys that are in use.
    """

    def __init__(self, clock: Clock) -> None:
        self.writes = 0
        self._clock = clock
        self._found: BoundedCache[str, tuple[float, ApiKey]] = BoundedCache(CAPACITY)
        self._missing: BoundedCache[str, float] = BoundedCache(CAPACITY)

    def recall(self, digest: str) -> tuple[bool, ApiKey | None]:
        """Return whether the answer is cached, and the answer."""
        now = self._clock.monotonic()
        found = self._found.get(digest)
        if found is not None and now < found[0]:
            return True, found[1]
        until = self._missing.get(digest)
        return until is not None and now < until, None

    def has_been_good(self, digest: str) -> bool:
        """Return whether the stores had this digest at their last query, at any time."""
        return digest in self._found

    def learn(self, digest: str, key: ApiKey | None, *, writes: int) -> None:
        """Cache the answer of the stores. ``writes`` is the counter at the time of the query: an answer is not cached if this process
        has written since."""
        if writes != self.writes:
            return
        until = self._clock.monotonic() + LIFETIME_SECONDS
        self._drop(digest)
        if key is None:
            self._missing.store(digest, until)
        else:
            self._found.store(digest, (until, key))

    def forget(self, digest: str) -> None:
        """Remove the answer about ``digest``, which has just been written, so that the next query reads the stores."""
        self.writes += 1
        self._drop(digest)

    def _drop(self, digest: str) -> None:
        self._found.forget(digest)
        self._missing.forget(digest)


class AuthenticateApiKey(Struct, frozen=True):
    """The authentication by an API key. It queries ``stores`` in their order; the first one with the key decides. ``fingerprint`` returns
    the fingerprint of a digest."""

    stores: Sequence[KeyStore]
    known: ApiKeyCache
    clock: Clock
    fingerprint: Callable[[str], str]

    async def __call__(self, text: str) -> ApiKey:
        """Return the key. Raises ``AuthFailed``: when it is unknown, expired or revoked. Raises the error of a failed store: an outage
        is not a refusal, and a later store cannot answer for an earlier one."""
        if len(text) > key_text.MAX_LENGTH:
            raise AuthFailed
        return await self.by_digest(key_text.digest_of(text))

    async def by_digest(self, digest: str) -> ApiKey:
        """Return the key of an earlier known SHA-256, 64 hex digits, such as that of an access token. Raises as ``__call__``."""
        is_known, key = self.known.recall(digest)
        if not is_known:
            key = await self._ask(digest)
        if key is None or not key.usable(self.clock.now()):
            raise AuthFailed
        return key

    def has_been_good(self, text: str) -> bool:
        """Return whether the key was valid at its last look-up in this process; query no store. The HTTP server uses it to charge the
        rate limit of an unknown address before a guess reaches the stores."""
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
    """The access tokens that the service issues, provided by an extension.

    ``resource_metadata``: the URL of the metadata of the interface as a resource (RFC 9728).
    """

    resource_metadata: str

    def claims_to_be_ours(self, text: str) -> bool:
        """Return whether the text is a token that names the service as its issuer; nothing is verified."""

    def has_been_good(self, text: str) -> bool:
        """Return whether this process has verified the signature of this token before; nothing else is checked."""

    async def __call__(self, text: str, resource: str) -> Caller | None:
        """Return the caller, whose DID is active; None for a token of another issuer. Raises ``AuthFailed``.

        ``resource``: the path of the one resource that the token must be for, empty for the interface.
        """


class AuthenticateBearer(Struct, frozen=True):
    """The authentication by a bearer token. ``own`` returns the tokens of the service, None if it issues none. ``plugins`` verifies those
    of other issuers; it returns None if no plugin accepts the token."""

    reader: DidReader
    clock: Clock
    own: Callable[[], OwnTokens | None]
    plugins: Callable[[str, datetime], Caller | None]

    async def __call__(self, text: str, resource: str = "") -> Caller:
        """Return the caller, whose DID is active. With a ``resource``, only tokens of the service are valid.

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
