"""Callers: an API key, a DID that signed, a bearer of a token, or an unauthenticated client.

The module also has the text of an API key, and its digest. Only the digest is stored.

A generated key is ``idk_live_``, 256 random bits in base64url, and a checksum. With prefix and checksum, scanners find a leaked key in a
repository without false alarms. They do not authenticate: any text can be an API key (``API_KEY=…``), so this module does not decide
whether a key is valid.

Scopes are the permissions of an API key. A scope that no operation requires is refused as a typing error.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_codec.multibase import base64url_encode
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, InvalidRequest


@dataclass(slots=True, unsafe_hash=True)
class ApiKey:
    """A stored API key. ``digest`` is the SHA-256 of the key in hex; ``scopes`` None means admin-equivalent;
    ``allowed_targets`` None means any DID; rates are requests a second and a burst size, None for the defaults.
    ``lineage`` is the id of the first key of a chain of rotations, None for a key that replaced no other. ``fingerprint`` identifies
    the key in logs and for administrators; no store has it (``callers.fingerprint``)."""

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
        """Return whether the key is neither expired nor revoked at ``now``; a rotation with grace period revokes in the future."""
        return (self.expires_at is None or now < self.expires_at) and (self.revoked_at is None or now < self.revoked_at)

    def require_scope(self, scope: str) -> None:
        """Require a scope; a key without scopes may do everything. Raises ``Forbidden``: when the key does not have ``scope``."""
        if self.scopes is not None and scope not in self.scopes:
            raise Forbidden(details={"scope": scope})

    def require_target(self, did: Did) -> None:
        """Require a target. Raises ``Forbidden``: when the key has an allowlist and ``did`` is not on it."""
        if self.allowed_targets is not None and str(did) not in self.allowed_targets:
            raise Forbidden("The API key may not act for this DID.", details={"did": str(did)})


class Caller(Struct, frozen=True):
    """The authenticated caller of one request. Exactly one of ``api_key``, ``subject``, ``did`` and ``name`` is set. ``name`` is for
    calls without a request, by the service itself; the caller of an operator's command has none of them.

    ``subject`` is the DID of a bearer token, with the ``scopes`` to which the token is restricted (None: no restriction).
    ``operator`` acts for it, if an API key requested the token. ``authorization`` with ``did`` is a verified DIDAuth or
    RecoveryKey signature, whose challenge has been consumed. ``client`` is the DID of the program that ``subject`` authorised by the
    code flow, None if the subject itself calls.
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
        """Return a stable name for rate limits, idempotency and the audit log; it contains no secret."""
        if self.api_key is not None:
            # A rotated key is the same caller: it owns the records that its predecessor created.
            return f"key:{self.api_key.lineage or self.api_key.id}"
        if self.did is not None:
            return f"did:{self.did}"
        if self.operator is not None:
            # Separate from the DID itself, so that an operator's answers are not replayed to the DID.
            return f"key:{self.operator.lineage or self.operator.id} for {self.subject}"
        if self.client is not None:
            # Separate from the holder, so that a client's answers are not replayed to the holder.
            return f"sub:{self.subject} by {self.client}"
        return self.name if self.subject is None else f"sub:{self.subject}"

    @property
    def person(self) -> Did | None:
        """Return the DID that calls for itself: by its signature, its token, or an authorised ``client``. Return None for an API key,
        also for one that requested a token."""
        return None if self.operator is not None else self.did or self.subject

    @property
    def acting(self) -> Did | None:
        """Return the DID that signed or the subject of the token, also if an operator obtained the token; None for an API key."""
        return self.did or self.subject

    @property
    def key(self) -> ApiKey | None:
        """Return the API key that calls, directly or by its token."""
        return self.api_key or self.operator

    @property
    def owner(self) -> str:
        """Return the owner of a verifier's challenge: the DID, if it signs or bears a token, else the identity of the caller, such as
        that of a client."""
        return self.identity if self.person is None or self.client is not None else str(self.person)

    @property
    def account(self) -> str | None:
        """Return the account to which a DID's calls are counted: its own. A client has a separate account for each holder, so that it
        does not use up the holder's. None for an API key."""
        if self.person is None:
            return None
        return f"did:{self.person}" if self.client is None else f"did:{self.person} by {self.client}"

    @property
    def author(self) -> str:
        """Return the author for records: a DID, or ``apiKey:`` and the fingerprint of the key that acted for one."""
        return f"apiKey:{self.key.fingerprint}" if self.key is not None else str(self.person)

    def require_acting_for(self, did: Did, scope: str) -> None:
        """Require the right to act for ``did``. Raises ``Forbidden``: when the caller is neither ``did`` itself, nor an API key that has
        ``scope`` and may act for ``did``."""
        self.require_scope(scope)
        if self.api_key is not None:
            self.api_key.require_target(did)
        elif did not in (self.did, self.subject):
            raise Forbidden("The caller may not act for this DID.", details={"did": str(did)})

    def require_scope(self, scope: str) -> None:
        """Require a scope. A key without scopes may do everything; a DID may do everything that concerns itself. Raises ``Forbidden``:
        when an API key or a token does not have ``scope``."""
        scopes = self.api_key.scopes if self.api_key is not None else self.scopes
        if scopes is not None and scope not in scopes:
            raise Forbidden(details={"scope": scope})

    def require_key(self, scope: str) -> None:
        """Require an API key. Raises ``Forbidden``: when the caller is not an API key, directly or by its token, with ``scope``."""
        if self.api_key is None:
            raise Forbidden("This takes an API key.", details={"scope": scope})
        self.require_scope(scope)

    @property
    def is_admin(self) -> bool:
        """Return whether the caller is an admin-equivalent API key."""
        return self.api_key is not None and self.api_key.scopes is None

    def require_admin(self) -> None:
        """Require an administrator. Raises ``Forbidden``: when the caller is not an admin-equivalent API key."""
        if not self.is_admin:
            raise Forbidden(details={"role": "admin"})


