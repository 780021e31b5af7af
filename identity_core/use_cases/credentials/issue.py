"""issueCredential: signed with an assertion key of the issuer that the custodian holds."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.codec import multikey
from identity_core.domain import keys
from identity_core.domain.credential_signature import messages
from identity_core.domain.custody import KeyNotHeld
from identity_core.domain.document import DidDocument
from identity_core.domain.keys import PublicKey
from identity_core.errors import InvalidCredential
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.credentials.intake import CredentialIntake, NewCredential, Signed
from identity_core.use_cases.credentials.sealed_credentials import ShownCredential
from identity_core.use_cases.dids.writer import RequestContext


@dataclass(frozen=True, slots=True)
class IssueCredential:
    """Raises what the intake raises, and ``InvalidCredential`` when the service holds no key of the issuer to sign with."""

    intake: CredentialIntake
    custodian: Custodian

    async def __call__(self, new: NewCredential, occasion: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, occasion)
        key_id, key = await self._held_key(prepared.document, new.verification_method)
        signed = messages(prepared.schema, prepared.values)
        signature = await self.custodian.sign_bbs(key_id, prepared.schema.header, signed)
        return await self.intake.admit(new, prepared, Signed(key_id, key.raw, signature), occasion)

    async def _held_key(self, document: DidDocument, wanted: str | None) -> tuple[str, PublicKey]:
        """The newest of the issuer's assertion keys that the custodian has, under the key's own id (``CreateDid`` put it there), or
        the one that is asked for."""
        for key_id in reversed(assertion_keys(document)):
            if wanted not in (None, key_id):
                continue
            try:
                held = await self.custodian.public_key(key_id)
            except KeyNotHeld:
                continue
            return key_id, PublicKey.parse(multikey.BLS12381G2, held)
        raise InvalidCredential(
            "The service holds no key of the issuer that signs credentials.",
            details={
                "reason": ("no" if wanted is None else "verificationMethod names no")
                + " Bls12381G2Key2020 assertionMethod key of the issuer that is held here: create it with storeSecrets,"
                " or sign the credential elsewhere and import it"
            },
        )


def assertion_keys(document: DidDocument) -> list[str]:
    """The ids of the keys that sign credentials, in the order of the document. A key in its grace period is none: whoever
    rotated it wants new credentials to be signed by its successor."""
    found = []
    for key_id in document.related(keys.ASSERTION_METHOD):
        method = document.method(key_id)
        if method is not None and method.type == multikey.BLS12381G2 and method.revoked is None:
            found.append(key_id)
    return found
