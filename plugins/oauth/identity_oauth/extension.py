"""The extension ``oauth``: access tokens of the service, the code flow if there are pages, and the metadata of both."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_did_ids.service_log import FollowedServiceLog

from identity_core.api.security import Gate
from identity_core.api.writing import AuditRefusals
from identity_core.domain.callers import OF_AGENTS, OF_DIDS
from identity_core.extension.declaration import (
    Contribution,
    Extension,
    Kernel,
    PeoplePages,
    TokenGrants,
    TokenResources,
)
from identity_core.plugin import hookimpl
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.auth.authenticate import OwnTokens
from identity_core.use_cases.dids.log_keys import Generations
from identity_core.use_cases.record import Record
from identity_oauth.authorization_endpoint import AuthorizationCodeGrant, AuthorizationEndpoint
from identity_oauth.domain.authorization_code import GRANT, AuthorizationCodes
from identity_oauth.domain.tokens import INTERFACE
from identity_oauth.handlers import TokenHandlers
from identity_oauth.metadata import ISSUER_PATH, RESOURCE_PATH, metadata_pages, resource_metadata_url
from identity_oauth.token_endpoint import AUTHORIZE_PATH, TOKEN_PATH, TokenEndpoint, authorize
from identity_oauth.token_status import INTROSPECT_PATH, REVOKE_PATH, TokenStatus
from identity_oauth.use_cases.authorization import AuthorizeClient, FindRedirect, RedeemAuthorizationCode
from identity_oauth.use_cases.client_assertions import AuthenticateClient
from identity_oauth.use_cases.token_keys import GetJwks, TokenKeys
from identity_oauth.use_cases.tokens import AuthenticateToken, IssueToken
from identity_oauth.wire import DOCUMENT


@contextlib.asynccontextmanager
async def open_oauth(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension."""
    origin, gate, keys = kernel.origin, kernel.need(Gate), await _token_keys(kernel)
    resources = dict.fromkeys(("", INTERFACE), OF_DIDS) | dict.fromkeys(kernel.need(TokenResources), OF_AGENTS)
    record, lifetime = kernel.need(Record), kernel.settings.token.lifetime_seconds
    issue = IssueToken(kernel.dids, keys, record, kernel.clock, kernel.random, origin, lifetime)
    endpoints = frozenset(origin + path for path in (TOKEN_PATH, REVOKE_PATH, INTROSPECT_PATH))
    clients = AuthenticateClient(kernel.dids, kernel.challenges, kernel.clock, origin, endpoints)
    token = TokenEndpoint(
        clients, issue, kernel.need(AuditRefusals), resources, kernel.refusal, kernel.need(TokenGrants)
    )
    metadata = resource_metadata_url(origin, INTERFACE)
    own = AuthenticateToken(kernel.dids, gate.api_keys, keys, kernel.clock, origin, kernel.challenges, metadata)
    status = TokenStatus(clients, own, record, resources, kernel.refusal)
    pages, flow = metadata_pages(origin, token.grants, resources), _code_flow(kernel, token)
    yield Contribution(
        handlers=(TokenHandlers(issue, GetJwks(keys)),),
        pages=pages if flow else pages | {AUTHORIZE_PATH: authorize},
        people={AUTHORIZE_PATH: flow[0].pages.explained(flow[0].show)} if flow else {},
        forms={TOKEN_PATH: token.form, **status.forms} | ({AUTHORIZE_PATH: flow[0].form} if flow else {}),
        grants={GRANT: flow[1]} if flow else {},
        services={OwnTokens: own, TokenKeys: keys},
    )


def _code_flow(kernel: Kernel, token: TokenEndpoint) -> tuple[AuthorizationEndpoint, AuthorizationCodeGrant] | None:
    """Return the endpoint of holders' decisions and the grant of their codes; None if there are no pages on which a holder decides."""
    pages = kernel.find(PeoplePages)
    if pages is None:
        return None
    codes = AuthorizationCodes(kernel.secret("codes"), kernel.random)
    decide = AuthorizeClient(kernel.need(Gate).signatures, codes, token.issue.record, kernel.clock)
    redeem = RedeemAuthorizationCode(codes, kernel.challenges, token.issue, kernel.clock)
    return (
        AuthorizationEndpoint(FindRedirect(kernel.dids), decide, token, pages),
        AuthorizationCodeGrant(redeem, token),
    )


async def _token_keys(kernel: Kernel) -> TokenKeys:
    """Return the keys of access tokens, which follow the service log."""
    chosen, follow = kernel.settings.token, kernel.need(Generations)
    log = follow if isinstance(follow, FollowedServiceLog) else None
    replaced = () if log is None or log.history is None else log.history.replaced
    custodian, lifetime = kernel.need(Custodian), chosen.lifetime_seconds
    keys = await TokenKeys.open(custodian, chosen.key_number, kernel.clock, lifetime, replaced)
    if log is not None:
        keys.renew = log.now
        await log.tell(keys.hear)
    return keys


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="oauth",
        kernel=">=1,<2",
        after=("ui",),
        document=DOCUMENT,
        paths=(
            *(TOKEN_PATH, AUTHORIZE_PATH, REVOKE_PATH, INTROSPECT_PATH),
            *(ISSUER_PATH, RESOURCE_PATH, RESOURCE_PATH + INTERFACE),
        ),
        open=open_oauth,
        vital=True,
    )
