"""Callers: an API key, a DID that signed, a bearer of a token, or a stranger.

The text of an API key, and its digest, which is all that is ever stored.

A minted key is ``idk_live_``, 256 random bits in base64url, and a checksum: the prefix and the checksum let scanners
find a leaked key in a repository without false alarms. They are no credential: any text can be an API key
(``API_KEY=…``), so nothing here decides whether a key is good.

What an API key may be allowed to do. A scope that nothing asks for is a slip, and a key that has it does not do what was meant.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import zlib
from collections.abc import Collection
from dataclasses import field
from datetime import datetime
from typing import Final

from identity_codec.multibase import base64url_encode
from identity_codec.values import value_class
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, InvalidRequest


@value_class
class ApiKey:
    """An API key as it is stored. ``digest`` is the SHA-256 of the key in hex; ``scopes`` None means admin-equivalent;
    ``allowed_targets`` None means any DID; rates are requests a second and a burst size, None for the defaults.
    ``lineage`` is the id of the first key of a chain of rotations, None for a key that replaced no other. ``fingerprint`` is what
    logs and administrators see of it; no store knows it (``key_text.fingerprint``)."""

    id: str
    name: str
    digest: str
    scopes: frozenset[str] | None
    allowed_targets: frozenset[str] | None
    requests_per_second: float | None
    burst: int | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    source: str = "sql"
    lineage: str | None = None
    fingerprint: str = field(default="-", compare=False)

    def usable(self, now: datetime) -> bool:
        """Whether the key is neither expired nor revoked at ``now``; a rotation with grace revokes in the future."""
        return (self.expires_at is None or now < self.expires_at) and (self.revoked_at is None or now < self.revoked_at)

    def require_scope(self, scope: str) -> None:
        """Raises ``Forbidden`` when the key lacks ``scope``; a key without scopes may do everything."""
        if self.scopes is not None and scope not in self.scopes:
            raise Forbidden(details={"scope": scope})

    def require_target(self, did: Did) -> None:
        """Raises ``Forbidden`` when the key has an allowlist and ``did`` is not on it."""
        if self.allowed_targets is not None and str(did) not in self.allowed_targets:
            raise Forbidden("The API key may not act for this DID.", details={"did": str(did)})


@value_class
class Caller:
    """The authenticated caller of one request. Exactly one of ``api_key``, ``subject`` and ``did`` is set, or ``name``, of what
    acts without a request: the service itself; an operator's command has none.

    ``subject`` is the DID of a bearer token, with the ``scopes`` to which the token narrows it (None: no narrowing) and
    the ``operator`` who acts for it, if it was an API key that asked for the token. ``authorization`` with ``did`` is a
    DIDAuth or RecoveryKey signature that was verified and whose challenge has been consumed. ``client`` is the DID of the program
    that ``subject`` has let in by the code flow, None where the subject calls by itself.
    """

    api_key: ApiKey | None = None
    subject: Did | None = None
    did: Did | None = None
    authorization: Authorization | None = None
    operator: ApiKey | None = None
    scopes: frozenset[str] | None = None
    name: str = ""
    client: Did | None = None

    @property
    def identity(self) -> str:
        """A stable name for buckets, idempotency and the audit log; holds no secret."""
        if self.api_key is not None:
            # A rotated key is the same caller: what its predecessor created stays its own.
            return f"key:{self.api_key.lineage or self.api_key.id}"
        if self.did is not None:
            return f"did:{self.did}"
        if self.operator is not None:
            # Not the DID itself: what an operator asked for is no answer of the DID's own.
            return f"key:{self.operator.lineage or self.operator.id} for {self.subject}"
        if self.client is not None:
            # Nor is what a client asked for an answer of the holder's own.
            return f"sub:{self.subject} by {self.client}"
        return self.name if self.subject is None else f"sub:{self.subject}"

    @property
    def person(self) -> Did | None:
        """The DID that calls for itself, by its signature or its token, or by a ``client`` of its; None for an API key, also for one behind
        a token."""
        return None if self.operator is not None else self.did or self.subject

    @property
    def acting(self) -> Did | None:
        """The DID that signed or that the token is about, also where an operator obtained the token; None for an API key."""
        return self.did or self.subject

    @property
    def key(self) -> ApiKey | None:
        """The API key behind the call, itself or by its token."""
        return self.api_key or self.operator

    @property
    def owner(self) -> str:
        """Return the owner of a verifier's challenge: a DID's own whether it signs or bears a token, else the caller's,
        as a client's is."""
        return self.identity if self.person is None or self.client is not None else str(self.person)

    @property
    def account(self) -> str | None:
        """Return the account that pays for a DID's calls: its own. A client has one for each holder, so that it leaves
        hers alone. None for an API key."""
        if self.person is None:
            return None
        return f"did:{self.person}" if self.client is None else f"did:{self.person} by {self.client}"

    @property
    def author(self) -> str:
        """Return the author that records name: a DID, or ``apiKey:`` and the fingerprint of the key that acted for
        one."""
        return f"apiKey:{self.key.fingerprint}" if self.key is not None else str(self.person)

    def require_acting_for(self, did: Did, scope: str) -> None:
        """Raises ``Forbidden`` unless the caller is ``did`` itself, or an API key that has ``scope`` and may act for ``did``."""
        self.require_scope(scope)
        if self.api_key is not None:
            self.api_key.require_target(did)
        elif did not in (self.did, self.subject):
            raise Forbidden("The caller may not act for this DID.", details={"did": str(did)})

    def require_scope(self, scope: str) -> None:
        """Raises ``Forbidden`` when an API key or a token lacks ``scope``. A key without scopes may do everything, and so may
        a DID, as far as it is the DID's own to do."""
        scopes = self.api_key.scopes if self.api_key is not None else self.scopes
        if scopes is not None and scope not in scopes:
            raise Forbidden(details={"scope": scope})

    def require_key(self, scope: str) -> None:
        """Raises ``Forbidden`` unless the caller is an API key, itself or by its token, that has ``scope``."""
        if self.api_key is None:
            raise Forbidden("This takes an API key.", details={"scope": scope})
        self.require_scope(scope)

    @property
    def is_admin(self) -> bool:
        """Whether the caller is an admin-equivalent API key."""
        return self.api_key is not None and self.api_key.scopes is None

    def require_admin(self) -> None:
        """Raises ``Forbidden`` unless the caller is an admin-equivalent API key."""
        if not self.is_admin:
            raise Forbidden(details={"role": "admin"})


