"""Encryption of the attribute values and signature of a credential, before they reach the store (openapi/DECISIONS.md §5.2).

The box belongs to one credential: id, issuer, holder, schema and key are associated data. So a box that was moved to another row,
or a row whose holder was changed, does not open. Status and version are not associated data, because they change.

The module also loads a credential, its policy and its secrets by id, for the prover.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson
from msgspec import Struct

from identity_bbs.frames import number
from identity_codec import multibase, sealing
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.dids.did import Did
from identity_core.domain.proofs.proof import Witness
from identity_core.errors import InternalError
from identity_core.ports.credentials import Credentials, CredentialSchemas


class CredentialSeal(Struct, frozen=True):
    """The encryption of credentials. ``key`` has 32 bytes and is never printed; ``random`` is the operating system's random source."""

    key: bytes
    random: Callable[[int], bytes]

    def __repr__(self) -> str:
        return "CredentialSeal(…)"

    def close(self, credential: Credential, witness: Witness) -> bytes:
        """Return the box for the store."""
        plain = orjson.dumps(
            {"signature": multibase.base64url_encode(witness.signature), "attributes": dict(witness.attributes)}
        )
        return sealing.seal(self.key, plain, _bound(credential), random=self.random)

    def open(self, credential: Credential, box: bytes) -> Witness:
        """Return the content of the box. Raises ``InternalError``: when the box is not this credential's."""
        try:
            plain = orjson.loads(sealing.unseal(self.key, box, _bound(credential)))
        except sealing.BoxInvalid as error:
            raise InternalError("The sealed credential cannot be opened.") from error
        return Witness(multibase.base64url_decode(plain["signature"]), plain["attributes"])


def _bound(credential: Credential) -> bytes:
    """Return the texts, each with its length before it, so that different lists of texts have different bytes."""
    binding = credential.binding
    texts = (
        "identity credential v1" if binding is None else "identity credential v2",
        credential.id,
        str(credential.issuer),
        str(credential.holder),
        credential.schema.id,
        credential.verification_method,
    )
    parts = [text.encode() for text in texts] + [credential.issuer_public_key]
    if binding is not None:
        parts += [binding.header, binding.commitment, number(binding.handle), binding.secret.encode()]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


class ShownCredential(Struct, frozen=True):
    """A credential for an answer. ``witness`` is None for callers that may not see values. ``to_holder``: the answer has the signature too.
    With it, a client can make proofs without a delegation. So issuer, operator and clients of the holder do not get it."""

    credential: Credential
    witness: Witness | None
    to_holder: bool


class SealedCredentials(Struct, frozen=True):
    """Lookup and decryption of credentials."""

    credentials: Credentials
    schemas: CredentialSchemas
    seal: CredentialSeal

    async def find(self, credential_id: str, holder: Did) -> Credential | None:
        """Return the credential, or None if it does not exist or is another holder's. Both cases have the same query, comparison and
        answer."""
        credential = await self.credentials.get(credential_id)
        return credential if credential is not None and credential.holder == holder else None

    async def policy(self, credential: Credential) -> CredentialSchema:
        """Return the registered schema of a credential."""
        registered = await self.schemas.get(credential.schema.id)
        if registered is None:
            raise InternalError("The schema of a stored credential is not there.")
        return registered.definition

    async def witness(self, credential: Credential) -> Witness:
        """Return the decrypted signature and attribute values. They may only be passed to a prover, or to an answer for holder or
        issuer."""
        box = await self.credentials.sealed(credential.id)
        if box is None:
            raise InternalError("The values of a stored credential are not there.")
        return self.seal.open(credential, box)
