"""getStatusList: an issuer's list as a verifiable credential, signed by the service.

The service keeps the lists, also of issuers whose keys it does not hold, so it is the service that signs them: with its log
key, which every DID log made here names in ``updateKeys``, as ``did:key``, under ``eddsa-jcs-2022``. The same bits are the same
octets, whoever asks and whichever process answers, so that caches can hold them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from identity_core.cache import BoundedCache
from identity_core.domain import status_list, times
from identity_core.domain.log import entry
from identity_core.errors import StatusListNotFound
from identity_core.ports.credentials import Credentials
from identity_core.use_cases.dids.writer import LogSigner

KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class SignedStatusList:
    """The list as the octets that are served; ``version`` changes whenever they do."""

    version: int
    octets: bytes


@dataclass(frozen=True, slots=True)
class GetStatusList:
    """Raises ``StatusListNotFound``. Lists are kept as long as their version is the newest."""

    credentials: Credentials
    signer: LogSigner
    base_url: str
    kept: BoundedCache[str, SignedStatusList] = field(default_factory=lambda: BoundedCache(KEPT))

    async def __call__(self, public_id: str) -> SignedStatusList:
        try:
            list_id, purpose = status_list.parse_public_id(public_id)
        except ValueError:
            raise StatusListNotFound from None
        known = self.kept.get(public_id)
        if known is not None and known.version == await self.credentials.status_list_version(list_id):
            return known
        found = await self.credentials.status_list(list_id, purpose)
        if found is None:
            raise StatusListNotFound
        signer = self.signer.multikey
        # Compressing takes a while when much is revoked.
        document = await asyncio.to_thread(
            status_list.unsigned,
            list_id,
            purpose,
            found.set_indexes,
            issuer=f"did:key:{signer}",
            base_url=self.base_url,
            valid_from=found.changed_at,
        )
        # VC Data Integrity EdDSA 1.0 §3.3.1: the proof's configuration carries the context of what it signs.
        config = {"@context": document["@context"], **entry.proof_config(signer, times.printed(found.changed_at))}
        signature = await self.signer.custodian.sign(self.signer.name, entry.proof_input(config, document))
        document["proof"] = {**config, "proofValue": entry.proof_value(signature)}
        return self.kept.put(public_id, SignedStatusList(found.version, entry.canonical(document)))
