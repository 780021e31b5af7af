"""Access tokens: their content, and the checks that libraries for JWTs leave to their users (openapi/DECISIONS.md §3.5).

The profile is RFC 9068. Beyond the usual libraries, this module refuses a ``typ`` other than ``at+jwt`` (another kind of token
signed by the same key), a missing ``kid``, any other header member (such as ``jku``, ``jwk``, ``x5u``, which name a key), duplicate
names, and unknown claims. The caller must verify the signature with the key that ``key_id`` names before it calls ``read``. All
errors are ``ValueError``, whose text is not shown to clients.

A token names the key by which it was obtained, and is valid only as long as that key. For a DID it is the multikey that signed the
challenge. For an API key it is the key's digest, sealed, because a short key could be guessed from the digest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Self

from msgspec import Struct

from identity_codec import jose, multibase, multikey, sealing
from identity_codec.jose import CompactJws, check_claims, media_type
from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.callers import ApiKey, is_scope, require_known, scope_text
from identity_core.errors import Forbidden, InvalidRequest

TYPE: Final = "at+jwt"
ALGORITHMS: Final = jose.ALGORITHMS[multikey.ED25519]
"""The older name is what most readers still know; RFC 9864 gave the curve a name of its own. Both are Ed25519 here."""

MAX_LENGTH: Final = 8192
MAX_SCOPE: Final = 2048
MAX_LIFETIME_SECONDS: Final = 86_400
LEEWAY_SECONDS: Final = 60
"""How far the clock of the process that issued a token may be ahead of ours."""
LONGEST: Final = timedelta(seconds=MAX_LIFETIME_SECONDS)

DID: Final = "did:"
API_KEY: Final = "key:"

_HEADER: Final = frozenset({"alg", "typ", "kid"})
_CLAIMS: Final = frozenset({"iss", "aud", "sub", "client_id", "key", "jti", "iat", "exp"})
_OPTIONAL: Final = frozenset({"scope", "act"})


class OauthRefusal(InvalidRequest):
    """A refusal for which OAuth or OpenID4VC has an error code of its own, ``kind``: such as ``invalid_scope`` or ``invalid_nonce``."""

    def __init__(self, kind: str, message: str, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message, details=details or {})
        self.kind = kind


class AccessToken(Struct, frozen=True):
    """The content of a token. Times are whole seconds.

    - ``client``: the party that obtained it, a DID or ``key:`` and the id of an API key.
    - ``key``: the multikey or sealed digest by which it was obtained.
    - ``subject``: the client itself, a DID that an API key acts for, or a holder who let the client in. ``key`` is then the holder's.
    - ``scopes``: None does not narrow anything.
    - ``audience``: None for the issuer.
    """

    subject: str
    client: str
    key: str
    scopes: frozenset[str] | None
    identifier: str
    issued_at: datetime
    expires_at: datetime
    audience: str | None = None

    def claims(self, issuer: str) -> dict[str, Any]:
        """Return the claims of RFC 9068 §2.2, and ``act`` of RFC 8693 §4.1 if another party acts for the subject."""
        claims: dict[str, Any] = {
            "iss": issuer,
            "aud": self.audience or issuer,
            "sub": self.subject,
            "client_id": self.client,
            "key": self.key,
            "jti": self.identifier,
            "iat": int(self.issued_at.timestamp()),
            "exp": int(self.expires_at.timestamp()),
        }
        if self.scopes is not None:
            claims["scope"] = scope_text(self.scopes)
        if self.subject != self.client:
            claims["act"] = {"sub": self.client}
        return claims

    def signing_input(self, issuer: str, kid: str) -> str:
        """Return the text whose ASCII bytes are signed (RFC 7515 §5.1). The time stamps must be whole seconds."""
        return jose.signing_input({"alg": ALGORITHMS[0], "typ": TYPE, "kid": kid}, self.claims(issuer))


class Envelope(CompactJws, frozen=True):
    """A decoded token, not yet verified."""

    @classmethod
    def open(cls, text: str, *, longest: int = MAX_LENGTH) -> Self:
        """Return the parts of a compact JWS of at most ``longest`` characters."""
        return super().open(text, longest=longest)

    def key_id(self) -> str:
        """Return the ``kid`` of a header with exactly the members of this service's headers."""
        if self.header.keys() != _HEADER:
            raise ValueError("the header has other members than alg, typ and kid")
        if media_type(self.header) != TYPE:
            raise ValueError("the typ is another")
        if self.header["alg"] not in ALGORITHMS:
            raise ValueError("the algorithm is another")
        return _text(self.header, "kid")

    def read(self, issuer: str, now: datetime, accepted: Collection[str]) -> AccessToken:
        """Return the content of a token with a valid signature, if it is in force and for one of the ``accepted``
        audiences."""
        claims = self.claims
        if not _CLAIMS <= claims.keys() <= _CLAIMS | _OPTIONAL:
            raise ValueError("claims are missing or unknown")
        times, audience = check_claims(claims, now, audience=accepted), _text(claims, "aud")
        if claims["iss"] != issuer:
            raise ValueError("the token is of another issuer")
        subject, client = _text(claims, "sub"), _text(claims, "client_id")
        if not client.startswith((DID, API_KEY)):
            raise ValueError("the client is neither a DID nor an API key")
        if claims.get("act") != (None if subject == client else {"sub": client}):
            raise ValueError("the actor is not the client")
        if subject != client and not subject.startswith(DID):
            raise ValueError("only for DIDs does anybody act")
        if subject != client and client.startswith(DID) and "scope" not in claims:
            raise ValueError("a client that a holder has let in has the scopes that she gave it")
        issued_at, expires_at = times.issued, times.ends
        if issued_at is None or expires_at is None or not timedelta() < expires_at - issued_at <= LONGEST:
            raise ValueError("the token lives for no time or for too long")
        scopes = parse_scopes(_text(claims, "scope", least=0)) if "scope" in claims else None
        key, identifier = _text(claims, "key"), _text(claims, "jti")
        only = None if audience == issuer else audience
        return AccessToken(subject, client, key, scopes, identifier, issued_at, expires_at, only)


