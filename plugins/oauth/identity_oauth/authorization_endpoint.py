"""``/oauth/authorize`` and the grant of its code: a holder lets a client read in her name (RFC 6749 §4.1, 7636, 8707, 9207, 9700).

GET shows her the request, POST takes her signature and returns the next URL of the browser. A refusal is shown too, with a link to
the client. It is never an automatic redirect: any client can register a redirection URI, so this address would be an open
redirector (RFC 9700 §4.11.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from msgspec import Struct

from identity_client.challenge import DID_AUTH, hash_body
from identity_core.api.pages import form_members
from identity_core.api.request import NO_STORE, Answer, PageForm, Request
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import OF_CLIENTS
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthRequired, InvalidRequest
from identity_core.extension.declaration import PeoplePages
from identity_oauth.domain.authorization_code import S256, RegisteredRedirect, is_challenge
from identity_oauth.domain.client_assertion import AUTH_METHOD
from identity_oauth.domain.tokens import OauthRefusal
from identity_oauth.token_endpoint import OPERATION, TokenEndpoint, authenticated, read_scopes, token_answer
from identity_oauth.use_cases.authorization import (
    DECISION,
    NATIVE,
    AuthorizationWish,
    AuthorizeClient,
    FindRedirect,
    RedeemAuthorizationCode,
)

PARAMETERS: Final = frozenset(
    {
        *("response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "resource"),
        *("code_challenge", "code_challenge_method"),
    }
)
"""Those that mean something here, and that the holder signs; others are ignored (RFC 6749 §3.1)."""

MAX_BODY: Final = 32 * 1024
MAX_STATE: Final = 2_048


class ReceivedAuthorization(Struct, frozen=True):
    """A request whose client and redirection URI are known. ``said`` has its parameters, ``state`` the one to send back."""

    said: Mapping[str, str]
    client: Did
    redirect: RegisteredRedirect
    state: str | None
    issuer: str

    def going_back(self, error: str, description: str | None = None) -> str:
        """Return the place at which the client gets a refusal (RFC 6749 §4.1.2.1)."""
        return self.redirect.answer(error=error, error_description=description, state=self.state, iss=self.issuer)

    def going_on(self, code: str) -> str:
        """Return the place at which the client gets its code."""
        return self.redirect.answer(code=code, state=self.state, iss=self.issuer)


class AuthorizationEndpoint(Struct, frozen=True):
    """The page on which a holder decides about a client, and the handler of the decision. ``pages`` show the request to the holder."""

    find: FindRedirect
    authorize: AuthorizeClient
    token: TokenEndpoint
    pages: PeoplePages

    @property
    def form(self) -> PageForm:
        """Return the parameters of a POST."""
        return PageForm(self.decide, max_body=MAX_BODY)

    async def show(self, request: Request) -> Answer:
        """Return the page of a request; 400 for an invalid one, with a link back to the client, which only the reader follows.

        It uses no session, because a browser that comes from the client's page sends no cookie, and the decision is a signature.
        Raises ``InvalidRequest``: when there is no such link.
        """
        received, refusal, wish = await self.received(request.query_octets), None, None
        back = received.going_back("access_denied")
        try:
            wish = self.wish(received)
        except OauthRefusal as error:
            refusal, back = error, received.going_back(error.kind, str(error))
        shown = {"received": received, "wish": wish, "refusal": refusal, "back": back}
        answer: Answer = self.pages.page("authorize.html", request, status=400 if refusal else 200, **shown)
        return answer

    async def received(self, data: bytes) -> ReceivedAuthorization:
        """Return the request of a query or form. Raises ``InvalidRequest``, after which there is no redirect."""
        said = {name: value for name, value in form_members(data).items() if name in PARAMETERS}
        for name in ("client_id", "redirect_uri"):
            if name not in said:
                raise InvalidRequest(f"{name} is missing.")
        client, redirect = await self.find(said["client_id"], said["redirect_uri"])
        state = said.get("state")
        fits = state is not None and len(state) <= MAX_STATE and state.isascii() and state.isprintable()
        return ReceivedAuthorization(said, client, redirect, state if fits else None, self.token.issue.issuer)

    def wish(self, received: ReceivedAuthorization) -> AuthorizationWish:
        """Return the requested grant. Raises ``OauthRefusal``, which may be sent to the client."""
        said = received.said
        if said.get("response_type") != "code":
            kind = "unsupported_response_type" if "response_type" in said else "invalid_request"
            raise OauthRefusal(kind, "response_type is code.", {"supported": ["code"]})
        if said.get("response_mode", "query") != "query":
            raise OauthRefusal("invalid_request", "response_mode is query.", {"supported": ["query"]})
        if said.get("state") != received.state:
            raise OauthRefusal("invalid_request", "state is not printable ASCII, or too long.", {})
        # Without a method RFC 7636 §4.3 means plain, which gives no protection if the request is visible.
        if said.get("code_challenge_method") != S256 or not is_challenge(said.get("code_challenge", "")):
            raise OauthRefusal("invalid_request", "PKCE is needed: a code_challenge of S256.", {"supported": [S256]})
        audience = self.token.audience(said.get("resource"))
        allowed = OF_CLIENTS & self.token.resources[(audience or "").removeprefix(self.token.issue.issuer)]
        scopes = (read_scopes(said.get("scope")) or frozenset()) & allowed
        if not scopes:
            raise OauthRefusal(
                "invalid_scope", "scope names nothing that a client gets.", {"supported": [*sorted(allowed)]}
            )
        return AuthorizationWish(received.client, received.redirect, scopes, audience, said["code_challenge"])

    async def decide(self, request: Request) -> Answer:
        """Return the URL to which the browser takes the code, in exchange for the holder's signature. Raises ``InvalidRequest``,
        ``AuthRequired``, ``AuthFailed``, ``Forbidden``, ``DidNotFound``, ``DidDeactivated``, ``QuotaExceeded``,
        ``StorageMismatch``."""
        if (found := self.token.mismatch()) is not None:
            raise found
        scheme, _, header = (request.header("authorization") or "").partition(" ")
        if scheme != DID_AUTH:
            raise AuthRequired("The holder signs this decision.")
        received = await self.received(request.body_octets)
        wish = self.wish(received)
        request.caller = await self.authorize.holder(wish, hash_body({**received.said}), header)
        # A decision leaves a line in the audit log, as a token does.
        await self.token.refusals.quotas.spend(OPERATION, request)
        code = await self.authorize(wish, RequestContext(DECISION, request.caller, request.request_id))
        return Answer(200, {"redirect_to": received.going_on(code)}, headers=[NO_STORE])


class AuthorizationCodeGrant(Struct, frozen=True):
    """The grant ``authorization_code`` at ``/oauth/token``. A client with a key proves it. A client without one states its name,
    and its code is bound to a redirection URI on the holder's own machine or to an application of the holder."""

    metadata: ClassVar = {
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        # Applications that hold no key have none to show.
        "token_endpoint_auth_methods_supported": [AUTH_METHOD, "none"],
        "code_challenge_methods_supported": [S256],
        "authorization_response_iss_parameter_supported": True,
    }

    redeem: RedeemAuthorizationCode
    token: TokenEndpoint

    async def __call__(self, request: Request, form: Mapping[str, str]) -> Answer:
        """Redeem a code. Raises ``GrantRefused``, ``AuthFailed``, ``InvalidRequest``, ``OauthRefusal``."""
        for name in ("code", "redirect_uri", "code_verifier"):
            if name not in form:
                raise InvalidRequest(f"{name} is missing.")
        code = self.redeem.open_code(form["code"])
        is_stranger = code.is_native and "client_assertion" not in form
        if is_stranger:
            client, request.caller = form.get("client_id", ""), NATIVE
        else:
            request.caller = await authenticated(form, self.token.authenticate)
            client = str(request.caller.did)
        resource = form.get("resource")
        if resource is not None and self.token.audience(resource) != code.audience:
            raise OauthRefusal("invalid_target", "The code is for another resource.", {})

        async def issued(request: Request) -> Answer:
            redirect, verifier = form["redirect_uri"], form["code_verifier"]
            return token_answer(await self.redeem(code, client, redirect, verifier, request.context))

        # A stranger who could fill the audit log with refusals has none there.
        return await (issued if is_stranger else self.token.refusals.around(OPERATION, issued))(request)
