"""importCredential: a credential that its issuer signed elsewhere comes in as one that is signed here does (``CredentialIntake``)."""

from __future__ import annotations

from dataclasses import replace

from identity_bbs.bls12381.backend import G1_OCTETS
from identity_codec.multibase import base64url_decode
from identity_codec.structs import UNSET, given
from identity_codec.values import value_class
from identity_core.domain.activity import RequestContext
from identity_core.domain.credentials import status_gaps
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.bound_credential import (
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
)
from identity_core.domain.credentials.credential import NO_SECRET, Binding, parse_signature, particulars_of
from identity_core.domain.credentials.credential_schema import digest as schema_digest
from identity_core.domain.dids.keys import PublicKey
from identity_core.errors import Conflict, InvalidCredential
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.credentials.held_keys import assertion_keys
from identity_core.use_cases.credentials.issue import GAP_PERIOD, CredentialIntake, Prepared, Signed, list_of, not_valid
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.use_cases.credentials.status_gaps import PublishStatusGaps
from identity_core.wire import ImportCredentialRequest, ImportedBinding


@value_class
class ImportCredential:
    """Raises what the intake raises; ``InvalidCredential`` also for a verification method that is no assertion key of the issuer.

    A wallet keeps the secret of one of suite 2, which names the list of signed gaps that this service publishes for the issuer: the handle
    that the issuer chose is the credential's alone from then on, and is revoked with it. ``Conflict`` where it is another's.
    """

    intake: CredentialIntake
    custodian: Custodian
    publisher: PublishStatusGaps

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
        signed = _bound_by(new.bound, prepared, signed)
        return await self._import_bound(replace(prepared, id=new.bound.id), signed, key, context)

    async def _import_bound(
        self, prepared: Prepared, signed: Signed, key: PublicKey, context: RequestContext
    ) -> ShownCredential:
        credential = await self.intake.checked(prepared, signed, context)
        gap_list = await list_of(self.custodian, prepared, key)
        binding = credential.binding
        if binding is None or await self.intake.credentials.get(credential.id) is not None:
            raise Conflict("Another credential has this id.", details={"member": "id"})
        last_day = particulars_of(credential, binding).last_day
        if not await self.publisher.gaps.take(gap_list, credential.id, binding.handle, last_day):
            raise Conflict("Another credential has this handle.", details={"member": "handle"})
        await self.publisher.begin_list(gap_list)
        return await self.intake.keep(credential, prepared, signed, context)


def _bound_by(bound: ImportedBinding, prepared: Prepared, signed: Signed) -> Signed:
    """Return it with what a wallet's credential is bound to: a header for exactly this schema, key and list. Raises
    ``InvalidCredential``."""
    definition, issuer, method = prepared.definition, str(prepared.issuer), signed.verification_method
    try:
        octets, commitment = base64url_decode(bound.header), base64url_decode(bound.commitment)
        tag = base64url_decode(given(bound.holder_tag, "")) or None
        header = BoundHeader.from_octets(octets)
        reference = StatusListReference(status_gaps.list_id(issuer, GAP_PERIOD), GAP_PERIOD)
        expected = BoundHeader(definition.schema, method, reference, SecretKeeper.WALLET, schema_digest(definition))
        Particulars(bound.id, str(prepared.holder), prepared.valid_from, prepared.valid_until, bound.handle)
    except ValueRefused as refused:
        raise not_valid(str(refused)) from None
    except ValueError:
        raise not_valid("header, commitment and holderTag are base64url") from None
    if header != expected or len(commitment) != G1_OCTETS:
        raise not_valid(
            "the header is not that of a wallet's credential under this schema, key and the list of signed gaps that is published"
            f" here for the issuer ({reference.list_id}), or the commitment has not {G1_OCTETS} octets"
        )
    binding = Binding(octets, commitment, bound.handle, NO_SECRET, prepared.accepts_new_secret)
    return replace(signed, binding=binding, tag=tag)
