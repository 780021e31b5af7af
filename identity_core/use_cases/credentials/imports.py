"""importCredential: a credential that its issuer signed elsewhere comes in as one that is signed here does (``CredentialIntake``)."""

from __future__ import annotations

from identity_codec.structs import UNSET
from identity_codec.values import value_class
from identity_core.domain.activity import RequestContext
from identity_core.domain.credentials.credential import parse_signature
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import Conflict, InvalidCredential
from identity_core.ports.suites import Signed
from identity_core.use_cases.credentials.held_keys import assertion_keys
from identity_core.use_cases.credentials.issue import CredentialIntake
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.wire import ImportCredentialRequest


@value_class
class ImportCredential:
    """Raises what the intake raises; ``InvalidCredential`` also for a verification method that is no assertion key of the issuer.

    A wallet keeps the secret of one of suite 2, which names the list of signed gaps that this service publishes for the issuer: the handle
    that the issuer chose is the credential's alone from then on, and is revoked with it. ``Conflict`` where it is another's.
    """

    intake: CredentialIntake

    async def __call__(self, new: ImportCredentialRequest, context: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, context)
        document = prepared.state.document
        method = document.method(new.verification_method)
        if method is None or method.id not in assertion_keys(document):
            raise InvalidCredential(
                details={"reason": "the verification method is no Bls12381G2Key2020 assertionMethod key of the issuer"}
            )
        key = PublicKey.parse(method.type, method.multibase)
        signed = Signed(method.id, key.raw, parse_signature(new.signature))
        if new.bound is UNSET:
            return await self.intake.admit(prepared, signed, context)
        suite = self.intake.suites[2]
        prepared, signed = suite.bind(new.bound, prepared, signed)
        credential = await self.intake.checked(prepared, signed, context)
        if await self.intake.credentials.get(credential.id) is not None:
            raise Conflict("Another credential has this id.", details={"member": "id"})
        await suite.enlist(credential, prepared, key)
        return await self.intake.keep(credential, prepared, signed, context)
