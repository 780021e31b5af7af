"""The one way in for a credential: who asks, who is meant, what it says, whose signature it is; then it is sealed and stored.

Issuing and importing differ in who made the signature, and in nothing else. Issuer and holder are DIDs that this service
knows; DIDs that only the network knows are left out, because no one could sign for them here.

issueCredential: signed with an assertion key of the issuer that the custodian holds.

importCredential: signed by its issuer elsewhere, with a key that the issuer's DID document lists.

The signature of suite 1 covers schema and values. That this holder is meant, and for how long, the issuer says by making the
request, or an operator who may act for the issuer; a holder cannot import. That of suite 2 covers all of it, and a secret of the
holder's. Where the custodian keeps that, its commitment needs no signature of the holder's: keeper and issuer are this service, which names
the secret after the holder's DID. Where a wallet keeps it, the issuer has checked the commitment at home, and imports.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from identity_bbs.blind import IssueRequest
from identity_bbs.bls12381.backend import G1_OCTETS
from identity_codec import multikey
from identity_codec.strict_json import JsonValue
from identity_codec.structs import given
from identity_codec.values import value_class
from identity_core.domain.activity import CredentialIssued, RequestContext
from identity_core.domain.credentials import status_gaps
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.bound_credential import (
    NO_HANDLE,
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
    midnight,
)
from identity_core.domain.credentials.credential import Binding, Credential, CredentialStatus, canonical_values
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.credentials.credential_schema import digest as schema_digest
from identity_core.domain.credentials.holder_secret import name_of
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.dids.state import DidState
from identity_core.domain.member_times import optional_time
from identity_core.domain.proofs.proof import Witness
from identity_core.errors import Conflict, InvalidCredential, SchemaNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.ports.custodian import Custodian, HolderCustodian, KeepingCustodian
from identity_core.ports.holder_secrets import HolderSecretGenerations
from identity_core.ports.prover import ProofWorkers
from identity_core.ports.status_gaps import GapList
from identity_core.use_cases.credentials.held_keys import newest_held_key
from identity_core.use_cases.credentials.holder_secrets import root_of_new
from identity_core.use_cases.credentials.read import WRITE
from identity_core.use_cases.credentials.sealed import CredentialSeal, ShownCredential
from identity_core.use_cases.credentials.signature_checks import SignatureChecks, signature_check
from identity_core.use_cases.credentials.status_gaps import PublishStatusGaps
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_core.wire import ImportCredentialRequest, IssueCredentialRequest

GAP_PERIOD: Final = 86_400
"""Seconds of an epoch of the lists that new credentials are put into."""
NONCE_OCTETS: Final = 32


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """A request that may be signed, under the ``id`` that the credential will have. ``state`` is the issuer's, ``values`` are canonical."""

    id: str
    issuer: Did
    holder: Did
    state: DidState
    definition: CredentialSchema
    values: dict[str, JsonValue]
    valid_from: datetime
    valid_until: datetime | None
    now: datetime
    accepts_new_secret: bool

    def __repr__(self) -> str:
        return "Prepared(…)"


@value_class
class Signed:
    """A signature: the verification method, its public key of 96 bytes, and 80 bytes; for suite 2 its binding, and the holder's ``tag`` if
    it is known."""

    verification_method: str
    public_key: bytes
    signature: bytes
    binding: Binding | None = None
    tag: bytes | None = None


@value_class
class CredentialIntake:
    """Checks and stores. ``random`` is the operating system's random source."""

    reader: DidReader
    schemas: CredentialSchemas
    credentials: Credentials
    seal: CredentialSeal
    check: SignatureChecks
    record: Record
    clock: Clock
    random: Callable[[int], bytes]

    async def prepare(self, new: IssueCredentialRequest | ImportCredentialRequest, context: RequestContext) -> Prepared:
        """Raises ``InvalidDid``, ``InvalidRequest``, ``Forbidden``, ``DidNotFound``, ``DidDeactivated``, ``SchemaNotFound``,
        ``InvalidCredential``."""
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
        new_secret = given(new.new_holder_secret, False)
        return Prepared(own_id, issuer_did, holder, state, definition, values, valid_from, valid_until, now, new_secret)

    async def admit(self, prepared: Prepared, signed: Signed, context: RequestContext) -> ShownCredential:
        """Checks the signature against the issuer's key, stores the credential and returns it. Raises ``InvalidCredential``,
        ``Conflict``."""
        return await self.keep(await self.checked(prepared, signed, context), prepared, signed, context)

    async def checked(self, prepared: Prepared, signed: Signed, context: RequestContext) -> Credential:
        """The credential, not stored, with a right signature. Raises ``InvalidCredential``."""
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
        await self.check(*signature_check(credential, Witness(signed.signature, prepared.values)))
        return credential

    async def keep(
        self, credential: Credential, prepared: Prepared, signed: Signed, context: RequestContext
    ) -> ShownCredential:
        """Stores what ``checked`` gave. Raises ``Conflict`` where another credential has the id, which one of ours never meets, and for
        another secret of the holder's than before, unless the request accepts it."""
        witness = Witness(signed.signature, prepared.values)
        box = self.seal.close(credential, witness)
        to_holder = context.caller.person == credential.holder
        with context.keeping(lambda one: None if one is None else ShownCredential(one, witness, to_holder)):
            stored = await self.credentials.add(credential, box, signed.tag, random=self.random)
        if stored is None:
            raise Conflict("Another credential has this id.", details={"member": "id"})
        await self.record(context, stored.event("credential.issued", CredentialIssued), prepared.now)
        return ShownCredential(stored, witness, to_holder)


