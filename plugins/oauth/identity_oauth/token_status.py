"""``/oauth/revoke`` (RFC 7009) and ``/oauth/introspect`` (RFC 7662).

A client revokes a token that a holder gave it. Other tokens end with the key by which they were obtained, so that a request with one
needs no further read; RFC 7009 §2.2.1 has a refusal for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec import Struct

from identity_codec.values import replace
from identity_core.api.request import NO_STORE, Answer, PageForm, Request
from identity_core.domain.activity import Event
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, IdentityError, InvalidRequest
from identity_core.ports.repositories import ChallengeUseRow
from identity_core.use_cases.record import Record
from identity_oauth.domain.authorization_code import NATIVE_REDIRECT, withdrawal_of
from identity_oauth.domain.client_assertion import AUTH_METHOD
from identity_oauth.domain.tokens import API_KEY, AccessToken, OauthRefusal
from identity_oauth.token_endpoint import MAX_BODY, OPERATION, authenticated, read_form
from identity_oauth.use_cases.authorization import NATIVE
from identity_oauth.use_cases.client_assertions import AuthenticateClient
from identity_oauth.use_cases.tokens import AuthenticateToken

REVOKE_PATH: Final = "/oauth/revoke"
INTROSPECT_PATH: Final = "/oauth/introspect"
REVOKE: Final = replace(OPERATION, operation_id="revokeToken", path=REVOKE_PATH)
INTROSPECT: Final = replace(OPERATION, operation_id="introspectToken", path=INTROSPECT_PATH)


class TokenStatus(Struct, frozen=True):
    """The endpoints of the state of a token. ``resources`` are the paths that tokens are issued for; ``mismatch`` is as the gate's."""

    authenticate: AuthenticateClient
    tokens: AuthenticateToken
    record: Record
    resources: Collection[str]
    mismatch: Callable[[], IdentityError | None]

    @property
    def forms(self) -> Mapping[str, PageForm]:
        """Return the forms by path."""
        shown = ((self.revoke, REVOKE), (self.introspect, INTROSPECT))
        return {one.path: PageForm(run, one, MAX_BODY) for run, one in shown}

    async def revoke(self, request: Request) -> Answer:
        """End a token of the client. Any other text is no error, because it cannot be used either (RFC 7009 §2.2). Raises
        ``OauthRefusal``, ``AuthFailed``, ``AuthRequired``, ``InvalidRequest``."""
        form = self._form(request)
        # An application without a key has none to show. Its document says so, and only it and its holder have the token.
        is_native = "client_assertion" not in form and "client_id" in form
        request.caller = NATIVE if is_native else await authenticated(form, self.authenticate)
        client = form["client_id"] if is_native else str(request.caller.did)
        found = await self.tokens.current(form["token"], self.resources)
        if found is not None:
            await self._end(found, client, request)
        return Answer(200, {}, headers=[NO_STORE])

    async def _end(self, found: AccessToken, client: str, request: Request) -> None:
        if found.client == found.subject or found.client.startswith(API_KEY):
            refused = "This token ends with its key: rotate the key of the DID, or revoke the API key."
            raise OauthRefusal("unsupported_token_type", refused, {})
        if found.client != client:
            raise OauthRefusal("invalid_grant", "The token was issued to another client.", {})
        services = (await self.tokens.reader.active(Did.parse(client))).head.state.document.services
        if request.caller is NATIVE and NATIVE_REDIRECT not in {one.type for one in services}:
            raise AuthFailed("client_assertion is missing.", details={"supported": [AUTH_METHOD]})
        digest = withdrawal_of(found.identifier)
        if await self.tokens.spent.spend(ChallengeUseRow(digest, digest[:16], 0, found.expires_at)):
            event = Event(target=found.subject, details={"client": found.client, "jti": found.identifier})
            await self.record(request.context, event, self.tokens.clock.now())

    async def introspect(self, request: Request) -> Answer:
        """Return the state and the claims of a token to an authenticated client. Raises ``AuthFailed``, ``AuthRequired``,
        ``InvalidRequest``."""
        form = self._form(request)
        request.caller = await authenticated(form, self.authenticate)
        found = await self.tokens.current(form["token"], self.resources)
        if found is None:
            return Answer(200, {"active": False}, headers=[NO_STORE])
        claims = {name: value for name, value in found.claims(self.tokens.issuer).items() if name != "key"}
        return Answer(200, {"active": True, "token_type": "Bearer", **claims}, headers=[NO_STORE])

    def _form(self, request: Request) -> Mapping[str, str]:
        """Return the members of a form with a token, read only from the ledger that this service wrote."""
        form = read_form(request, self.mismatch, "A client authenticates in the form, and not by a header.")
        if "token" not in form:
            raise InvalidRequest("token is missing.", details={"field": "token"})
        return form
