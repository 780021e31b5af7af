"""The choice of the bucket that a request consumes, and the headers of its answer (openapi/DECISIONS.md §3.6).

An API key has a bucket with its own rate and burst, and so has an authenticated DID. An unauthenticated client uses
the bucket of its address, an IPv6 address by its /64, because a household has 2^64 of them. The challenge endpoint
uses a smaller bucket of the address. Entries of ``X-Forwarded-For`` count only if a configured proxy wrote them.

The header fields follow draft-ietf-httpapi-ratelimit-headers (the text of draft 10), whose parameters have moved
between drafts: ``limit_fields`` is the only place that uses them. Clients should rely on ``Retry-After``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from math import ceil
from typing import Final, Literal

from limits.aio.storage.base import Storage
from limits.aio.strategies import RateLimiter
from limits.limits import RateLimitItem
from limits.util import WindowStats
from msgspec import Struct, structs

from identity_core.domain.callers import ApiKey
from identity_core.errors import RateLimited
from identity_core.settings.server import UNIX
from identity_core.throttle.memory import Decision, TokenBucketStorage

Headers = list[tuple[str, str]]
Network = IPv4Network | IPv6Network | Literal["unix"]
"""A trusted source of ``X-Forwarded-For``: an IP network, or ``unix`` for the peer on a Unix socket, which has no address."""

# One bucket for all callers whose address is unknown, as on a Unix socket without a proxy.
_NO_ADDRESS = "unknown"


class Limit(Struct, frozen=True):
    """A bucket: its public name, ``rate`` in requests per second, ``burst``. Raises ``ValueError``: for a limit that
    allows nothing."""

    name: str
    rate: float
    burst: int
    field: str = ""

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.burst >= 1):
            raise ValueError(f"the limit {self.name!r} must have a rate above 0 and a burst of at least 1")
        # A full bucket as the quota, and the time that fills it as the window: the draft has no other parameter for a
        # burst.
        window = max(1, ceil(self.burst / self.rate))
        structs.force_setattr(self, "field", f'"{self.name}";q={self.burst};w={window}')


REMEDY: Final = "Wait, or send X-API-Key: a key that this service has accepted before pays from its own bucket."


class BucketEmpty(RateLimited):
    """A refusal that also carries the header fields of its bucket."""

    def __init__(self, limit: Limit, decision: Decision) -> None:
        super().__init__(details={"retryAfter": max(1, ceil(decision.retry_after_seconds))})
        if limit.name == "challenge":
            self.details["remedy"] = REMEDY
        self.headers: Headers = limit_fields(limit, decision)


def limit_fields(limit: Limit, decision: Decision) -> Headers:
    """Return ``RateLimit-Policy`` and ``RateLimit``: the quota and its window; the remaining tokens, and the seconds
    until there are more."""
    wait = decision.reset_after_seconds - (limit.burst - decision.remaining - 1) / limit.rate
    return [
        ("RateLimit-Policy", limit.field),
        ("RateLimit", f'"{limit.name}";r={decision.remaining};t={ceil(wait) if wait > 0 else 0}'),
    ]


class TokenBucketRateLimiter(RateLimiter):
    """The strategy of ``limits`` for token buckets. The server calls ``spend``; the other methods are those of every
    strategy."""

    def __init__(self, storage: Storage) -> None:
        if not isinstance(storage, TokenBucketStorage):
            raise NotImplementedError(f"the storage {type(storage).__name__} keeps no token buckets")
        super().__init__(storage)
        self._buckets: TokenBucketStorage = storage

    async def spend(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        """Take ``cost`` tokens from the bucket ``key``, without waiting if it is on this machine. Raises
        ``ValueError``: as the storage."""
        decision = self._buckets.spend_at_once(key, rate, burst, cost)
        return await self._buckets.acquire_token_bucket(key, rate, burst, cost) if decision is None else decision

    async def hit(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        """Take ``cost`` tokens if the bucket has them, and return whether it had. The burst is the amount of the
        item, as for windows."""
        return cost <= item.amount and (await self._spend(item, identifiers, cost)).allowed

    async def test(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        """Return whether ``hit`` would pass now."""
        return cost <= (await self._spend(item, identifiers, 0)).remaining

    async def get_window_stats(self, item: RateLimitItem, *identifiers: str) -> WindowStats:
        """Return when the bucket is full again (seconds since the epoch), and the tokens that it has now."""
        seen = await self._spend(item, identifiers, 0)
        return WindowStats(time.time() + seen.reset_after_seconds, seen.remaining)

    async def _spend(self, item: RateLimitItem, identifiers: tuple[str, ...], cost: int) -> Decision:
        return await self.spend(item.key_for(*identifiers), item.amount / item.get_expiry(), item.amount, cost)


class Policy(Struct, frozen=True):
    """The four kinds of bucket. ``key`` is for API keys without their own rate or burst."""

    limiter: TokenBucketRateLimiter
    key: Limit = Limit("key", 100.0, 200)
    address: Limit = Limit("address", 50.0, 100)
    challenge: Limit = Limit("challenge", 5.0, 20)
    did: Limit = Limit("did", 100.0, 200)

    async def spend_key(self, key: ApiKey, tokens: int = 1) -> Headers:
        """Take tokens from the key's bucket, at most a full one. Raises ``RateLimited``: with ``details.retryAfter``
        in whole seconds."""
        # The old and the new key of a rotation are one caller and share one bucket, as long as they have one limit.
        name = f"key:{key.lineage or key.id}"
        if key.requests_per_second is None and key.burst is None:
            return await self._spend(name, self.key, tokens)
        limit = _own_limit(key.requests_per_second, key.burst, self.key)
        return await self._spend(f"{name}:{limit.rate}:{limit.burst}", limit, tokens)

    async def spend_address(self, address: str | None, tokens: int = 1) -> Headers:
        """Take tokens from the bucket of an unauthenticated client's address, at most a full one. Raises
        ``RateLimited``: when it has too few."""
        return await self._spend(f"address:{bucket_address(address)}", self.address, tokens)

    async def require_address(self, address: str | None, tokens: int) -> Headers:
        """Raise ``RateLimited`` when the bucket of the address has fewer tokens. Takes none."""
        limit, name, cost = self.address, f"address:{bucket_address(address)}", min(tokens, self.address.burst)
        found = await self.limiter.spend(name, limit.rate, limit.burst, 0)
        if found.remaining < cost:
            wait = found.reset_after_seconds + (cost - limit.burst) / limit.rate
            raise BucketEmpty(limit, Decision(False, found.remaining, wait, found.reset_after_seconds))
        return []

    async def spend_did(self, account: str, tokens: int = 1) -> Headers:
        """Take tokens from the bucket of an authenticated DID (``Caller.account``), from any address. Raises
        ``RateLimited``: when it has too few."""
        return await self._spend(account, self.did, tokens)

    async def spend_challenge(self, address: str | None) -> Headers:
        """Take one token from the address's bucket for challenges. Raises ``RateLimited``: when it is empty."""
        return await self._spend(f"challenge:{bucket_address(address)}", self.challenge)

    async def _spend(self, name: str, limit: Limit, tokens: int = 1) -> Headers:
        decision = await self.limiter.spend(name, limit.rate, limit.burst, min(tokens, limit.burst))
        if not decision.allowed:
            raise BucketEmpty(limit, decision)
        return limit_fields(limit, decision)


