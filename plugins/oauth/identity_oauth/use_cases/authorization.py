"""The authorization code flow: a holder lets a client read in her name (RFC 6749 §4.1, with PKCE by RFC 7636).

She decides by a signature whose challenge is bound to the purpose ``authorize`` and to the parameters of the request. So neither a
session nor a click on another page can leak a code. A code works once and for a minute, for its client, redirection URI and
resource, with the verifier. All of that is checked before the code is used, so a client cannot use up another's. A second use
returns nothing, and revokes the token of the first (RFC 6749 §4.1.2).
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from identity_client.challenge import AUTHORIZE, DID_AUTH
from identity_codec import multibase
from identity_codec.strict_json import JsonValue
from identity_core.domain.activity import Event, Parties, RequestContext
from identity_core.domain.callers import Caller, scope_text
from identity_core.domain.dids import challenge
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    AuthFailed,
    AuthRequired,
    DidDeactivated,
    DidNotFound,
    DidQuarantined,
    Forbidden,
    InvalidDid,
    InvalidRequest,
)
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges
from identity_core.use_cases.auth.challenge import AuthenticateDid
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_oauth.domain import authorization_code as codes
from identity_oauth.domain.authorization_code import LIFE, AuthorizationCode, AuthorizationCodes, RegisteredRedirect
from identity_oauth.domain.tokens import OauthRefusal
from identity_oauth.use_cases.tokens import IssuedToken, IssueToken

DECISION: Final = "authorizeClient"
"""What the audit log calls it."""
NATIVE: Final = Caller(name="native client")


class GrantRefused(OauthRefusal):
    """The refusal ``invalid_grant`` (RFC 6749 §5.2). It does not contain the reason, which would help a thief of the code."""

    def __init__(self) -> None:
        super().__init__(
            "invalid_grant",
            "The code is not one of ours, has expired, was used, or was given for other parameters.",
            details={
                "remedy": "Begin anew, and send the client, redirect_uri, resource and code_verifier of that request."
            },
        )


class AuthorizationWish(Struct, frozen=True):
    """The request of a client to a holder: the scopes, the audience (None for the issuer), and the challenge of PKCE."""

    client: Did
    redirect: RegisteredRedirect
    scopes: frozenset[str]
    audience: str | None
    challenge: str


class FindRedirect(Struct, frozen=True):
    """The look-up of a redirection URI. Raises ``InvalidRequest`` for an unknown client or an unregistered URI: there is no
    redirect."""

    reader: DidReader

    async def __call__(self, client_id: str, uri: str) -> tuple[Did, RegisteredRedirect]:
        try:
            client = self.reader.parse(client_id)
            document = (await self.reader.caller(client)).head.state.document
            return client, codes.registered(document, uri)
        except (ValueError, InvalidDid, DidNotFound, DidDeactivated, DidQuarantined, Forbidden) as error:
            raise InvalidRequest(
                "The client is unknown, or has not registered this redirection URI.",
                details={
                    "remedy": f"client_id is a DID that is registered here, and a service of the type {codes.REDIRECT} in its document "
                    f"has the redirect_uri as its endpoint; {codes.NATIVE_REDIRECT} for an application that holds no key."
                },
            ) from error


class AuthorizeClient(Struct, frozen=True):
    """The code for a holder's decision, after ``holder`` has authenticated it."""

    signatures: AuthenticateDid
    codes: AuthorizationCodes
    record: Record
    clock: Clock

    async def holder(self, wish: AuthorizationWish, body_hash: str, header: str) -> Caller:
        """Return the DID that signed ``header`` with DIDAuth, over a challenge that is bound to ``body_hash``; the
        challenge is consumed. Raises ``AuthFailed``, ``DidNotFound``, ``DidDeactivated``; ``Forbidden`` for a holder
        who is the client."""
        signed = challenge.parse_header(header)
        named = signed.named
        if named is None or named.purpose != AUTHORIZE or named.body_hash != body_hash:
            raise AuthFailed("The challenge is not one for this decision.")
        if signed.did == wish.client:
            raise Forbidden("A DID gets a token for itself by client_credentials.")
        bound: Any = {"purpose": AUTHORIZE, "body_hash": body_hash, "target": "/oauth/authorize"}
        return Caller(did=signed.did, authorization=await self.signatures(signed, scheme=DID_AUTH, **bound))

    async def __call__(self, wish: AuthorizationWish, context: RequestContext) -> str:
        """Return the code. Raises ``AuthRequired``: when ``context`` has no holder who signed."""
        holder, proven, now = context.caller.did, context.caller.authorization, self.clock.now()
        if holder is None or proven is None:
            raise AuthRequired
        code = AuthorizationCode(
            id=multibase.base64url_encode(self.codes.random(16)),
            client=str(wish.client),
            is_native=wish.redirect.is_native,
            redirect=codes.hash_of(wish.redirect.uri),
            challenge=wish.challenge,
            audience=wish.audience,
            scopes=wish.scopes,
            holder=str(holder),
            key=proven.key,
            expires_at=now.replace(microsecond=0) + LIFE,
        )
        details: dict[str, JsonValue] = {"client": code.client, "scope": scope_text(code.scopes), "jti": code.id}
        seen_by = Parties(holder=code.holder, agent=code.client)
        await self.record(context, Event("client.authorized", code.holder, seen_by, details=details), now)
        return self.codes.seal(code)


class RedeemAuthorizationCode(Struct, frozen=True):
    """The exchange of a code for a token. Raises ``GrantRefused``."""

    codes: AuthorizationCodes
    spent: SpentChallenges
    issue: IssueToken
    clock: Clock

    def open_code(self, text: str) -> AuthorizationCode:
        """Open a code of this service, of which nothing else is verified yet."""
        try:
            return self.codes.open(text)
        except ValueError as error:
            raise GrantRefused from error

    async def __call__(
        self, code: AuthorizationCode, client: str, redirect_uri: str, verifier: str, context: RequestContext
    ) -> IssuedToken:
        """Return the token of the holder for ``client``, which is authenticated if it has a key."""
        try:
            code.check(client, redirect_uri, verifier)
        except ValueError as error:
            raise GrantRefused from error
        row = ChallengeUseRow(code.digest, code.digest[:16], None, code.expires_at)
        if self.clock.now() >= code.expires_at or not await self.spent.spend(row):
            await self._withdraw(code)
            raise GrantRefused
        return await self.issue.for_client(code, context)

    async def _withdraw(self, code: AuthorizationCode) -> None:
        """Revoke the token of the code, also one that is being written at this moment."""
        digest, last = codes.withdrawal_of(code.id), self.issue.last_end(code)
        if self.clock.now() < last:
            await self.spent.spend(ChallengeUseRow(digest, digest[:16], 0, last))
