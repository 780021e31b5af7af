"""The operations of the extension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from identity_codec.structs import UNSET, encode
from identity_codec.times import printed
from identity_core.api.request import NO_STORE, Answer, Request
from identity_wallets.issuance_endpoints import OFFER_SCHEME, offer_of
from identity_wallets.presentation_endpoints import REQUESTS, WALLET_SCHEME
from identity_wallets.use_cases.ask import GetPresentation, RequestPresentation
from identity_wallets.use_cases.offer import CreateCredentialOffer, WalletOffer
from identity_wallets.wire import CredentialOffer, Presentation, PresentationRequest, PresentedWalletCredential


class WalletHandlers(Struct, frozen=True):
    """createCredentialOffer, requestPresentation, getPresentation."""

    offer: CreateCredentialOffer
    request: RequestPresentation
    presentation: GetPresentation
    origin: str

    async def create_credential_offer(self, request: Request) -> Answer:
        made = await self.offer(request.path["credentialId"], request.body, request.context)
        return Answer(201, credential_offer(made, self.origin), headers=[NO_STORE])

    async def request_presentation(self, request: Request) -> Answer:
        query = await self.request(request.body, request.authenticated)
        place = f"{self.origin}{REQUESTS}{query.id}"
        uri = f"{WALLET_SCHEME}?{urlencode({'client_id': query.client_id, 'request_uri': place})}"
        body = PresentationRequest(id=query.id, uri=uri, expires_at=printed(query.expires_at))
        return Answer(201, body, headers=[NO_STORE])

    async def get_presentation(self, request: Request) -> Answer:
        request_id = request.path["requestId"]
        answered_at, answer = await self.presentation(request_id, request.authenticated)
        return Answer(200, presentation(request_id, answered_at, answer), headers=[NO_STORE])


def credential_offer(made: WalletOffer, origin: str) -> CredentialOffer:
    """Return an offer with the link that a wallet opens (OpenID4VCI 1.0 §4.1.2)."""
    offer = offer_of(origin, made)
    return CredentialOffer(
        offer=offer,
        uri=f"{OFFER_SCHEME}?credential_offer={quote(encode(offer), safe='')}",
        transaction_code=made.grant.transaction_code or UNSET,
        expires_at=printed(made.grant.expires_at),
    )


def presentation(request_id: str, answered_at: str | None, answer: Mapping[str, Any] | None) -> Presentation:
    """Return the stored answer of a wallet; None if there is none yet."""
    shown = () if answer is None else answer["credentials"]
    return Presentation(
        id=request_id,
        state="pending" if answer is None else answer["state"],
        answered_at=answered_at,
        # One of before an upgrade has none.
        response_code=(answer or {}).get("responseCode", UNSET),
        credentials=tuple(
            PresentedWalletCredential(
                id=one["id"], issuer_did=one["issuerDid"], schema_id=one["schemaId"], claims=one["claims"]
            )
            for one in shown
        ),
    )
