"""The extension ``wallets``: its operations and endpoints over what the kernel offers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_core.database import Database
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.credentials import CopyStatus
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.background import ForgetRows
from identity_core.use_cases.credentials.read import CredentialAccess
from identity_core.use_cases.credentials.schemas import GetCredentialSchema
from identity_core.use_cases.credentials.sealed import SealedCredentials
from identity_core.use_cases.record import Record
from identity_wallets.domain import token_status
from identity_wallets.domain.claims import FORMAT
from identity_wallets.domain.grants import PRE_AUTHORIZED, WalletGrants
from identity_wallets.handlers import WalletHandlers
from identity_wallets.issuance_endpoints import (
    CREDENTIAL_PATH,
    ISSUERS,
    METADATA_PATH,
    NONCE_PATH,
    PreAuthorizedCode,
    WalletEndpoints,
)
from identity_wallets.presentation_endpoints import REQUESTS, RESPONSE, PresentationEndpoints
from identity_wallets.store import StoredPresentations
from identity_wallets.use_cases.ask import GetPresentation, RequestPresentation
from identity_wallets.use_cases.collect import CollectCredential, RedeemCode
from identity_wallets.use_cases.offer import CreateCredentialOffer, WalletIssuer
from identity_wallets.use_cases.present import AcceptPresentation, SignRequestObject, VerifierKeys
from identity_wallets.use_cases.requests import KeptRequests
from identity_wallets.use_cases.status import GetTokenStatusList, ListedCopyStatus
from identity_wallets.wire import DOCUMENT


@contextlib.asynccontextmanager
async def open_wallets(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension."""
    presentations = StoredPresentations(kernel.need(Database))
    kept = KeptRequests(presentations, kernel.secret("presentations"), kernel.random, kernel.clock)
    keys = VerifierKeys(kernel.dids, kernel.need(Custodian))
    grants = WalletGrants(kernel.secret("grants"), kernel.random)
    issuer = WalletIssuer(kernel.issuing_formats().get(FORMAT), kernel.dids, keys.custodian)
    status = ListedCopyStatus(kernel.need(SealedCredentials).credentials, kernel.origin)
    issuance, verification = _issuance(kernel, grants, issuer), _verification(kernel, kept, keys, status)
    handlers = WalletHandlers(
        offer=CreateCredentialOffer(
            kernel.need(CredentialAccess), issuance.schema.schemas, issuer, grants, kernel.need(Record), kernel.clock
        ),
        request=RequestPresentation(kept, keys, kernel.clock, kernel.random),
        presentation=GetPresentation(kept),
        origin=kernel.origin,
    )
    async with ForgetRows(presentations.forget, kernel.clock):
        yield Contribution(
            handlers=(handlers,),
            pages=issuance.pages | verification.pages,
            forms=issuance.forms | verification.forms,
            grants={
                PRE_AUTHORIZED: PreAuthorizedCode(RedeemCode(grants, kernel.challenges, kernel.clock), kernel.clock)
            },
            services={CopyStatus: status},
        )


def _issuance(kernel: Kernel, grants: WalletGrants, issuer: WalletIssuer) -> WalletEndpoints:
    """Return the endpoints by which wallets collect credentials."""
    sealed, clock, origin = kernel.need(SealedCredentials), kernel.clock, kernel.origin
    return WalletEndpoints(
        origin=origin,
        schema=GetCredentialSchema(sealed.schemas),
        collect=CollectCredential(grants, kernel.challenges, sealed, issuer, origin, kernel.need(Record), clock),
        status_list=GetTokenStatusList(sealed.credentials, issuer, origin, clock),
        grants=grants,
        clock=clock,
        methods=tuple(sorted(kernel.dids.methods.keys() - {"web"} | {"key"})),
        mismatch=kernel.refusal,
    )


def _verification(kernel: Kernel, kept: KeptRequests, keys: VerifierKeys, status: CopyStatus) -> PresentationEndpoints:
    """Return the endpoints to which wallets present credentials."""
    securing = kernel.formats(anonymous=True).get(FORMAT)
    return PresentationEndpoints(
        origin=kernel.origin,
        sign=SignRequestObject(kept, keys, kernel.clock),
        accept=AcceptPresentation(kept, securing, kernel.dids, status, kernel.clock),
        mismatch=kernel.refusal,
    )


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="wallets",
        kernel=">=1,<2",
        requires=("oauth",),
        document=DOCUMENT,
        open=open_wallets,
        default=False,
        adopts=("presentation_requests",),
        paths=(
            *(CREDENTIAL_PATH, NONCE_PATH, METADATA_PATH),
            *(f"{METADATA_PATH}{ISSUERS}{{type}}", f"{ISSUERS}{{type}}{METADATA_PATH}"),
            *(REQUESTS + "{request}", RESPONSE, token_status.PATH + "{list}"),
        ),
    )
