"""The authorization code flow over the ports, where there are pages on which a holder can decide."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack

from identity_core.api.auth import AuthHandlers
from identity_core.api.authorize import AuthorizationCodeGrant, AuthorizationEndpoint
from identity_core.api.oauth import AUTHORIZE_PATH, TOKEN_PATH, TokenEndpoint, TokenGrant
from identity_core.api.pages import metadata_pages
from identity_core.api.writing import AuditRefusals
from identity_core.bootstrap.runtime import Runtime
from identity_core.crypto.sealing import derive_key
from identity_core.domain.authorization_code import GRANT, AuthorizationCodes
from identity_core.extension.declaration import Contribution
from identity_core.extension.opening import OpenKernel
from identity_core.use_cases.auth.authorization import AuthorizeClient, FindRedirect, RedeemAuthorizationCode
from identity_core.use_cases.auth.challenge import AuthenticateDid
from identity_core.use_cases.auth.client_assertions import AuthenticateClient
from identity_core.use_cases.auth.tokens import IssueToken
from identity_core.use_cases.record import Record


def _codes(opened: Runtime) -> AuthorizationCodes:
    """As every process of this installation makes them and takes them back."""
    secret = derive_key(opened.challenge_secret, info=b"identity: authorization codes, v1")
    return AuthorizationCodes(secret, secrets.token_bytes)


def code_grant(
    opened: Runtime,
    authenticate: AuthenticateClient,
    issue: IssueToken,
    refusals: AuditRefusals,
    resources: Sequence[str],
) -> dict[str, TokenGrant]:
    """The grant, by its name; none where no pages are served."""
    if not opened.has_pages:
        return {}
    redeem = RedeemAuthorizationCode(_codes(opened), opened.store.spent_challenges, issue, opened.clock)
    return {GRANT: AuthorizationCodeGrant(redeem, authenticate, refusals, issue.issuer, resources)}


def authorization_endpoint(opened: Runtime, signatures: AuthenticateDid, token: TokenEndpoint) -> AuthorizationEndpoint:
    """Return what reads the requests of clients for the page of the code flow, and takes the decision of the holder."""
    authorize = AuthorizeClient(signatures, _codes(opened), Record(opened.store.activity), opened.clock)
    find, quotas = FindRedirect(opened.reader), token.refusals.quotas
    return AuthorizationEndpoint(find, authorize, quotas, token.issue.issuer, token.resources, token.mismatch)


async def open_oauth(opened: Runtime, kernel: OpenKernel, stack: AsyncExitStack) -> Contribution:
    """Open the token endpoint, the code flow if pages are served, and what clients of OAuth look up."""
    token, has_pages = kernel.need(TokenEndpoint), opened.has_pages
    places, forms = opened.resources, {TOKEN_PATH: token.form}
    metadata = metadata_pages(token.issue.issuer, token.grants, places, code_flow=has_pages)
    if has_pages:
        forms[AUTHORIZE_PATH] = kernel.need(AuthorizationEndpoint).form
    return Contribution(handlers=(kernel.need(AuthHandlers),), pages=metadata, forms=forms)
