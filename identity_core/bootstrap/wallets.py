"""What wallets are offered, collect and present, over the ports and the installed formats."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack

from identity_core.api.presentations import PresentationEndpoints
from identity_core.api.wallets import WalletEndpoints
from identity_core.bootstrap.ports import origin_of
from identity_core.bootstrap.runtime import Runtime
from identity_core.crypto.sealing import derive_key
from identity_core.domain.wallets.claims import FORMAT
from identity_core.domain.wallets.grants import WalletGrants
from identity_core.extension.declaration import Contribution
from identity_core.extension.opening import OpenKernel
from identity_core.use_cases.credentials.offer import WalletIssuer
from identity_core.use_cases.credentials.schemas import GetCredentialSchema
from identity_core.use_cases.credentials.sealed import SealedCredentials
from identity_core.use_cases.record import Record
from identity_core.use_cases.wallets.collect import CollectCredential
from identity_core.use_cases.wallets.present import AcceptPresentation, SignRequestObject, VerifierKeys
from identity_core.use_cases.wallets.requests import KeptRequests
from identity_core.use_cases.wallets.status import CopyStatus, GetTokenStatusList


def wallet_issuer(opened: Runtime) -> WalletIssuer:
    """What signs credentials for wallets."""
    return WalletIssuer(opened.plugins.securing_formats().get(FORMAT), opened.reader, opened.custodian)


def wallet_grants(opened: Runtime) -> WalletGrants:
    """Codes, tokens and nonces as every process of this installation makes them and takes them back."""
    return WalletGrants(derive_key(opened.challenge_secret, info=b"identity: wallets, v1"), secrets.token_bytes)


def copy_status(opened: Runtime) -> CopyStatus:
    """What the status of a copy is looked up with."""
    return CopyStatus(opened.store.credentials, origin_of(opened.settings))


def kept_requests(opened: Runtime) -> KeptRequests:
    """What verifiers asked wallets for."""
    secret = derive_key(opened.challenge_secret, info=b"identity: presentations, v1")
    return KeptRequests(opened.store.presentations, secret, secrets.token_bytes, opened.clock)


def presentation_endpoints(opened: Runtime) -> PresentationEndpoints:
    """Where wallets present."""
    kept, clock = kept_requests(opened), opened.clock
    keys = VerifierKeys(opened.reader, opened.custodian)
    return PresentationEndpoints(
        origin=origin_of(opened.settings),
        sign=SignRequestObject(kept, keys, clock),
        accept=AcceptPresentation(
            kept, opened.plugins.securing_workers(anonymous=True).get(FORMAT), opened.reader, copy_status(opened), clock
        ),
        mismatch=opened.mismatch,
    )


def wallet_endpoints(opened: Runtime, sealed_credentials: SealedCredentials) -> WalletEndpoints:
    """What wallets ask."""
    spent, record, clock, grants = (
        opened.store.spent_challenges,
        Record(opened.store.activity),
        opened.clock,
        wallet_grants(opened),
    )
    issuer, origin = wallet_issuer(opened), origin_of(opened.settings)
    collect = CollectCredential(grants, spent, sealed_credentials, issuer, origin, record, clock)
    return WalletEndpoints(
        origin=origin,
        schema=GetCredentialSchema(sealed_credentials.schemas),
        collect=collect,
        status_list=GetTokenStatusList(opened.store.credentials, issuer, origin, clock),
        grants=grants,
        clock=clock,
        methods=tuple(sorted(opened.reader.methods.keys() - {"web"} | {"key"})),
        mismatch=opened.mismatch,
    )


async def open_wallets(opened: Runtime, kernel: OpenKernel, stack: AsyncExitStack) -> Contribution:
    """Open the endpoints of wallets."""
    wallets = wallet_endpoints(opened, kernel.need(SealedCredentials))
    presentations = presentation_endpoints(opened)
    return Contribution(pages=wallets.pages | presentations.pages, forms=wallets.forms | presentations.forms)
