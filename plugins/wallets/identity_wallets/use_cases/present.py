"""Presentation by a wallet to a verifier that asks here: the signed request object, and the answer to it (OpenID4VP 1.0 §5, §8.2).

The request is signed when it is read, so that a verifier whose DID ended sends no request any more. A presentation is checked whole before
it is stored; an invalid one is refused and leaves the request open, for any client that has the link might send one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from identity_oauth.domain.tokens import OauthRefusal
from msgspec import Struct

from identity_codec import multibase, multikey
from identity_codec.jose import ALGORITHMS, signing_input
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import ASSERTION_METHOD
from identity_core.errors import InvalidCredential, InvalidRequest, PresentationNotFound, ProofInvalid
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CopyStatus
from identity_core.ports.custodian import Custodian
from identity_core.ports.securing import Disclosed, KeyBinding, SecuringFormat
from identity_core.use_cases.credentials.issue import newest_held_key
from identity_core.use_cases.dids.index import DidReader
from identity_wallets.domain.claims import FORMAT
from identity_wallets.domain.encryption import decrypt
from identity_wallets.domain.presentation import REQUEST_TYPE, PresentationQuery, WantedCredential
from identity_wallets.use_cases.collect import key_of
from identity_wallets.use_cases.requests import KeptRequests

DECLINED: Final = "declined"
PRESENTED: Final = "presented"


class VerifierKeys(Struct, frozen=True):
    """The keys that sign in the name of verifiers: one on P-256 before one on Ed25519, because more wallets know it."""

    reader: DidReader
    custodian: Custodian

    async def __call__(self, did: Did) -> tuple[str, str]:
        """Id and type of the key. Raises ``InvalidRequest`` where the service holds none, and what ``DidReader.active`` raises."""
        document = (await self.reader.active(did)).head.state.document
        found = await self._newest_key(document, multikey.P256) or await self._newest_key(document, multikey.ED25519)
        if found is None:
            raise InvalidRequest(
                "The service holds no key of the verifier that signs: create its DID with storeSecrets.",
                details={"member": "verifierDid"},
            )
        return found

    async def _newest_key(self, document: DidDocument, kind: str) -> tuple[str, str] | None:
        try:
            return (await newest_held_key(self.custodian, document, kind=kind))[0], kind
        except InvalidCredential:
            return None


class SignRequestObject(Struct, frozen=True):
    """Raises ``PresentationNotFound``, also where the verifier can sign no more, and what ``VerifierKeys`` raises of others."""

    kept: KeptRequests
    keys: VerifierKeys
    clock: Clock

    async def __call__(self, request_id: str, response_uri: str) -> str:
        """Return the request object (RFC 9101)."""
        query = await self.kept.open_for_wallets(request_id)
        try:
            key_id, kind = await self.keys(Did.parse(query.verifier))
        except InvalidRequest as error:
            raise PresentationNotFound from error
        header = {"alg": ALGORITHMS[kind][0], "typ": REQUEST_TYPE, "kid": key_id}
        text = signing_input(header, query.claims(response_uri, self.clock.now()))
        return f"{text}.{multibase.base64url_encode(await self.keys.custodian.sign(key_id, text.encode('ascii')))}"


class AcceptPresentation(Struct, frozen=True):
    """Checks what a wallet presents, and keeps what it discloses; returns where the wallet goes then. Raises ``OauthRefusal``,
    ``PresentationNotFound``."""

    kept: KeptRequests
    format: SecuringFormat | None
    reader: DidReader
    status: CopyStatus
    clock: Clock

    async def __call__(self, request_id: str, state: str | None, token: Any) -> str | None:
        """Return what comes as it is, where the request asked for no encryption."""
        query = await self._open(request_id, state)
        if query.secret is not None:
            raise OauthRefusal("invalid_request", "The presentation has to be encrypted, as the request says.")
        return await self._accept(query, token)

    async def encrypted(self, request_id: str, text: str) -> str | None:
        """Return what comes encrypted to the key of the request; it may be the refusal of the wallet."""
        query = await self.kept.open_for_wallets(request_id)
        if query.secret is None:
            raise OauthRefusal("invalid_request", "The request has no key to encrypt to.")
        try:
            said = decrypt(query.secret, text)
        except ValueError as error:
            raise OauthRefusal("invalid_request", f"The presentation is refused: {error}.") from error
        _require_state(query, said.get("state"))
        return await self._decline(query) if "error" in said else await self._accept(query, said.get("vp_token"))

    async def _accept(self, query: PresentationQuery, token: Any) -> str | None:
        now = self.clock.now()
        try:
            presented = query.presented(token)
            found = [await self._checked(query, one, text, now) for one, text in presented]
        except (ValueError, ProofInvalid, InvalidCredential) as error:
            reason = error.details.get("reason") if isinstance(error, (ProofInvalid, InvalidCredential)) else str(error)
            raise OauthRefusal("invalid_request", f"The presentation is refused: {reason}.") from error
        return await self._keep(query, {"state": PRESENTED, "credentials": [*found]}, now)

    async def decline(self, request_id: str, state: str | None) -> str | None:
        """Record that the wallet or its holder declined."""
        return await self._decline(await self._open(request_id, state))

    async def _decline(self, query: PresentationQuery) -> str | None:
        return await self._keep(query, {"state": DECLINED, "credentials": []}, self.clock.now())

    async def _open(self, request_id: str, state: str | None) -> PresentationQuery:
        query = await self.kept.open_for_wallets(request_id)
        _require_state(query, state)
        return query

    async def _keep(self, query: PresentationQuery, answer: dict[str, Any], now: datetime) -> str | None:
        """Store the answer with a fresh ``response_code`` (OpenID4VP 1.0 §8.2); return where the wallet leads its holder."""
        code = self.kept.new_id()
        if not await self.kept.answer(query, answer | {"responseCode": code}, now):
            raise PresentationNotFound
        return query.redirect(code)

    async def _checked(
        self, query: PresentationQuery, wanted: WantedCredential, text: str, now: datetime
    ) -> dict[str, Any]:
        if self.format is None:
            raise InvalidCredential(details={"reason": f"no plugin of this service verifies {FORMAT}"})
        head = await self.format.read(text)
        key = await key_of(self.reader, head.verification_method, ASSERTION_METHOD)
        binding = KeyBinding(query.client_id, query.nonce, now)
        shown: Disclosed = await self.format.verify(text, multikey.encode_public(key.kind, key.raw), binding=binding)
        wanted.check(shown.claims, now, shown.head.valid_from, shown.head.valid_until)
        if (status := await self.status(shown.claims)) not in (None, CredentialStatus.ACTIVE):
            raise ValueError(f"the credential is {status}")
        return {"id": wanted.id, "issuerDid": shown.head.issuer, "schemaId": wanted.schema_id, "claims": shown.claims}


def _require_state(query: PresentationQuery, state: Any) -> None:
    if state != query.id:
        raise OauthRefusal("invalid_request", "state is missing or another one.")
