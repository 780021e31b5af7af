"""The way from a credential's id to the credential, its policy and its secrets, for whoever proves with it."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.credential import Credential
from identity_core.domain.credential_schema import CredentialSchema
from identity_core.domain.did import Did
from identity_core.domain.proof import Witness
from identity_core.errors import CredentialNotFound, InternalError
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.use_cases.credentials.seal import CredentialSeal


@dataclass(frozen=True, slots=True)
class ShownCredential:
    """A credential; ``witness`` None for those who see no values. ``to_holder``: the signature is shown too. Whoever has it proves with
    the credential, past every delegation, so not even issuer and operator get it back."""

    credential: Credential
    witness: Witness | None
    to_holder: bool


@dataclass(frozen=True, slots=True)
class SealedCredentials:
    """Finds credentials and opens them."""

    credentials: Credentials
    schemas: CredentialSchemas
    seal: CredentialSeal

    async def find(self, credential_id: str, holder: Did) -> Credential:
        """The credential. Raises ``CredentialNotFound`` when it does not exist and when it is another holder's: one
        look-up, one comparison and one answer for both."""
        credential = await self.credentials.get(credential_id)
        if credential is None or credential.holder != holder:
            raise CredentialNotFound
        return credential

    async def policy(self, credential: Credential) -> CredentialSchema:
        """The registered schema of a credential."""
        registered = await self.schemas.get(credential.schema.id)
        if registered is None:
            raise InternalError("The schema of a stored credential is not there.")
        return registered.definition

    async def witness(self, credential: Credential) -> Witness:
        """The signature and the attribute values, unsealed. They go into a prover or into an answer for holder or issuer,
        and nowhere else."""
        box = await self.credentials.sealed(credential.id)
        if box is None:
            raise InternalError("The values of a stored credential are not there.")
        return self.seal.open(credential, box)