INTERFACE: Final = "/api/v1"
"""The path of the interface, which is a resource (RFC 9728)."""


def audiences(issuer: str) -> tuple[str, str]:
    """Return the audiences of a token: this service, as its issuer or as its interface is called (RFC 8707, RFC 9728)."""
    return issuer, issuer + INTERFACE


def _text(members: Mapping[str, Any], name: str, *, least: int = 1) -> str:
    value = members[name]
    if not isinstance(value, str) or len(value) < least:
        raise ValueError(f"{name} is a text")
    return value


def parse_scopes(text: str) -> frozenset[str]:
    """Return the scopes of a list with single blanks (RFC 6749 §3.3); none for the empty text."""
    if len(text) > MAX_SCOPE:
        raise ValueError("the scope is too long")
    scopes = text.split(" ") if text else []
    if not all(is_scope(scope) for scope in scopes):
        raise ValueError("not a list of scopes")
    return frozenset(scopes)


def granted_scopes(wanted: frozenset[str] | None, held: frozenset[str] | None) -> frozenset[str] | None:
    """Return ``wanted`` if it is among the scopes ``held``; None requests all that OAuth can express (RFC 6749 §3.3).

    ``held`` is None for a caller with every scope. Raises ``Forbidden``: when a scope is not held. Raises ``InvalidRequest``: when
    a scope is unknown, or the text is too long.
    """
    if held is None:
        require_known(wanted or (), field="scope")
        return wanted
    if wanted is None:
        wanted = frozenset(scope for scope in held if is_scope(scope))
        if len(scope_text(wanted)) > MAX_SCOPE:
            raise InvalidRequest("The API key has more scopes than a token can carry: ask for fewer in scope.")
    if not wanted <= held:
        raise Forbidden(details={"scope": scope_text(wanted - held)})
    return wanted


def narrow_key(key: ApiKey, scopes: frozenset[str] | None) -> ApiKey:
    """Return ``key`` with the scopes of a token; None keeps those of the key."""
    if scopes is None:
        return key
    return replace(key, scopes=scopes if key.scopes is None else scopes & key.scopes)


def seal_key(secret: bytes, digest: str, identifier: str, *, random: Callable[[int], bytes]) -> str:
    """Return the digest of an API key (64 hex digits) under the 32-byte ``secret`` of the service, for this token alone."""
    return multibase.base64url_encode(
        sealing.seal(secret, bytes.fromhex(digest), _sealed_for(identifier), random=random)
    )


def unseal_key(secret: bytes, text: str, identifier: str) -> str:
    """Return the digest that ``seal_key`` sealed."""
    try:
        return sealing.unseal(secret, multibase.base64url_decode(text), _sealed_for(identifier)).hex()
    except sealing.BoxInvalid as error:
        raise ValueError("the token names no API key") from error


def _sealed_for(identifier: str) -> bytes:
    return b"identity access token key" + identifier.encode()
