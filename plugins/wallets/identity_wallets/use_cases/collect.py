"""The way of a wallet to a credential that it was offered: code, nonce, credential (OpenID4VCI 1.0 §6 to §8).

The wallet is known by what it holds alone: the code, then the token. Both are spent, durably, before anything is given out. A guess of a
transaction code takes one of five places before it is compared, so that many at once guess no more often than one after the other.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Final

from identity_oauth.domain.tokens import OauthRefusal
from msgspec import Struct

from identity_codec.jose import JoseKey
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.dids.did import Did, controller_of
from identity_core.domain.dids.keys import ASSERTION_METHOD, AUTHENTICATION
from identity_core.errors import (
    CredentialExpired,
    CredentialRevoked,
    DidDeactivated,
    DidNotFound,
    InvalidCredential,
    InvalidDid,
)
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges
from identity_core.ports.securing import Secured, UnsecuredCredential
from identity_core.use_cases.credentials.sealed import SealedCredentials
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_wallets.domain.claims import wallet_claims
from identity_wallets.domain.grants import MOST_TRIES, Stage, WalletGrant, WalletGrants
from identity_wallets.domain.possession import PossessionProof, key_in_document
from identity_wallets.use_cases.offer import WalletIssuer

WALLET: Final = Caller(name="wallet")


class RedeemCode(Struct, frozen=True):
    """Exchanges a pre-authorised code for the grant of an access token. Raises ``OauthRefusal``."""

    grants: WalletGrants
    spent: SpentChallenges
    clock: Clock

    async def __call__(self, code: str, transaction_code: str | None) -> tuple[str, WalletGrant]:
        """Return the access token, and what it grants."""
        now = self.clock.now()
        try:
            grant = self.grants.open(Stage.CODE, code, now)
        except ValueError as error:
            raise OauthRefusal("invalid_grant", "The code is not one of ours, has expired, or was used.") from error
        if (grant.transaction_code is None) != (transaction_code is None):
            needs = "needs a" if transaction_code is None else "takes no"
            raise OauthRefusal("invalid_request", f"This code {needs} tx_code.")
        if transaction_code is not None:
            await self._guess(grant, transaction_code)
        row = ChallengeUseRow(grant.digest("code"), grant.digest("code")[:16], None, grant.expires_at)
        if not await self.spent.spend(row):
            raise OauthRefusal("invalid_grant", "The code is not one of ours, has expired, or was used.")
        token = self.grants.for_token(grant, now)
        return self.grants.seal(Stage.TOKEN, token), token

    async def _guess(self, grant: WalletGrant, guess: str) -> None:
        for number in range(1, MOST_TRIES + 1):
            digest = grant.digest(f"try {number}")
            if await self.spent.spend(ChallengeUseRow(digest, digest[:16], None, grant.expires_at)):
                if grant.has_code(guess):
                    return
                left = MOST_TRIES - number
                raise OauthRefusal("invalid_grant", "The tx_code is another one.", {"triesLeft": left})
        raise OauthRefusal("invalid_grant", "The tx_code was wrong too often; ask for another offer.", {"triesLeft": 0})


class CollectCredential(Struct, frozen=True):
    """Issues what a token grants, bound to the key that the wallet proves to have. ``origin`` is this service."""

    grants: WalletGrants
    spent: SpentChallenges
    sealed_credentials: SealedCredentials
    issuer: WalletIssuer
    origin: str
    record: Record
    clock: Clock

    async def granted(self, token: str) -> tuple[WalletGrant, Credential]:
        """Return what a token grants. Raises ``ValueError`` for one that grants nothing (any more)."""
        grant = self.grants.open(Stage.TOKEN, token, self.clock.now())
        credential = await self.sealed_credentials.credentials.get(grant.credential_id)
        if credential is None:
            raise ValueError("the credential is gone")
        return grant, credential

    async def __call__(
        self, grant: WalletGrant, credential: Credential, proof: str, *, audience: str, request_id: str
    ) -> Secured:
        """Return the credential. The key is proved before the nonce and the token are used, so that no client uses another's. Raises
        ``OauthRefusal``.
        """
        now = self.clock.now()
        key, nonce, nonce_end = await self._proved(proof, audience, now)
        try:
            method, public = await self.issuer.key(credential, now)
        except (CredentialRevoked, CredentialExpired, DidDeactivated, DidNotFound, InvalidCredential) as error:
            raise OauthRefusal("credential_request_denied", str(error), {"reason": error.code}) from error
        definition = await self.sealed_credentials.policy(credential)
        witness = await self.sealed_credentials.witness(credential)
        claims = wallet_claims(credential, definition, witness.attributes, now, self.origin)
        securing = self.issuer.securing
        draft = await securing.draft(UnsecuredCredential(claims, method, public.multibase, now, holder_key=key.jwk))
        (message,) = draft.messages
        secured = await securing.secure(draft, await self.issuer.custodian.sign(method, message))
        # Only what is ready to be given out is paid for, so that a custodian that is away costs the wallet nothing.
        await self._spend(grant, nonce, nonce_end)
        context = RequestContext("collectCredential", WALLET, request_id)
        await self.record(context, credential.event("credential.collected"), now)
        return secured

    async def _proved(self, text: str, audience: str, now: datetime) -> tuple[JoseKey, str, datetime]:
        try:
            proof = PossessionProof.open(text, audience=audience, now=now)
            key = proof.key or await key_of(self.issuer.reader, proof.key_id or "", AUTHENTICATION, ASSERTION_METHOD)
            key.verify(proof.jws)
        except ValueError as error:
            raise OauthRefusal("invalid_proof", f"The proof is not valid: {error}.") from error
        try:
            return key, proof.nonce, self.grants.nonce_end(proof.nonce, now)
        except ValueError as error:
            raise OauthRefusal("invalid_nonce", f"Ask for another nonce: {error}.") from error

    async def _spend(self, grant: WalletGrant, nonce: str, nonce_end: datetime) -> None:
        used = hashlib.sha256(f"identity: wallet nonce, v1\n{nonce}".encode()).digest()
        if not await self.spent.spend(ChallengeUseRow(used, used[:16], None, nonce_end)):
            raise OauthRefusal("invalid_nonce", "The nonce was used; ask for another.")
        token = grant.digest("token")
        if not await self.spent.spend(ChallengeUseRow(token, token[:16], None, grant.expires_at)):
            raise OauthRefusal("credential_request_denied", "The credential of this token was collected.")


async def key_of(reader: DidReader, key_id: str, *purposes: str) -> JoseKey:
    """Return the key of a DID URL that serves one of the purposes, of a DID that is known here without asking the network. Raises
    ``ValueError``."""
    try:
        did: Did = reader.parse(str(controller_of(key_id)))
        state = (await reader.active(did)).head.state
    except (InvalidDid, DidNotFound, DidDeactivated) as error:
        raise ValueError("the DID of the kid is unknown or deactivated") from error
    return key_in_document(state.document.to_json(), key_id, purposes)
