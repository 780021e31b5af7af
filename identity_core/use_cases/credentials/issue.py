"""Checks of issuers' signatures beside everything else that the process does.

A check takes milliseconds on the curve, up to some dozens for the widest schema, and anybody may ask for one. So it runs in a
thread, few at once, and when too many wait the next is turned away instead of making all of them late.

The one way in for a credential: who asks, who is meant, what it says, whose signature it is; then it is sealed and stored.

Issuing and importing differ in who made the signature, and in nothing else. Issuer and holder are DIDs that this service
knows; DIDs that only the network knows are left out, because no one could sign for them here.

issueCredential: signed with an assertion key of the issuer that the custodian holds.

importCredential: signed by its issuer elsewhere, with a key that the issuer's DID document lists.

The signature covers schema and values. That this holder is meant, and for how long, the issuer says by making the request,
or an operator who may act for the issuer; a holder cannot import.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from identity_core.codec import multikey, times
from identity_core.codec.structs import given
from identity_core.domain.activity import RequestContext
from identity_core.domain.credentials.credential import (
    Credential,
    CredentialStatus,
    canonical_values,
    check_signature,
    parse_signature,
)
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.dids import keys
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import PublicKey
from identity_core.domain.proofs.proof import Witness
from identity_core.errors import InternalError, InvalidCredential, JsonValue, Overloaded, SchemaNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.ports.custodian import Custodian, KeyNotHeld
from identity_core.use_cases.credentials.read import WRITE
from identity_core.use_cases.credentials.sealed import CredentialSeal, ShownCredential
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_core.wire import ImportCredentialRequest, IssueCredentialRequest

AT_ONCE: Final = 2
WAITING: Final = 64
ANONYMOUS_WAITING: Final = 16
ANONYMOUS_REST: Final = 3.0
"""How long strangers rest after a check, in times that it took: together they get a quarter of one processor at most."""


@dataclass(slots=True)
class SignatureChecks:
    """``at_once`` run and ``waiting`` are unfinished at most; a turn is taken again after ``rest`` times what its check took. Made inside
    the event loop that uses it, one for those who are known and one for strangers, who thereby hold up no one but each other."""

    at_once: int = AT_ONCE
    waiting: int = WAITING
    rest: float = 0.0
    _turns: asyncio.Semaphore = field(init=False)
    _unfinished: int = 0

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.at_once)

    @classmethod
    def for_strangers(cls) -> SignatureChecks:
        """One at a time, with rests."""
        return cls(1, ANONYMOUS_WAITING, ANONYMOUS_REST)

    async def __call__(
        self, public_key: bytes, signature: bytes, schema: Schema, canonical: Mapping[str, JsonValue]
    ) -> None:
        """See ``check_signature``. Raises ``InvalidCredential``, ``Overloaded``."""
        if self._unfinished >= self.waiting:
            raise Overloaded(details={"retryAfter": 1})
        self._unfinished += 1
        try:
            await self._turns.acquire()
            # A client that goes away leaves its check running, and the turn with it.
            await asyncio.shield(self._begun(check_signature, public_key, signature, schema, canonical))
        finally:
            self._unfinished -= 1

    def _begun(self, *work: Any) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        began = loop.time()

        def ended(_: object) -> None:
            loop.call_later(self.rest * (loop.time() - began), self._turns.release)

        future: asyncio.Future[None] = loop.run_in_executor(None, *work)
        future.add_done_callback(ended)
        return future


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """A request that may be signed. ``document`` is the issuer's, ``values`` are canonical."""

    issuer: Did
    holder: Did
    document: DidDocument
    schema: Schema
    values: dict[str, JsonValue]
    valid_from: datetime
    valid_until: datetime | None
    now: datetime

    def __repr__(self) -> str:
        return "Prepared(…)"


@dataclass(frozen=True, slots=True)
class Signed:
    """Whose signature it is: the verification method, its 96 octets, and the 80 octets of the signature."""

    verification_method: str
    public_key: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
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
        issuer_did, holder_did = self.reader.parse(new.issuer_did), self.reader.parse(new.holder_did)
        begins, ends = times.optional(new.valid_from, "validFrom"), times.optional(new.valid_until, "validUntil")
        context.caller.require_acting_for(issuer_did, WRITE)
        issuer = await self.reader.active(issuer_did)
        await self.reader.active(holder_did)
        registered = await self.schemas.get(new.schema_id)
        if registered is None:
            raise SchemaNotFound
        now = self.clock.now()
        schema = registered.definition.schema
        valid_from = (begins or now).replace(microsecond=0)
        valid_until = None if ends is None else ends.replace(microsecond=0)
        if valid_until is not None and valid_until <= max(valid_from, now):
            raise InvalidCredential(details={"reason": "validUntil is past, or not after validFrom"})
        values = canonical_values(schema, new.attributes)
        document = issuer.head.state.document
        return Prepared(issuer_did, holder_did, document, schema, values, valid_from, valid_until, now)

    async def admit(self, prepared: Prepared, signed: Signed, context: RequestContext) -> ShownCredential:
        """Checks the signature against the issuer's key, stores the credential and returns it. Raises ``InvalidCredential``."""
        await self.check(signed.public_key, signed.signature, prepared.schema, prepared.values)
        credential = Credential(
            id=f"urn:uuid:{uuid.UUID(bytes=self.random(16), version=4)}",
            issuer=prepared.issuer,
            holder=prepared.holder,
            schema=prepared.schema,
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
        )
        witness = Witness(signed.signature, prepared.values)
        box = self.seal.close(credential, witness)
        stored = await self.credentials.add(credential, box, random=self.random)
        if stored is None:
            raise InternalError("Two credentials got one id.")
        await self.record(context, stored.event("credential.issued"), prepared.now)
        return ShownCredential(stored, witness, context.caller.person == stored.holder)


@dataclass(frozen=True, slots=True)
class IssueCredential:
    """Raises what the intake raises, and ``InvalidCredential`` when the service holds no key of the issuer to sign with."""

    intake: CredentialIntake
    custodian: Custodian

    async def __call__(self, new: IssueCredentialRequest, context: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, context)
        key_id, key = await self._held_key(prepared.document, given(new.verification_method, None))
        schema = prepared.schema
        signature = await self.custodian.sign_bbs(key_id, schema.header, schema.messages(prepared.values))
        return await self.intake.admit(prepared, Signed(key_id, key.raw, signature), context)

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
    """The ids of the keys that sign credentials, in the order of the document. A key in its grace period is none: the issuer who
    rotated it wants new credentials to be signed by its successor."""
    found = []
    for key_id in document.related(keys.ASSERTION_METHOD):
        method = document.method(key_id)
        if method is not None and method.type == multikey.BLS12381G2 and method.revoked is None:
            found.append(key_id)
    return found


@dataclass(frozen=True, slots=True)
class ImportCredential:
    """Raises what the intake raises; ``InvalidCredential`` also for a verification method that is no assertion key of the issuer."""

    intake: CredentialIntake

    async def __call__(self, new: ImportCredentialRequest, context: RequestContext) -> ShownCredential:
        prepared = await self.intake.prepare(new, context)
        method = prepared.document.method(new.verification_method)
        if method is None or method.id not in assertion_keys(prepared.document):
            raise InvalidCredential(
                details={"reason": "the verification method is no Bls12381G2Key2020 assertionMethod key of the issuer"}
            )
        key = PublicKey.parse(method.type, method.multibase)
        signed = Signed(method.id, key.raw, parse_signature(new.signature))
        return await self.intake.admit(prepared, signed, context)
