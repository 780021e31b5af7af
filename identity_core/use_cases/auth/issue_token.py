"""issueToken: from a DIDAuth signature or an API key to an access token (contract §3, Bearer; RFC 6749 §4.4, RFC 9068).

Both are the client-credentials grant: the client shows who it is and gets a token for itself. An API key may ask for
less than it has, and for a token that names a DID of its allowlist as subject and the key as actor. Left out: refresh
tokens (whoever holds the key asks again), RFC 7523 assertions, token exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from identity_core.codec import multibase
from identity_core.domain import token
from identity_core.domain.caller import ApiKey, Caller
from identity_core.domain.did import Did
from identity_core.domain.token import AccessToken
from identity_core.errors import AuthRequired, Forbidden, InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import Custodian
from identity_core.ports.repositories import AuditLog, AuditRow
from identity_core.use_cases.auth.token_keys import TokenKeys
from identity_core.use_cases.dids.reader import DidReader
from identity_core.use_cases.dids.writer import RequestContext

OPERATE = "dids:operate"


@dataclass(frozen=True, slots=True)
class TokenWish:
    """``scopes`` None asks for all that the client has; ``subject`` None for a token of its own."""

    scopes: frozenset[str] | None
    subject: Did | None


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The compact JWT, and what it says."""

    text: str
    token: AccessToken


@dataclass(frozen=True, slots=True)
class IssueToken:
    """Raises ``Forbidden`` for a scope or a subject that the client may not have, ``DidNotFound`` and ``DidDeactivated``
    for the subject."""

    reader: DidReader
    custodian: Custodian
    keys: TokenKeys
    audit: AuditLog
    clock: Clock
    random: Callable[[int], bytes]
    issuer: str
    lifetime_seconds: int

    async def __call__(self, wish: TokenWish, occasion: RequestContext) -> IssuedToken:
        identifier = multibase.base64url_encode(self.random(16))
        subject, client, key, scopes = await self._parties(wish, occasion.caller, identifier)
        issued_at = self.clock.now().replace(microsecond=0)
        expires_at = issued_at + timedelta(seconds=self.lifetime_seconds)
        issued = AccessToken(subject, client, key, scopes, identifier, issued_at, expires_at)
        text = issued.signing_input(self.issuer, self.keys.signing.kid)
        signature = await self.custodian.sign(self.keys.name, text.encode("ascii"))
        await self._record(issued, occasion)
        return IssuedToken(f"{text}.{multibase.base64url_encode(signature)}", issued)

    async def _parties(
        self, wish: TokenWish, caller: Caller, identifier: str
    ) -> tuple[str, str, str, frozenset[str] | None]:
        """Subject, client, the client's key and the scopes."""
        if caller.did is not None and caller.authorization is not None:
            if wish.subject not in (None, caller.did):
                raise Forbidden("A DID gets tokens for itself only.", details={"subject": str(wish.subject)})
            return str(caller.did), str(caller.did), caller.authorization.key, wish.scopes
        if caller.api_key is None:
            raise AuthRequired
        key = caller.api_key
        client = token.API_KEY + key.id
        subject = client if wish.subject is None else await self._subject(wish.subject, key)
        sealed = token.seal_key(self.keys.seal, key.digest, identifier, random=self.random)
        return subject, client, sealed, _granted(wish.scopes, key)

    async def _subject(self, did: Did, key: ApiKey) -> str:
        """The DID that the key acts for. Its right to do so is asked before the DID is looked up."""
        key.require_scope(OPERATE)
        key.require_target(did)
        await self.reader.active(did)
        return str(did)

    async def _record(self, issued: AccessToken, occasion: RequestContext) -> None:
        caller = occasion.caller
        await self.audit.write(
            AuditRow(
                at=issued.issued_at,
                request_id=occasion.request_id,
                operation=occasion.operation,
                caller=caller.identity,
                fingerprint=caller.api_key.fingerprint if caller.api_key is not None else None,
                target=issued.subject,
                outcome="done",
                details={"jti": issued.identifier, "expires": int(issued.expires_at.timestamp())},
            )
        )


def _granted(wanted: frozenset[str] | None, key: ApiKey) -> frozenset[str] | None:
    """What is asked for, if the key has it. A scope that OAuth cannot write stays with the key."""
    if key.scopes is None:
        return wanted
    if wanted is None:
        wanted = frozenset(scope for scope in key.scopes if token.is_scope(scope))
        if len(token.scope_text(wanted)) > token.MAX_SCOPE:
            raise InvalidRequest("The API key has more scopes than a token can carry: ask for fewer in scope.")
    if not wanted <= key.scopes:
        raise Forbidden(details={"scope": token.scope_text(wanted - key.scopes)})
    return wanted
