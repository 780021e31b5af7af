"""The one way in for a credential: who asks, who is meant, what it says, whose signature it is; then it is sealed and stored.

Issuing and importing differ in who made the signature, and in nothing else. Issuer and holder are DIDs that this service
knows; DIDs that only the network knows are left out, because nobody could sign for them here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from identity_core.domain.credential import Credential, CredentialStatus
from identity_core.domain.credential_signature import canonical_values
from identity_core.domain.did import Did
from identity_core.domain.document import DidDocument
from identity_core.domain.proof import Witness
from identity_core.domain.schema import Schema
from identity_core.errors import InternalError, InvalidCredential, JsonValue, SchemaNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials, CredentialSchemas
from identity_core.use_cases.credentials.access import WRITE
from identity_core.use_cases.credentials.journal import CredentialJournal
from identity_core.use_cases.credentials.seal import CredentialSeal
from identity_core.use_cases.credentials.sealed_credentials import ShownCredential
from identity_core.use_cases.credentials.signatures import SignatureChecks
from identity_core.use_cases.dids.reader import DidReader
from identity_core.use_cases.dids.writer import RequestContext


@dataclass(frozen=True, slots=True, repr=False)
class NewCredential:
    """What the request says. ``valid_from`` None means now; ``verification_method`` None lets the service choose. Its
    representation shows nothing, because attributes must not reach logs."""

    issuer: Did
    holder: Did
    schema_id: str
    attributes: Mapping[str, Any]
    valid_from: datetime | None
    valid_until: datetime | None
    verification_method: str | None

    def __repr__(self) -> str:
        return "NewCredential(…)"


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """A request that may be signed. ``document`` is the issuer's, ``values`` are canonical."""

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
    journal: CredentialJournal
    clock: Clock
    random: Callable[[int], bytes]

    async def prepare(self, new: NewCredential, occasion: RequestContext) -> Prepared:
        """Raises ``Forbidden``, ``DidNotFound``, ``DidDeactivated``, ``SchemaNotFound``, ``InvalidCredential``."""
        occasion.caller.require_acting_for(new.issuer, WRITE)
        issuer = await self.reader.active(new.issuer)
        await self.reader.active(new.holder)
        registered = await self.schemas.get(new.schema_id)
        if registered is None:
            raise SchemaNotFound
        now = self.clock.now()
        schema = registered.definition.schema
        valid_from = (new.valid_from or now).replace(microsecond=0)
        valid_until = None if new.valid_until is None else new.valid_until.replace(microsecond=0)
        if valid_until is not None and valid_until <= max(valid_from, now):
            raise InvalidCredential(details={"reason": "validUntil is past, or not after validFrom"})
        values = canonical_values(schema, new.attributes)
        return Prepared(issuer.head.state.document, schema, values, valid_from, valid_until, now)

    async def admit(
        self, new: NewCredential, prepared: Prepared, signed: Signed, occasion: RequestContext
    ) -> ShownCredential:
        """Checks the signature against the issuer's key, stores the credential and returns it. Raises ``InvalidCredential``."""
        await self.check(signed.public_key, signed.signature, prepared.schema, prepared.values)
        credential = Credential(
            id=f"urn:uuid:{uuid.UUID(bytes=self.random(16), version=4)}",
            issuer=new.issuer,
            holder=new.holder,
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
            created_by=occasion.caller.author,
        )
        witness = Witness(signed.signature, prepared.values)
        box = self.seal.close(credential, witness)
        stored = await self.credentials.add(credential, box, random=self.random)
        if stored is None:
            raise InternalError("Two credentials got one id.")
        await self.journal.event("credential.issued", stored, occasion, prepared.now)
        return ShownCredential(stored, witness, occasion.caller.person == stored.holder)
