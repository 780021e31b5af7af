"""The endpoint ``/oauth/token``: issueToken for clients of OAuth (RFC 6749 §4.4, RFC 7523 §2.2, RFC 8707). The code flow is in
``authorization_endpoint.py``.

It takes a form and returns errors in OAuth's own shape, which is not that of the OpenAPI document. So it is a page beside that
document, listed in the metadata (``metadata.py``). A client can authenticate only by ``private_key_jwt``; an ``Authorization``
header is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol

from msgspec import Struct

from identity_client.challenge import TOKEN
from identity_codec.strict_json import JsonValue
from identity_codec.structs import UNSET
from identity_core.api.pages import form_members
from identity_core.api.request import NO_STORE, Answer, Operation, PageForm, Request
from identity_core.api.writing import AuditRefusals
from identity_core.domain.callers import OF_DIDS, Caller, scope_text
from identity_core.errors import AuthFailed, AuthRequired, IdentityError, InvalidRequest
from identity_core.extension.declaration import TokenGrants
from identity_oauth import wire
from identity_oauth.domain.client_assertion import ASSERTION_TYPE, AUTH_METHOD
from identity_oauth.domain.tokens import OauthRefusal, parse_scopes
from identity_oauth.refusals import oauth_error
from identity_oauth.use_cases.client_assertions import AuthenticateClient
from identity_oauth.use_cases.tokens import GRANT, IssuedToken, IssueToken

TOKEN_PATH: Final = "/oauth/token"  # noqa: S105 - a path
AUTHORIZE_PATH: Final = "/oauth/authorize"
MAX_BODY: Final = 32 * 1024
"""An assertion has 8,192 characters at most."""

# RFC 6749 §5.2: where the client used ``Authorization``, the challenge names the scheme that OAuth has for it.
OPERATION: Final = Operation(
    "issueToken",
    "POST",
    TOKEN_PATH,
    frozenset({AUTH_METHOD}),
    'Basic realm="identity"',
    shape=oauth_error,
    purpose=TOKEN,
)


class TokenGrant(Protocol):
    """A grant other than client credentials. ``form`` is the body of the request; ``metadata`` are its members in the issuer's
    metadata."""

    metadata: ClassVar[Mapping[str, Any]] = {}

    async def __call__(self, request: Request, form: Mapping[str, str]) -> Answer:
        """Return the answer with the token."""


class TokenEndpoint(Struct, frozen=True):
    """The token endpoint.

    - ``resources``: the scopes of the resources that tokens are issued for, by path below the issuer (RFC 8707).
    - ``mismatch``: as the gate's. No code or assertion is used if the databases are not those that this service wrote.
    - ``grants``: grants other than ``client_credentials``, by name.
    """

    authenticate: AuthenticateClient
    issue: IssueToken
    refusals: AuditRefusals
    resources: Mapping[str, frozenset[str]]
    mismatch: Callable[[], IdentityError | None]
    grants: TokenGrants

    @property
    def form(self) -> PageForm:
        """Return the form for the application."""
        return PageForm(self, OPERATION, MAX_BODY)

    async def __call__(self, request: Request) -> Answer:
        """Answer a request for a token. Raises ``OauthRefusal``, ``AuthFailed``, ``AuthRequired``, ``InvalidRequest``, and what
        IssueToken raises."""
        form = read_form(request, self.mismatch, f"A client shows who it is by {AUTH_METHOD}, and not by a header.")
        answer = await self.grants.get(form.get("grant_type", ""), self._client_credentials)(request, form)
        return Answer(answer.status, answer.body, headers=[*answer.headers, ("pragma", "no-cache")])

    async def _client_credentials(self, request: Request, form: Mapping[str, str]) -> Answer:
        scope, audience = self._wish(form)
        request.caller = await authenticated(form, self.authenticate)

        async def issued(request: Request) -> Answer:
            asked = wire.IssueTokenRequest(scope=UNSET if scope is None else scope)
            return token_answer(await self.issue(asked, request.context, audience))

        return await self.refusals.around(OPERATION, issued)(request)

    def _wish(self, form: Mapping[str, str]) -> tuple[str | None, str | None]:
        """Return the scopes of a form in canonical order, None for all, and the audience; unknown parameters are ignored (RFC 6749
        §3.2).

        Raises ``OauthRefusal``, ``AuthFailed``.
        """
        grants: list[JsonValue] = [GRANT, *self.grants]
        if "grant_type" not in form:
            raise InvalidRequest("grant_type is missing.", details={"supported": grants})
        if form["grant_type"] != GRANT:
            raise OauthRefusal("unsupported_grant_type", "The grant_type is unknown.", {"supported": grants})
        _require_assertion(form)
        scopes = read_scopes(form.get("scope"))
        return None if scopes is None else scope_text(scopes), self.audience(form.get("resource"))

    def audience(self, resource: str | None) -> str | None:
        """Return None for the issuer, with or without the slash of an empty path (RFC 3986 §6.2.3). Raises ``OauthRefusal``."""
        issuer = self.issue.issuer
        if resource in (None, issuer, f"{issuer}/"):
            return None
        known: list[JsonValue] = [issuer + path for path in self.resources]
        if resource not in known:
            raise OauthRefusal("invalid_target", "The resource is unknown.", {"supported": known})
        return resource


def read_form(request: Request, mismatch: Callable[[], IdentityError | None], refused: str) -> Mapping[str, str]:
    """Return the members of a form. Raises ``AuthRequired`` with the text ``refused`` for a request that authenticates by a header, and
    what ``mismatch`` returns."""
    if (found := mismatch()) is not None:
        raise found
    if request.header("authorization") is not None or request.header("x-api-key") is not None:
        raise AuthRequired(refused)
    return form_members(request.body_octets)


async def authorize(request: Request) -> Answer:
    """Refuse every authorization request, because a service without pages cannot show a holder the decision. The metadata names
    this endpoint because some clients need one."""
    described = f"There is no code flow here: use the grant {GRANT} with {AUTH_METHOD}."
    body = {"error": "unauthorized_client", "error_description": described}
    return Answer(400, body, headers=[NO_STORE])


async def authenticated(form: Mapping[str, str], authenticate: AuthenticateClient) -> Caller:
    """Authenticate a client by ``private_key_jwt`` and return it. Raises ``AuthFailed``."""
    _require_assertion(form)
    return await authenticate(form["client_assertion"], form.get("client_id"))


def _require_assertion(form: Mapping[str, str]) -> None:
    if "client_assertion" not in form:
        raise AuthFailed("client_assertion is missing.", details={"supported": [AUTH_METHOD]})
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        raise AuthFailed("The client_assertion_type is another.", details={"supported": [ASSERTION_TYPE]})


def read_scopes(text: str | None) -> frozenset[str] | None:
    """Return the scopes of a request, None if it names none. Raises ``OauthRefusal``."""
    if text is None:
        return None
    try:
        scopes = parse_scopes(text)
    except ValueError as error:
        raise OauthRefusal("invalid_scope", "scope is not a list of scopes with single blanks.", {}) from error
    if not scopes <= OF_DIDS:
        raise OauthRefusal("invalid_scope", "A scope is unknown.", {"supported": [*sorted(OF_DIDS)]})
    return scopes


def token_answer(issued: IssuedToken) -> Answer:
    """Return the answer of RFC 6749 §5.1."""
    token, seconds = issued.token, issued.token.expires_at - issued.token.issued_at
    body = wire.TokenAnswer(
        access_token=issued.text,
        token_type="Bearer",  # noqa: S106 - RFC 6749 §5.1
        expires_in=int(seconds.total_seconds()),
        scope=UNSET if token.scopes is None else scope_text(token.scopes),
    )
    return Answer(200, body, headers=[NO_STORE])
