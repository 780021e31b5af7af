"""Authentication of a client by ``private_key_jwt``: a DID that signs with one of its authentication keys (RFC 7523 §3).

The signature is checked before the ``jti`` is used, so a client cannot use up another's. The ``jti`` is used, durably, before
anything is done, and stays used even if the request fails.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_codec.jose import JoseKey
from identity_core.domain.callers import Caller
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, Forbidden, InvalidDid
from identity_core.ports.clock import Clock
from identity_core.ports.repositories import ChallengeUseRow, SpentChallenges
from identity_core.use_cases.dids.index import DidReader
from identity_oauth.domain.client_assertion import AUTH_METHOD, ClientAssertion
from identity_oauth.domain.tokens import Envelope

# The same for each fault, so that a client does not learn which DIDs and keys exist.
REMEDY: Final = (
    "iss and sub are your DID, aud is the issuer, exp is at most an hour ahead, jti is new, and alg is EdDSA with a current "
    "authentication key of the DID, which kid names if it is there."
)


class AuthenticateClient(Struct, frozen=True):
    """The authentication of a client. The audience may be ``issuer`` or one of ``token_endpoints``."""

    reader: DidReader
    spent: SpentChallenges
    clock: Clock
    issuer: str
    token_endpoints: frozenset[str]

    async def __call__(self, text: str, client_id: str | None) -> Caller:
        """Return the DID of the assertion ``text``, which works only once. ``client_id`` is the parameter of the request. Raises
        ``AuthFailed``."""
        now = self.clock.now()
        try:
            envelope = Envelope.open(text)
            said = ClientAssertion.read(envelope, now, issuer=self.issuer, token_endpoints=self.token_endpoints)
            if client_id not in (None, said.client):
                raise ValueError("client_id and iss differ")
            did = Did.parse(said.client)
            key = _signer((await self.reader.caller(did)).head.state, said, envelope, now)
            evidence = Authorization(AUTH_METHOD, key, envelope.signing_input.decode("ascii"), envelope.signature)
        except (ValueError, InvalidDid, DidNotFound, DidDeactivated, Forbidden) as error:
            raise AuthFailed(details={"remedy": REMEDY}) from error
        row = ChallengeUseRow(said.digest, said.digest[:16], None, said.expires_at)
        if not await self.spent.spend(row):
            raise AuthFailed(details={"remedy": REMEDY})
        return Caller(did=did, authorization=evidence)


def _signer(state: DidState, said: ClientAssertion, envelope: Envelope, now: datetime) -> str:
    """Return the multikey that signed. Raises ``ValueError``."""
    current = history.authentication_keys(state, now)
    if said.key_id is not None:
        named = {method.multibase for method in state.document.methods if method.id == said.key_id}
        current = tuple(key for key in current if key in named)
    for key in current:
        try:
            JoseKey.of_multikey(key).verify(envelope)
        except ValueError:
            continue
        return key
    raise ValueError("no current key has signed this")
