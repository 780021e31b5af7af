"""setCredentialStatus: revoke permanently, suspend, resume. Only for the issuer, or an operator for the issuer.

getStatusList: an issuer's list as a verifiable credential, signed by the service.

The service maintains the lists, also for issuers whose keys it does not hold. So the service signs them with its log key, which every
DID log made here names in ``updateKeys``, as ``did:key``, under ``eddsa-jcs-2022``. The same bits have the same bytes for every caller
and every process, so that caches can store them.
"""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec import Struct, field

from identity_client import data_integrity
from identity_codec import jcs, multibase, times
from identity_codec.structs import value_or
from identity_core.cache import BoundedCache
from identity_core.domain.activity import RequestContext, StatusChanged
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.errors import InvalidRequest, Overloaded, StatusListNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_core.use_cases.credentials.read import WRITE, CredentialAccess
from identity_core.use_cases.dids.log_keys import LogSigner
from identity_core.use_cases.record import Record
from identity_core.wire import SetCredentialStatusRequest

_TRIES: Final = 16
_KINDS: Final = {
    CredentialStatus.REVOKED: "credential.revoked",
    CredentialStatus.SUSPENDED: "credential.suspended",
    CredentialStatus.ACTIVE: "credential.resumed",
}


class SetCredentialStatus(Struct, frozen=True):
    """Use case setCredentialStatus; a status that is already set is no error. Raises ``CredentialNotFound``. Raises ``Forbidden``: when
    the caller is a party but not the issuer. Raises ``Conflict``: when the credential is revoked."""

    access: CredentialAccess
    credentials: Credentials
    record: Record
    clock: Clock

    async def __call__(
        self, credential_id: str, wish: SetCredentialStatusRequest, context: RequestContext
    ) -> Credential:
        purpose, reason = _purpose(wish.purpose), value_or(wish.reason, None)
        for _ in range(_TRIES):
            credential = (await self.access.find(credential_id, context.caller, WRITE)).credential
            context.caller.require_acting_for(credential.issuer, WRITE)
            status = credential.status_after(purpose, wish.value)
            if status is credential.status:
                return credential
            now = self.clock.now()
            with context.keeping(lambda changed: changed):
                changed = await self.credentials.set_status(credential, status, reason, now)
            if changed is not None:
                await self.record(context, changed.event(_KINDS[status], StatusChanged), now)
                return changed
        raise Overloaded("Too many others change the status of this credential.", details={"retryAfter": 1})


def _purpose(text: str) -> StatusPurpose:
    """Return the purpose that is set or lifted. Raises ``InvalidRequest``."""
    try:
        return StatusPurpose(text)
    except ValueError:
        raise InvalidRequest("The purpose is revocation or suspension.", details={"member": "purpose"}) from None


KEPT: Final = 256


class SignedStatusList(Struct, frozen=True):
    """The served bytes of a list; ``version`` changes whenever they do."""

    version: int
    encoded: bytes


class GetStatusList(Struct, frozen=True):
    """Use case getStatusList. Raises ``StatusListNotFound``. A list is cached while its version is the newest."""

    credentials: Credentials
    signer: LogSigner
    base_url: str
    kept: BoundedCache[str, SignedStatusList] = field(default_factory=lambda: BoundedCache(KEPT))

    async def __call__(self, public_id: str) -> SignedStatusList:
        try:
            list_id, purpose = status_list.parse_public_id(public_id)
        except ValueError:
            raise StatusListNotFound from None
        await self.signer.generations.fresh()
        name, signer = self.signer.name, self.signer.multikey
        known = self.kept.get(f"{public_id} {signer}")
        if known is not None and known.version == await self.credentials.status_list_version(list_id):
            return known
        found = await self.credentials.status_list(list_id, purpose)
        if found is None:
            raise StatusListNotFound
        # Compression is slow if many credentials are revoked.
        document = await asyncio.to_thread(
            status_list.unsigned,
            list_id,
            purpose,
            found.set_indexes,
            issuer=f"did:key:{signer}",
            base_url=self.base_url,
            valid_from=found.changed_at,
        )
        # VC Data Integrity EdDSA 1.0 §3.3.1: the proof's configuration has the context of the signed document.
        config = {
            "@context": document["@context"],
            **data_integrity.proof_config(signer, times.printed(found.changed_at)),
        }
        signature = await self.signer.custodian.sign(name, data_integrity.proof_input(config, document))
        document["proof"] = {**config, "proofValue": multibase.base58btc_encode(signature)}
        return self.kept.store(f"{public_id} {signer}", SignedStatusList(found.version, jcs.canonicalize(document)))
