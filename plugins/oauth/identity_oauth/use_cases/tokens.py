"""issueToken: an access token for a DIDAuth signature or an API key (openapi/DECISIONS.md §3.5; RFC 6749 §4.4, RFC 9068).

Both are the client-credentials grant: the client authenticates and gets a token for itself. An API key may request fewer scopes
than it has, and a token with a DID of its allowlist as subject and the key as actor. Refresh tokens and token exchange are not
supported, because the holder of the key can request another token.

The module also finds the caller of an access token.

A token is valid only as long as its origin: the API key that requested it, the DID, and the DID's key that signed for it. So a
recovery also ends the tokens of a thief. A token that a holder gave a client (``authorization.py``) also ends with the client's
DID, and when its code is used a second time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct, field

from identity_codec import multibase
from identity_codec.strict_json import JsonValue
from identity_codec.structs import UnsetType, value_or
from identity_codec.values import Hidden
from identity_core.cache import BoundedCache
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    AuthFailed,
    AuthRequired,
    DidDeactivated,
    DidNotFound,
    Forbidden,
    InvalidDid,
    InvalidRequest,
)
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import SpentChallenges
from identity_core.use_cases.auth.authenticate import AuthenticateApiKey, alive
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_oauth.domain import tokens as token
from identity_oauth.domain.authorization_code import AuthorizationCode, withdrawal_of
from identity_oauth.domain.tokens import AccessToken, Envelope, granted_scopes, narrow_key
from identity_oauth.use_cases.token_keys import TokenKeys
from identity_oauth.wire import IssueTokenRequest

OPERATE = "dids:operate"
GRANT = "client_credentials"


class IssuedToken(Struct, frozen=True):
    """The compact JWT and its content."""

    text: str
    token: AccessToken


class IssueToken(Struct, frozen=True):
    """The issuance of a token. Raises ``InvalidRequest``, ``InvalidDid``; ``Forbidden``: for a scope or subject that the client may
    not have; ``DidNotFound``, ``DidDeactivated``: for the subject."""

    reader: DidReader
    keys: TokenKeys
    record: Record
    clock: Clock
    random: Callable[[int], bytes]
    issuer: str
    lifetime_seconds: int

    async def __call__(
        self, wish: IssueTokenRequest, context: RequestContext, audience: str | None = None
    ) -> IssuedToken:
        """Issue a token. ``audience`` is one of ``token.audiences`` or a path of ``TokenResources``, None for the issuer."""
        scopes, wanted = _scopes(wish), None if isinstance(wish.subject, UnsetType) else self.reader.parse(wish.subject)
        identifier = multibase.base64url_encode(self.random(16))
        subject, client, key, scopes = await self._parties(wanted, scopes, context.caller, identifier)
        issued_at, expires_at = self._times()
        issued = AccessToken(subject, client, key, scopes, identifier, issued_at, expires_at, audience)
        return await self._signed(issued, context)

    async def for_client(self, code: AuthorizationCode, context: RequestContext) -> IssuedToken:
        """Return the token of a holder for the client of her ``code``."""
        issued_at, expires_at = self._times()
        issued = AccessToken(
            code.holder, code.client, code.key, code.scopes, code.id, issued_at, expires_at, code.audience
        )
        return await self._signed(issued, context)

    def last_end(self, code: AuthorizationCode) -> datetime:
        """Return the latest end of a token of ``code``."""
        return code.expires_at + timedelta(seconds=self.lifetime_seconds)

    def _times(self) -> tuple[datetime, datetime]:
        """Return the times of issue and expiry of a token, in whole seconds."""
        issued_at = self.clock.now().replace(microsecond=0)
        return issued_at, issued_at + timedelta(seconds=self.lifetime_seconds)

    async def _signed(self, issued: AccessToken, context: RequestContext) -> IssuedToken:
        text = await self.keys.signed(lambda kid: issued.signing_input(self.issuer, kid))
        details: dict[str, JsonValue] = {"jti": issued.identifier, "expires": int(issued.expires_at.timestamp())}
        await self.record(context, Event(target=issued.subject, details=details), issued.issued_at)
        return IssuedToken(text, issued)

    async def _parties(
        self, wanted: Did | None, scopes: frozenset[str] | None, caller: Caller, identifier: str
    ) -> tuple[str, str, str, frozenset[str] | None]:
        """Return subject, client, the client's key and the scopes."""
        if caller.did is not None and caller.authorization is not None:
            if wanted not in (None, caller.did):
                raise Forbidden("A DID gets tokens for itself only.", details={"subject": str(wanted)})
            return str(caller.did), str(caller.did), caller.authorization.key, granted_scopes(scopes, None)
        if caller.api_key is None:
            raise AuthRequired
        key = caller.api_key
        client = token.API_KEY + key.id
        subject = client if wanted is None else await self._subject(wanted, key)
        sealed = token.seal_key(self.keys.seal, key.digest, identifier, random=self.random)
        return subject, client, sealed, granted_scopes(scopes, key.scopes)

    async def _subject(self, did: Did, key: ApiKey) -> str:
        """Return the DID that the key acts for. The key's right to do so is checked before the DID is read."""
        key.require_scope(OPERATE)
        key.require_target(did)
        await self.reader.active(did)
        return str(did)


