"""importCredential: signed by its issuer elsewhere, with a key that the issuer's DID document lists.

The signature covers schema and values. That this holder is meant, and for how long, the issuer says by making the request,
or an operator who may act for the issuer; a holder cannot import.
"""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.credential_signature import parse_signature
from identity_core.domain.keys import PublicKey
from identity_core.errors import InvalidCredential
from identity_core.use_cases.credentials.intake import CredentialIntake, NewCredential, Signed
from identity_core.use_cases.credentials.issue import assertion_keys
from identity_core.use_cases.credentials.sealed_credentials import ShownCredential
from identity_core.use_cases.dids.writer import RequestContext


@dataclass(frozen=True, slots=True)
class ImportCredential:
    """Raises what the intake raises; ``InvalidCredential`` also for a verification method that is no assertion key of the issuer."""

    intake: CredentialIntake

    async def __call__(self, new: NewCredential, signature: str, occasion: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, occasion)
        method_id = new.verification_method
        method = None if method_id is None else prepared.document.method(method_id)
        if method is None or method.id not in assertion_keys(prepared.document):
            raise InvalidCredential(
                details={"reason": "the verification method is no Bls12381G2Key2020 assertionMethod key of the issuer"}
            )
        key = PublicKey.parse(method.type, method.multibase)
        signed = Signed(method.id, key.raw, parse_signature(signature))
        return await self.intake.admit(new, prepared, signed, occasion)
