"""The authorization code flow: the redirection URIs of a client, and the code that a holder's decision gives it (RFC 6749 §4.1, RFC
7636, RFC 8252).

A client registers its redirection URIs in its DID document, as services: the type ``OAuthRedirect`` for a client that has its DID's
key and proves it for each token, ``OAuthNativeRedirect`` for an application that is installed in many places and holds no key.

A code is sealed under a secret of the service, so nothing is stored before a code is used. All errors are ``ValueError``.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlencode, urlsplit

import orjson
from msgspec import Struct

from identity_codec import multibase, sealing
from identity_codec.values import Hidden
from identity_core.domain.dids.did import check_uri
from identity_core.domain.dids.document import DidDocument
from identity_core.errors import InvalidDocument

GRANT: Final = "authorization_code"
S256: Final = "S256"
REDIRECT: Final = "OAuthRedirect"
NATIVE_REDIRECT: Final = "OAuthNativeRedirect"
LIFE: Final = timedelta(seconds=60)
MAX_CODE: Final = 8_192
_LOCAL: Final = frozenset({"127.0.0.1", "::1", "localhost"})
# RFC 8252 §7.3: the port is the operating system's choice at that moment, on the loopback address and not on a name.
_LOOPBACK: Final = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]))(?::[0-9]{1,5})?((?:[/?].*)?)", re.ASCII)
# A browser decodes and maps a host before it goes there (WHATWG URL, "host parser"), and a reader sees what stands here.
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+(?::[0-9]+)?|\[[0-9A-Fa-f:.]+\](?::[0-9]+)?", re.ASCII)
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
_BOUND: Final = b"identity: authorization code, v1"


class RegisteredRedirect(Struct, frozen=True):
    """A redirection URI in a client's request. ``is_native``: the client holds no key."""

    uri: str
    is_native: bool

    @property
    def place(self) -> str:
        """Return scheme, host and port, for display."""
        parts = urlsplit(self.uri)
        return f"{parts.scheme}://{parts.netloc}"

    def answer(self, **members: str | None) -> str:
        """Return the URI with these members in its query (RFC 6749 §4.1.2); None leaves one out."""
        said = urlencode({name: value for name, value in members.items() if value is not None})
        return f"{self.uri}{'&' if '?' in self.uri else '?'}{said}"


def registered(document: DidDocument, uri: str) -> RegisteredRedirect:
    """Return the URI if the document of the client registers it, character by character except for the port of a loopback address
    (RFC 9700 §2.1). It must be HTTPS, or HTTP to the reader's own machine. The host has letters, digits, ``.``, ``-`` and ``_``, or
    is an IPv6 address."""
    try:
        check_uri(uri, "redirect_uri")
    except InvalidDocument as error:
        raise ValueError("this is not a URI that anybody is sent to") from error
    parts = urlsplit(uri)
    if "#" in uri or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)):
        raise ValueError("the URI has a fragment, or is neither HTTPS nor on the own machine")
    if _HOST.fullmatch(parts.netloc) is None:
        raise ValueError("the host is written in another way than browsers show it")
    fitting = [service.type for service in document.services if _is_same(service.endpoint, uri)]
    if REDIRECT in fitting:
        return RegisteredRedirect(uri, is_native=False)
    if NATIVE_REDIRECT in fitting:
        return RegisteredRedirect(uri, is_native=True)
    raise ValueError("the client has not registered the URI")


def _is_same(registered_uri: str, uri: str) -> bool:
    ours, theirs = _LOOPBACK.fullmatch(registered_uri), _LOOPBACK.fullmatch(uri)
    return registered_uri == uri or (ours is not None and theirs is not None and ours.groups() == theirs.groups())


def is_challenge(text: str) -> bool:
    """Return whether this is a ``code_challenge`` of ``S256`` (RFC 7636 §4.2)."""
    return _CHALLENGE.fullmatch(text) is not None


class AuthorizationCode(Hidden, Struct, frozen=True):
    """The content of a code, to which its use is bound.

    - the client, and the SHA-256 (base64url) of its redirection URI;
    - the challenge of PKCE, the audience (None for the issuer), and the scopes;
    - the holder, with the multikey that signed;
    - its end (aware UTC, whole seconds);
    - ``id``: random, becomes the ``jti`` of the token.
    """

    id: str
    client: str
    is_native: bool
    redirect: str
    challenge: str
    audience: str | None
    scopes: frozenset[str]
    holder: str
    key: str
    expires_at: datetime

    @property
    def digest(self) -> bytes:
        """Return the 32 bytes that mark the code as used."""
        return hashlib.sha256(f"identity: authorization code, v1\n{self.id}".encode()).digest()

    def check(self, client: str, redirect_uri: str, verifier: str) -> None:
        """Require that this client may redeem the code in this way."""
        if (client, hash_of(redirect_uri)) != (self.client, self.redirect):
            raise ValueError("the code is for another client or redirection URI")
        if _VERIFIER.fullmatch(verifier) is None or not hmac.compare_digest(hash_of(verifier), self.challenge):
            raise ValueError("the verifier is another")


def hash_of(text: str) -> str:
    """Return the base64url of the SHA-256, as ``S256`` defines it."""
    return multibase.base64url_encode(hashlib.sha256(text.encode()).digest())


def withdrawal_of(token_id: str) -> bytes:
    """Return the 32 bytes that mark the token of a code as withdrawn."""
    return hashlib.sha256(f"identity: token that was withdrawn, v1\n{token_id}".encode()).digest()


class AuthorizationCodes(Hidden, Struct, frozen=True):
    """The sealing and opening of codes. ``secret`` has 32 bytes; ``random`` is the operating system's random source."""

    secret: bytes
    random: Callable[[int], bytes]

    def seal(self, code: AuthorizationCode) -> str:
        """Return the sealed code for the client."""
        scopes, expires = sorted(code.scopes), int(code.expires_at.timestamp())
        members = [code.id, code.client, code.is_native, code.redirect, code.challenge, code.audience, scopes]
        plain = orjson.dumps([*members, code.holder, code.key, expires])
        return multibase.base64url_encode(sealing.seal(self.secret, plain, _BOUND, random=self.random))

    def open(self, text: str) -> AuthorizationCode:
        """Open a code of this service, expired or not."""
        if len(text) > MAX_CODE:
            raise ValueError("the text is too long")
        try:
            plain = sealing.unseal(self.secret, multibase.base64url_decode(text), _BOUND)
        except sealing.BoxInvalid as error:
            raise ValueError("the text is not one of ours") from error
        name, client, is_native, redirect, challenge, audience, scopes, holder, key, expires = orjson.loads(plain)
        end, given = datetime.fromtimestamp(expires, UTC), frozenset[str](scopes)
        return AuthorizationCode(name, client, is_native, redirect, challenge, audience, given, holder, key, end)