PREFIX: Final = "idk_live_"
RANDOM_BYTES: Final = 32
_ID_BYTES: Final = 12
MAX_LENGTH: Final = 512
"""The maximum number of characters of a key. The limit prevents the service from hashing long headers."""

SHORT: Final = 20
"""The number of characters below which a key that a person chose causes a warning."""


def mint(random_octets: bytes) -> str:
    """Return a new key from 32 random bytes. Raises ``ValueError``: when there are fewer or more."""
    if len(random_octets) != RANDOM_BYTES:
        raise ValueError(f"an API key is made of {RANDOM_BYTES} random bytes")
    text = PREFIX + base64url_encode(random_octets)
    return text + _checksum(text)


def mint_key(random: Callable[[int], bytes]) -> tuple[str, str]:
    """Return the id and the text of a new key. ``random``: returns bytes of the operating system's random source."""
    text = mint(random(RANDOM_BYTES))
    return f"key_{base64url_encode(random(_ID_BYTES))}", text


def digest_of(text: str) -> str:
    """Return the SHA-256 of a key's UTF-8 in lower-case hex, by which stores identify it."""
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
"""The scopes by which a key acts for DIDs, restricted to its ``allowed_targets``."""

OF_DIDS: Final = ACTING - {"dids:operate"}
"""The scopes to which the token of a DID can be restricted."""

OF_CLIENTS: Final = frozenset({"credentials:read", "delegations:read", "zkp:prove", "zkp:verify"})
"""The scopes that a holder can give a client by the code flow. A change of the holder's records needs the holder's own signature."""

OF_AGENTS: Final = frozenset({"delegations:read", "zkp:prove", "zkp:verify"})
"""The scopes that the tools of agents need."""

KNOWN: Final = ACTING | {"dids:create", "dids:list", "audit:read", "service:read"}
"""Every scope that an operation requires."""


_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,64}", re.ASCII)


def is_scope(text: str) -> bool:
    """Return whether OAuth permits the syntax of this scope (RFC 6749 §3.3)."""
    return _SCOPE.fullmatch(text) is not None


def scope_text(scopes: frozenset[str]) -> str:
    """Return the scopes as a list in canonical order."""
    return " ".join(sorted(scopes))


def require_known(scopes: Collection[str], *, field: str = "scopes") -> None:
    """Require known scopes. Raises ``InvalidRequest``: when a scope is unknown; it lists the known ones. ``field`` is the member of the
    request that has the scopes."""
    unknown = sorted(set(scopes) - KNOWN)
    if unknown:
        raise InvalidRequest(
            f"{unknown[0]!r} is not a scope of this service.", details={"field": field, "supported": [*sorted(KNOWN)]}
        )
