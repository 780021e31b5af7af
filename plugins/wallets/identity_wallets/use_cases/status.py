"""The status of the credential of a wallet's copy, for verifiers elsewhere and for the one here.

The issuer's key signs the list, the one that signs copies now: a verifier of a copy can verify its status, and needs no other key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, field

from identity_codec import multibase
from identity_codec.jose import ES256, signing_input
from identity_codec.values import Hidden
from identity_core.cache import BoundedCache
from identity_core.domain.credentials.credential import CredentialStatus, StatusPurpose
from identity_core.domain.dids.did import Did
from identity_core.errors import DidDeactivated, DidNotFound, InvalidCredential, StatusListNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_wallets.domain import token_status
from identity_wallets.use_cases.offer import WalletIssuer

KEPT: Final = 256


class TokenStatusList(Hidden, Struct, frozen=True):
    """A list as it is served, as it was at ``version``, signed by ``key_id`` of ``issuer``."""

    version: int
    issuer: Did
    key_id: str
    signed_at: datetime
    token: str


class GetTokenStatusList(Struct, frozen=True):
    """Raises ``StatusListNotFound``, also where the issuer has no key any more that signs copies, and what the custodian raises."""

    credentials: Credentials
    issuer: WalletIssuer
    origin: str
    clock: Clock
    kept: BoundedCache[str, TokenStatusList] = field(default_factory=lambda: BoundedCache(KEPT))

    async def __call__(self, list_id: str) -> str:
        known, now = self.kept.get(list_id), self.clock.now()
        if (
            known is not None
            and now - known.signed_at < token_status.SERVED
            and known.version == await self.credentials.status_list_version(list_id)
            and known.key_id == await self._key_id(known.issuer)
        ):
            return known.token
        # The older of the two is remembered as the version: a change between them is read with the next request.
        found = await self.credentials.status_list(list_id, StatusPurpose.REVOCATION)
        suspended = await self.credentials.status_list(list_id, StatusPurpose.SUSPENSION)
        if found is None or suspended is None:
            raise StatusListNotFound
        places = {CredentialStatus.REVOKED: found.set_indexes, CredentialStatus.SUSPENDED: suspended.set_indexes}
        issuer, listed = Did.parse(found.issuer), await asyncio.to_thread(token_status.encoded, places)
        key_id = await self._key_id(issuer)
        claims = token_status.claims(found.issuer, f"{self.origin}{token_status.PATH}{list_id}", listed, now)
        text = signing_input({"alg": ES256, "typ": token_status.TYPE, "kid": key_id}, claims)
        signature = await self.issuer.custodian.sign(key_id, text.encode("ascii"))
        token = f"{text}.{multibase.base64url_encode(signature)}"
        return self.kept.store(list_id, TokenStatusList(found.version, issuer, key_id, now, token)).token

    async def _key_id(self, issuer: Did) -> str:
        try:
            return (await self.issuer.newest_key(issuer))[0]
        except (DidDeactivated, DidNotFound, InvalidCredential) as error:
            raise StatusListNotFound from error


class ListedCopyStatus(Struct, frozen=True):
    """The status of a copy in the lists of this service, whose address is ``origin``."""

    credentials: Credentials
    origin: str

    async def __call__(self, claims: Mapping[str, Any]) -> CredentialStatus | None:
        named = token_status.referred(claims, self.origin)
        if named is None:
            return None
        found = await self.credentials.status_at(named.list_id, named.index)
        if found is None:
            raise ValueError("its status names a place that no credential has")
        return found