def _scopes(wish: IssueTokenRequest) -> frozenset[str] | None:
    """Return the requested scopes; None requests all scopes of the client."""
    if value_or(wish.grant_type, GRANT) != GRANT:
        raise InvalidRequest("The grant_type is unknown.", details={"supported": [GRANT]})
    try:
        return None if isinstance(wish.scope, UnsetType) else token.parse_scopes(wish.scope)
    except ValueError as error:
        raise InvalidRequest("scope is no list of scopes with single blanks.", details={"field": "scope"}) from error


GENUINE_KEPT: Final = 1024


class AuthenticateToken(Hidden, Struct, frozen=True):
    """The ``OwnTokens`` of the service.

    ``genuine`` caches tokens with a valid signature, by the SHA-256 of their text, because an agent uses one token for minutes.
    Everything else about a token is checked at each request.
    """

    reader: DidReader
    api_keys: AuthenticateApiKey
    keys: TokenKeys
    clock: Clock
    issuer: str
    spent: SpentChallenges
    resource_metadata: str = ""
    genuine: BoundedCache[bytes, Envelope] = field(default_factory=lambda: BoundedCache(GENUINE_KEPT))

    async def __call__(self, text: str, resource: str) -> Caller | None:
        now, own = self.clock.now(), self._own(text)
        accepted = (self.issuer + resource,) if resource else token.audiences(self.issuer)
        return None if own is None else await self._caller(self._verified(text, *own, now, accepted), now)

    async def current(self, text: str, resources: Collection[str]) -> AccessToken | None:
        """Return a valid token of this service for itself or for one of ``resources``, paths below the issuer; None for other texts."""
        now, own = self.clock.now(), self._own(text)
        if own is None:
            return None
        accepted = {*token.audiences(self.issuer), *(self.issuer + one for one in resources)}
        try:
            found = self._verified(text, *own, now, accepted)
            await self._caller(found, now)
        except AuthFailed:
            return None
        return found

    def claims_to_be_ours(self, text: str) -> bool:
        return self._own(text) is not None

    def has_been_good(self, text: str) -> bool:
        own = self._own(text)
        return own is not None and own[0] in self.genuine

    def _own(self, text: str) -> tuple[bytes, Envelope] | None:
        """Return the digest and the parts of a token that names this service as its issuer."""
        try:
            digest = _digest(text)
            envelope = self.genuine.get(digest) or Envelope.open(text)
        except ValueError:
            return None
        return (digest, envelope) if envelope.claims.get("iss") == self.issuer else None

    def _verified(
        self, text: str, digest: bytes, envelope: Envelope, now: datetime, accepted: Collection[str]
    ) -> AccessToken:
        try:
            key = self.keys.verification_keys.get(envelope.key_id())
            if key is None:
                raise ValueError("the kid is none of our keys")
            if digest not in self.genuine:
                key.key.verify(envelope)
                self.genuine.store(digest, envelope)
            return envelope.read(self.issuer, now, accepted)
        except ValueError as error:
            raise AuthFailed from error

    async def _caller(self, found: AccessToken, now: datetime) -> Caller:
        try:
            if found.client.startswith(token.API_KEY):
                return await self._key_caller(found)
            did = Did.parse(found.subject)
            state = (await self.reader.caller(did)).head.state
            if found.key not in history.authentication_keys(state, now):
                raise AuthFailed
            client = None if found.client == found.subject else await self._client(found)
        except (ValueError, InvalidDid, DidNotFound, DidDeactivated, Forbidden) as error:
            raise AuthFailed from error
        return Caller(subject=did, scopes=found.scopes, client=client)

    async def _client(self, found: AccessToken) -> Did:
        """Return the client that a holder has let in, if it still is one and its token was not revoked. Raises ``AuthFailed``."""
        client = Did.parse(found.client)
        await alive(self.reader, client)
        (withdrawn,) = await self.spent.numbers([withdrawal_of(found.identifier)[:16]], limit=1)
        if withdrawn:
            raise AuthFailed
        return client

    async def _key_caller(self, found: AccessToken) -> Caller:
        """Return the current API key, with only the rights that both it and the token have."""
        digest = token.unseal_key(self.keys.seal, found.key, found.identifier)
        key = await self.api_keys.by_digest(digest)
        narrowed = narrow_key(key, found.scopes)
        if found.subject == found.client:
            return Caller(api_key=narrowed)
        did = Did.parse(found.subject)
        key.require_scope(OPERATE)
        key.require_target(did)
        await alive(self.reader, did)
        return Caller(subject=did, operator=narrowed, scopes=narrowed.scopes)


def _digest(text: str) -> bytes:
    """Return the digest of a token. Raises ``ValueError``: for a text that is not ASCII."""
    return hashlib.sha256(text.encode("ascii")).digest()
