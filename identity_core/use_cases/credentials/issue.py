"""Issuance and import of credentials: check caller, holder, values and signature, then seal and store.

Issuing and importing differ only in the signer. Issuer and holder are DIDs that this service has recorded. DIDs that only the
network knows are refused, because they cannot sign here.

issueCredential: signed with an assertion key of the issuer that the custodian holds.

importCredential: signed by its issuer elsewhere, with a key that the issuer's DID document lists.

The signature of suite 1 covers schema and values. The request of the issuer, or of an operator who may act for the issuer, states
holder and validity; a holder cannot import. The signature of suite 2 covers all of it, and a secret of the holder. If the custodian
keeps that secret, its commitment needs no signature of the holder: this service is custodian and issuer, and names the secret after
the holder's DID. If a wallet keeps it, the issuer has checked the commitment outside of this service, and imports.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from identity_codec import multikey
from identity_codec.structs import UNSET, value_or
from identity_core.domain.activity import CredentialIssued, RequestContext
from identity_core.domain.credentials.credential import (
    Credential,
    CredentialStatus,
    canonical_values,
    check_signature,
    parse_signature,
)
from identity_core.domain.dids import keys
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.inputs import optional_time
from identity_core.domain.proofs.proof import Witness
from identity_core.errors import Conflict, InvalidCredential, SchemaNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.ports.suites import Prepared, ProofSuites, Signed
from identity_core.use_cases.credentials.read import WRITE
from identity_core.use_cases.credentials.sealed import CredentialSeal, ShownCredential
from identity_core.use_cases.credentials.signature_checks import SignatureChecks
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_core.wire import ImportCredentialRequest, IssueCredentialRequest


async def newest_held_key(
    custodian: Custodian, document: DidDocument, wanted: str | None = None, *, kind: str = multikey.BLS12381G2
) -> tuple[str, PublicKey]:
    """Return the newest of the issuer's assertion keys of this type that the custodian holds under the key's id (``CreateDid`` imports it),
    or the ``wanted`` one. Raises ``InvalidCredential``."""
    for key_id in reversed(assertion_keys(document, kind)):
        if wanted not in (None, key_id):
            continue
        try:
            held = await custodian.public_key(key_id)
        except KeyNotHeld:
            continue
        return key_id, PublicKey.parse(kind, held)
    raise InvalidCredential(
        "The service holds no key of the issuer that signs credentials.",
        details={
            "reason": ("no" if wanted is None else "verificationMethod names no")
            + f" {kind} assertionMethod key of the issuer that is stored here: create it with storeSecrets."
            " Signed elsewhere, only a credential of suite 1 can be imported: `identity credential sign`"
        },
    )


def assertion_keys(document: DidDocument, kind: str = multikey.BLS12381G2) -> list[str]:
    """Return the ids of the keys of this type that sign credentials, in the order of the document. A key in its grace period is omitted,
    because its successor must sign new credentials."""
    found = []
    for key_id in document.related(keys.ASSERTION_METHOD):
        method = document.method(key_id)
        if method is not None and method.type == kind and method.revoked is None:
            found.append(key_id)
    return found


class CredentialIntake(Struct, frozen=True):
    """The common checks and storage of new credentials. ``random`` is the operating system's random source."""

    reader: DidReader
    schemas: CredentialSchemas
    credentials: Credentials
    seal: CredentialSeal
    check: SignatureChecks
    suites: ProofSuites
    record: Record
    clock: Clock
    random: Callable[[int], bytes]

    async def prepare(self, new: IssueCredentialRequest | ImportCredentialRequest, context: RequestContext) -> Prepared:
        """Check a request. Raises ``InvalidDid``, ``InvalidRequest``, ``Forbidden``, ``DidNotFound``, ``DidDeactivated``,
        ``SchemaNotFound``, ``InvalidCredential``."""
        issuer_did, holder = self.reader.parse(new.issuer_did), self.reader.parse(new.holder_did)
        begins, ends = optional_time(new.valid_from, "validFrom"), optional_time(new.valid_until, "validUntil")
        context.caller.require_acting_for(issuer_did, WRITE)
        issuer = await self.reader.active(issuer_did)
        await self.reader.active(holder)
        registered = await self.schemas.get(new.schema_id)
        if registered is None:
            raise SchemaNotFound
        now = self.clock.now()
        valid_from = (begins or now).replace(microsecond=0)
        valid_until = None if ends is None else ends.replace(microsecond=0)
        if valid_until is not None and valid_until <= max(valid_from, now):
            raise InvalidCredential(details={"reason": "validUntil is past, or not after validFrom"})
        definition, state = registered.definition, issuer.head.state
        values = canonical_values(definition.schema, new.attributes)
        own_id = f"urn:uuid:{uuid.UUID(bytes=self.random(16), version=4)}"
        new_secret = value_or(new.new_holder_secret, False)
        return Prepared(
            *(own_id, issuer_did, holder, state, definition, values, valid_from, valid_until, now, new_secret),
            has_begin=begins is not None,
        )

    async def admit(self, prepared: Prepared, signed: Signed, context: RequestContext) -> ShownCredential:
        """Verify the signature with the issuer's key, store the credential and return it. Raises ``InvalidCredential``, ``Conflict``."""
        return await self.keep(await self.checked(prepared, signed, context), prepared, signed, context)

    async def checked(self, prepared: Prepared, signed: Signed, context: RequestContext) -> Credential:
        """Verify the signature and return the credential, which is not stored yet. Raises ``InvalidCredential``."""
        credential = Credential(
            id=prepared.id,
            issuer=prepared.issuer,
            holder=prepared.holder,
            schema=prepared.definition.schema,
            verification_method=signed.verification_method,
            issuer_public_key=signed.public_key,
            valid_from=prepared.valid_from,
            valid_until=prepared.valid_until,
            status=CredentialStatus.ACTIVE,
            status_reason=None,
            status_index=0,
            version=1,
            created_at=prepared.now,
            created_by=context.caller.author,
            binding=signed.binding,
        )
        await self.check(*self._signature_check(credential, Witness(signed.signature, prepared.values)))
        return credential

    def _signature_check(self, credential: Credential, witness: Witness) -> tuple[Any, ...]:
        """Return the function that verifies the issuer's signature on everything that it covers, with its arguments; it raises
        ``InvalidCredential``."""
        key, binding, bound_format = credential.issuer_public_key, credential.binding, self.suites[2].format
        if binding is None or bound_format is None:
            return check_signature, key, witness.signature, credential.schema, witness.attributes
        return bound_format.signature_check(credential, binding, witness)

    async def keep(
        self, credential: Credential, prepared: Prepared, signed: Signed, context: RequestContext
    ) -> ShownCredential:
        """Store the result of ``checked``. Raises ``Conflict``: when another credential has the id, which only happens to imports, or when
        the holder's secret differs from the previous one and the request does not accept it."""
        witness = Witness(signed.signature, prepared.values)
        box = self.seal.close(credential, witness)
        to_holder = context.caller.person == credential.holder
        with context.keeping(lambda one: None if one is None else ShownCredential(one, witness, to_holder)):
            stored = await self.credentials.add(credential, box, signed.tag, random=self.random)
        if stored is None:
            raise Conflict("Another credential has this id.", details={"member": "id"})
        await self.record(context, stored.event("credential.issued", CredentialIssued), prepared.now)
        return ShownCredential(stored, witness, to_holder)


