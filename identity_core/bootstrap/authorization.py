"""The authorization code flow over the ports, where there are pages on which a holder can decide."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack

from identity_core.api.auth import AuthHandlers
from identity_core.api.authorize import AuthorizationCodeGrant, AuthorizationEndpoint
from identity_core.api.oauth import AUTHORIZE_PATH, TOKEN_PATH, TokenEndpoint, TokenGrant
from identity_core.api.pages import metadata_pages
from identity_core.api.request import Handler, PageForm
from identity_core.api.writing import AuditRefusals
from identity_core.bootstrap.agents import agent_places
from identity_core.bootstrap.runtime import Runtime
from identity_core.crypto.sealing import derive_key
from identity_core.domain.authorization_code import GRANT, AuthorizationCodes
from identity_core.extension.declaration import Contribution
from identity_core.extension.opening import OpenKernel
from identity_core.ui.authorize import AuthorizePage
from identity_core.ui.pages import explained
from identity_core.use_cases.auth.authorization import AuthorizeClient, FindRedirect, RedeemAuthorizationCode
from identity_core.use_cases.auth.challenge import AuthenticateDid, ChallengeBook
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
    """The grant, by its name; none where the settings want no pages."""
    if not opened.settings.ui.enabled:
        return {}
    redeem = RedeemAuthorizationCode(_codes(opened), opened.store.spent_challenges, issue, opened.clock)
    return {GRANT: AuthorizationCodeGrant(redeem, authenticate, refusals, issue.issuer, resources)}


def authorization_pages(
    opened: Runtime, challenges: ChallengeBook, token: TokenEndpoint
) -> tuple[dict[str, Handler], dict[str, PageForm]]:
    """What GET serves and what POST takes, by path; nothing where the settings want no pages."""
    if not opened.settings.ui.enabled:
        return {}, {}
    signatures = AuthenticateDid(opened.reader, challenges, opened.clock)
    authorize = AuthorizeClient(signatures, _codes(opened), Record(opened.store.activity), opened.clock)
    find = FindRedirect(opened.reader)
    endpoint = AuthorizationEndpoint(
        find, authorize, token.refusals.quotas, token.issue.issuer, token.resources, token.mismatch
    )
    return {AUTHORIZE_PATH: explained(AuthorizePage(endpoint).show)}, {AUTHORIZE_PATH: endpoint.form}


async def open_oauth(opened: Runtime, kernel: OpenKernel, stack: AsyncExitStack) -> Contribution:
    """Open the token endpoint, the code flow, and what clients of OAuth look up."""
    settings, token = opened.settings, kernel.need(TokenEndpoint)
    metadata = metadata_pages(token.issue.issuer, token.grants, agent_places(settings), code_flow=settings.ui.enabled)
    people, forms = authorization_pages(opened, kernel.need(ChallengeBook), token)
    forms[TOKEN_PATH] = token.form
    return Contribution(handlers=(kernel.need(AuthHandlers),), pages=metadata, people=people, forms=forms)