@value_class
class BoundDraft:
    """The content of a suite-2 signature: the header, the particulars without the handle, and the list that assigns the handle."""

    prepared: Prepared
    signer: HolderCustodian
    keeper: KeepingCustodian
    gap_list: GapList
    header: BoundHeader
    particulars: Particulars
    request: IssueRequest


@value_class
class IssueCredential:
    """Raises what the intake raises, and ``InvalidCredential`` when the service holds no key of the issuer to sign with.

    Where the issuer names no suite it is 2, if all that suite 2 needs is there: a prover that presents such credentials, a custodian
    that keeps holders' secrets, keys of the issuer with a proof of possession, and validity in whole days. Else it is 1, which asks for
    none of that. ``custodian`` holds the issuers' keys, ``keeper`` the secrets of holders; they may be one.
    """

    intake: CredentialIntake
    custodian: Custodian
    keeper: Custodian
    publisher: PublishStatusGaps
    provers: ProofWorkers
    generations: HolderSecretGenerations

    async def __call__(self, new: IssueCredentialRequest, context: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, context)
        key_id, key = await newest_held_key(
            self.custodian, prepared.state.document, given(new.verification_method, None)
        )
        draft = await self._draft_if_wanted(new, prepared, key_id, key)
        if draft is not None:
            return await self.intake.admit(draft.prepared, await self._bound(draft, key), context)
        schema = prepared.definition.schema
        signature = await self.custodian.sign_bbs(key_id, schema.header, schema.messages(prepared.values))
        return await self.intake.admit(prepared, Signed(key_id, key.raw, signature), context)

    async def _draft_if_wanted(
        self, new: IssueCredentialRequest, prepared: Prepared, key_id: str, key: PublicKey
    ) -> BoundDraft | None:
        """None for a credential of suite 1. Raises ``InvalidCredential`` where suite 2 is asked for and cannot be."""
        suite = given(new.suite, None)
        if suite == 1 or (suite is None and not self.provers.presents):
            return None
        if given(new.valid_from, None) is None:
            prepared = replace(prepared, valid_from=midnight(prepared.now))
        try:
            return await self._draft(prepared, key_id, key)
        except InvalidCredential:
            if suite is None:
                return None
            raise

    async def _draft(self, prepared: Prepared, key_id: str, key: PublicKey) -> BoundDraft:
        """The list that may revoke it is signed with the issuer's newest key. Raises ``InvalidCredential``."""
        custodian, keeper = self.custodian, self.keeper
        if not isinstance(custodian, HolderCustodian) or not isinstance(keeper, KeepingCustodian):
            raise not_valid("the custodian of this service keeps no secrets of holders, which suite 2 needs")
        gap_list = await list_of(custodian, prepared, key)
        holder = str(prepared.holder)
        try:
            particulars = Particulars(prepared.id, holder, prepared.valid_from, prepared.valid_until, NO_HANDLE)
            reference = StatusListReference(gap_list.id, gap_list.period)
            digest = schema_digest(prepared.definition)
            header = BoundHeader(prepared.definition.schema, key_id, reference, SecretKeeper.CUSTODIAN, digest)
            request = IssueRequest(key_id, header.octets, holder, self.intake.random(NONCE_OCTETS))
        except ValueRefused as refused:
            raise not_valid(str(refused)) from None
        return BoundDraft(prepared, custodian, keeper, gap_list, header, particulars, request)

    async def _bound(self, draft: BoundDraft, key: PublicKey) -> Signed:
        """Signed for a secret of the holder's that the custodian keeps."""
        gaps, random = self.publisher.gaps, self.intake.random
        particulars, request, credential_id = draft.particulars, draft.request, draft.prepared.id
        handle = await gaps.give(draft.gap_list, credential_id, particulars.last_day, random=random)
        await self.publisher.begin_list(draft.gap_list)
        messages = draft.header.known_messages(draft.prepared.values, replace(particulars, handle=handle))
        # The holder's DID names the secret, so that all of its credentials since a rotation are of one holder.
        generation = await self.generations.generation(particulars.subject)
        secret = name_of(particulars.subject, generation, await root_of_new(draft.keeper))
        commitment = await draft.keeper.commit_holder(secret, credential_id, request)
        signature = await draft.signer.sign_bbs_blind(request.method, messages, commitment, request)
        binding = Binding(request.header, commitment[:G1_OCTETS], handle, secret, draft.prepared.accepts_new_secret)
        return Signed(request.method, key.raw, signature, binding, commitment[G1_OCTETS : 2 * G1_OCTETS])


async def list_of(custodian: Custodian, prepared: Prepared, key: PublicKey) -> GapList:
    """The issuer's list of signed gaps, for a credential that ``key`` signs. Raises ``InvalidCredential``."""
    method, list_key = await newest_held_key(custodian, prepared.state.document)
    used = {multikey.encode_public(multikey.BLS12381G2, one.raw) for one in (key, list_key)}
    if not used <= {*(prepared.state.proven_keys or ())}:
        raise not_valid("the key came without a proof of possession, which suite 2 needs: rotate it, or add another")
    issuer = str(prepared.issuer)
    return GapList(status_gaps.list_id(issuer, GAP_PERIOD), issuer, method, GAP_PERIOD)


def not_valid(reason: str) -> InvalidCredential:
    """The refusal, with its reason."""
    return InvalidCredential(details={"reason": reason})