class IssueCredential(Struct, frozen=True):
    """Use case issueCredential. Raises the errors of the intake. Raises ``InvalidCredential``: when the service holds no signing key of
    the issuer.

    If the request names no suite, it is 2 if the requirements of suite 2 are met, else 1. ``custodian`` holds the issuers' keys.
    """

    intake: CredentialIntake
    custodian: Custodian

    async def __call__(self, new: IssueCredentialRequest, context: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, context)
        key_id, key = await newest_held_key(
            self.custodian, prepared.state.document, value_or(new.verification_method, None)
        )
        suites, number = self.intake.suites, value_or(new.suite, None)
        made = None if number == 1 else await suites[2].issue(prepared, key_id, key, is_named=number is not None)
        made = made or await suites[1].issue(prepared, key_id, key, is_named=True)
        if made is None:
            raise InvalidCredential(details={"reason": "no suite that is installed signs this credential"})
        return await self.intake.admit(*made, context)


class ImportCredential(Struct, frozen=True):
    """Use case importCredential. Raises the errors of the intake. Raises ``InvalidCredential``: also when the verification method is not
    an assertion key of the issuer.

    A wallet keeps the secret of a credential of suite 2. The credential names the list of signed gaps that this service publishes for the
    issuer. From then on the handle belongs to this credential and is revoked with it. Raises ``Conflict``: when another one has it.
    """

    intake: CredentialIntake

    async def __call__(self, new: ImportCredentialRequest, context: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, context)
        document = prepared.state.document
        method = document.method(new.verification_method)
        if method is None or method.id not in assertion_keys(document):
            raise InvalidCredential(
                details={"reason": "the key is not a Bls12381G2Key2020 assertionMethod key of the issuer"}
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