@lru_cache(maxsize=4096)
def _own_limit(rate: float | None, burst: int | None, default: Limit) -> Limit:
    # A key from a version without a minimum rate; a window has at most 15 digits (RFC 9651, integers).
    own_rate = default.rate if rate is None else max(rate, 0.001)
    # A key with only a rate gets the default's proportion of burst to rate, not its absolute number.
    own_burst = max(1, ceil(own_rate * default.burst / default.rate)) if burst is None else burst
    return Limit(default.name, own_rate, own_burst)


@lru_cache(maxsize=65_536)
def bucket_address(address: str | None) -> str:
    """Return the part of an address that names its bucket: IPv4 whole, IPv6 its /64. All malformed addresses share
    one bucket."""
    parsed = _parse_address(address)
    if parsed is None:
        return _NO_ADDRESS
    if isinstance(parsed, IPv6Address):
        return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
    return str(parsed)


def parse_proxies(entries: Sequence[str]) -> tuple[Network, ...]:
    """Return the addresses and networks of the trusted proxies. Raises ``ValueError``: with the malformed entry."""
    return tuple(UNIX if word == UNIX else ip_network(word, strict=False) for word in map(str.strip, entries))


def client_address(peer: str | None, forwarded_for: str | None, trusted: Sequence[Network]) -> str | None:
    """Return the address of the client: that of the peer, unless the peer is a trusted proxy. In that case return the
    last address in ``X-Forwarded-For`` that is not a trusted proxy's. The client wrote everything left of it, so that
    is not read.

    A malformed entry ends the search: then the request counts for the proxy that forwarded it.
    """
    if not trusted or forwarded_for is None or not is_trusted(peer, trusted):
        return peer
    nearest = peer
    for entry in reversed(forwarded_for.split(",")):
        candidate = _without_port(entry.strip())
        if _parse_address(candidate) is None:
            return nearest
        nearest = candidate
        if not is_trusted(candidate, trusted):
            return nearest
    return nearest


def is_trusted(address: str | None, trusted: Sequence[Network]) -> bool:
    """Return whether ``address`` is that of a trusted proxy. A peer without an address is on a Unix socket."""
    if not address:
        return UNIX in trusted
    parsed = _parse_address(address)
    return parsed is not None and any(parsed in network for network in trusted if network != UNIX)


def _parse_address(address: str | None) -> IPv4Address | IPv6Address | None:
    if address is None:
        return None
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed


def _without_port(entry: str) -> str:
    """Return an entry without its port: ``192.0.2.1:4711`` and ``[2001:db8::1]:4711``, as some proxies write them."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