PREFIX: Final = "idk_live_"
RANDOM_BYTES: Final = 32
MAX_LENGTH: Final = 512
"""Characters; a longer text is not a key. The limit stops clients that would make the service hash long headers."""

SHORT: Final = 20
"""Characters; a shorter key that a person chose is worth a warning."""

_MINTED: Final = re.compile(r"idk_live_[A-Za-z0-9_-]{49}", re.ASCII)


def mint(random_octets: bytes) -> str:
    """A new key from 32 random bytes. Raises ``ValueError`` for fewer or more."""
    if len(random_octets) != RANDOM_BYTES:
        raise ValueError(f"an API key is made of {RANDOM_BYTES} random bytes")
    text = PREFIX + base64url_encode(random_octets)
    return text + _checksum(text)


def is_minted(text: str) -> bool:
    """Whether ``text`` has the form and the checksum of a minted key: for scanners, never for authentication."""
    return _MINTED.fullmatch(text) is not None and _checksum(text[:-6]) == text[-6:]


def digest_of(text: str) -> str:
    """The SHA-256 of a key's UTF-8 in lower-case hex: what stores know it by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(secret: bytes, digest: str) -> str:
    """Return 12 hex digits by which logs and administrators identify the key of ``digest``. They are keyed with a ``secret`` of the
    service, so that a reader of logs cannot test weak keys against them."""
    return hmac.digest(secret, b"identity: fingerprint of an API key, v1\n" + digest.encode("ascii"), "sha256").hex()[
        :12
    ]


def _checksum(text: str) -> str:
    return base64url_encode(zlib.crc32(text.encode("ascii")).to_bytes(4, "big"))


ACTING: Final = frozenset(
    {
        "dids:operate",
        "credentials:read",
        "credentials:write",
        "delegations:read",
        "delegations:write",
        "zkp:prove",
        "zkp:verify",
        "records:erase",
    }
)
"""Those by which a key acts for DIDs: for those that its ``allowed_targets`` name."""

OF_DIDS: Final = ACTING - {"dids:operate"}
"""Those to which the token of a DID can be narrowed and still open something."""

OF_CLIENTS: Final = frozenset({"credentials:read", "delegations:read", "zkp:prove", "zkp:verify"})
"""Those that a holder can give a client by the code flow. What changes what is hers takes her own signature."""

OF_AGENTS: Final = frozenset({"delegations:read", "zkp:prove", "zkp:verify"})
"""Those that the tools of agents take."""

KNOWN: Final = ACTING | {"dids:create", "dids:list", "audit:read", "service:read"}
"""Every scope that some operation asks for."""


_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,64}", re.ASCII)


def is_scope(text: str) -> bool:
    """Whether OAuth can write this scope (RFC 6749 §3.3)."""
    return _SCOPE.fullmatch(text) is not None


def scope_text(scopes: frozenset[str]) -> str:
    """The list in its one order."""
    return " ".join(sorted(scopes))


def require_known(scopes: Collection[str], *, field: str = "scopes") -> None:
    """Raises ``InvalidRequest`` naming a scope that is none, and those that there are; ``field`` is the member that asks for them."""
    unknown = sorted(set(scopes) - KNOWN)
    if unknown:
        raise InvalidRequest(
            f"{unknown[0]!r} is no scope of this service.", details={"field": field, "supported": [*sorted(KNOWN)]}
        )


def require_targets(scopes: Collection[str] | None, *, said: bool) -> None:
    """Require an allowlist for a key that may act for DIDs: the default must not be every DID.

    Raises ``InvalidRequest``: when ``scopes`` contain such a right and the request did not name targets (``said``)."""
    if scopes is not None and not said and not ACTING.isdisjoint(scopes):
        raise InvalidRequest(
            "Say for which DIDs the key may act: allowedTargets with a list, or null for every DID.",
            details={"field": "allowedTargets"},
        )
