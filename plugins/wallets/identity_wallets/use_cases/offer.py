"""createCredentialOffer: lets a wallet collect a stored credential once (OpenID4VCI 1.0 §4.1, pre-authorised code).

The holder of the code gets the credential, so it is the issuer's to give, lives for ten minutes, and works once; with a transaction code,
which the issuer sends by another channel, a stolen code alone is not enough.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from identity_codec.structs import value_or
from identity_core.domain.activity import RequestContext
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import InvalidCredential
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CredentialSchemas
from identity_core.ports.custodian import Custodian
from identity_core.ports.securing import IssuingFormat, SecuringFormat
from identity_core.use_cases.credentials.issue import newest_held_key
from identity_core.use_cases.credentials.read import WRITE, CredentialAccess
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_wallets.domain import claims
from identity_wallets.domain.grants import Stage, WalletGrant, WalletGrants
from identity_wallets.wire import CreateCredentialOfferRequest


class WalletIssuer(Struct, frozen=True):
    """The signer of credentials for wallets: a format that issues, None where no plugin brings it, and the keys of issuers."""

    format: SecuringFormat | None
    reader: DidReader
    custodian: Custodian

    @property
    def securing(self) -> IssuingFormat:
        """The format. Raises ``InvalidCredential``."""
        if not isinstance(self.format, IssuingFormat):
            raise InvalidCredential(details={"reason": f"no plugin of this service issues {claims.FORMAT}"})
        return self.format

    async def key(self, credential: Credential, now: datetime) -> tuple[str, PublicKey]:
        """Return the issuer's key that signs it. Raises ``CredentialRevoked``, ``CredentialExpired``, ``DidDeactivated``,
        ``InvalidCredential`` and what the reader raises."""
        credential.check_usable(now)
        return await self.newest_key(credential.issuer)

    async def newest_key(self, issuer: Did) -> tuple[str, PublicKey]:
        """Return the key that signs for wallets in the issuer's name. Raises ``DidDeactivated``, ``InvalidCredential`` and what the
        reader raises."""
        document = (await self.reader.active(issuer)).head.state.document
        return await newest_held_key(self.custodian, document, kind=self.securing.key_type)


class WalletOffer(Struct, frozen=True):
    """An offer: its grant, the schema whose credential it is, and the pre-authorised code."""

    grant: WalletGrant
    schema_id: str
    code: str


class CreateCredentialOffer(Struct, frozen=True):
    """Raises ``Forbidden``, ``CredentialNotFound``, and what ``WalletIssuer.key`` raises."""

    access: CredentialAccess
    schemas: CredentialSchemas
    issuer: WalletIssuer
    grants: WalletGrants
    record: Record
    clock: Clock

    async def __call__(
        self, credential_id: str, wish: CreateCredentialOfferRequest, context: RequestContext
    ) -> WalletOffer:
        credential = (await self.access.find(credential_id, context.caller, WRITE)).credential
        context.caller.require_acting_for(credential.issuer, WRITE)
        now = self.clock.now()
        await self.issuer.key(credential, now)
        registered = await self.schemas.get(credential.schema.id)
        if registered is not None:
            claims.check_names(registered.definition)
        grant = self.grants.offer(credential.id, now, with_transaction_code=value_or(wish.transaction_code, False))
        await self.record(context, credential.event("credential.offered"), now)
        return WalletOffer(grant, credential.schema.id, self.grants.seal(Stage.CODE, grant))
