"""A stored credential without its secrets (openapi/DECISIONS.md §4.1).

Attribute values and signature are sealed separately. They are opened as a ``Witness`` (``domain/proofs/proof.py``) for a proof, a read by
the holder or a verification. Left out on purpose: credentials without a schema, several subjects.

The module also has the issuer's BBS signature on a credential: its input, and its verification before the credential is stored.

Schema and values determine header and messages (PROTOCOL.md §2). So an importer recomputes them, and refuses a signature on anything
else. The signature covers schema and values. Holder, validity and id are those of the record, for which issuer and service vouch.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from identity_codec import multibase
from identity_codec.strict_json import JsonValue
from identity_codec.times import printed
from identity_codec.values import Hidden
from identity_core.domain.activity import Event, Parties
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.dids.did import Did
from identity_core.errors import Conflict, CredentialExpired, CredentialRevoked, InvalidCredential


class CredentialStatus(StrEnum):
    """The status of a credential. A suspension can end; a revocation is final."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


NO_SECRET: Final = ""
"""The name for a secret that no custodian keeps."""


class StatusPurpose(StrEnum):
    """The purpose of a status list (Bitstring Status List 1.0 §2.1)."""

    REVOCATION = "revocation"
    SUSPENSION = "suspension"


class Binding(Hidden, Struct, frozen=True):
    """The additional data of a credential of suite 2 (PROTOCOL-2.md §2, §3): the bytes of the signed header, the 48
    bytes K of the holder's commitment, the handle in the status list (0 without one), and the name of the holder's
    secret at its custodian (``NO_SECRET`` if a wallet keeps it). ``secret_replaced``: the holder had another secret
    at this issuer before, and the issuer accepted the new one."""

    header: bytes
    commitment: bytes
    handle: int
    secret: str
    secret_replaced: bool = False


class Credential(Struct, frozen=True):
    """One credential. ``issuer_public_key`` are the 96 bytes of the key that ``verification_method`` named when the credential was
    recorded. ``status_index`` counts through all status lists of the issuer (``domain/credentials/status_list.py``). ``created_by`` is
    ``Caller.author``. It is valid from ``valid_from`` until just before ``valid_until``. One of suite 1 has no ``binding``.
    ``forgotten_at`` is the time from which the service refuses to use the former secret of the binding, on the holder's request."""

    id: str
    issuer: Did
    holder: Did
    schema: Schema
    verification_method: str
    issuer_public_key: bytes
    valid_from: datetime
    valid_until: datetime | None
    status: CredentialStatus
    status_reason: str | None
    status_index: int
    version: int
    created_at: datetime
    created_by: str
    binding: Binding | None = None
    forgotten_at: datetime | None = None

    @property
    def suite(self) -> int:
        """Return the number of the suite of its signature."""
        return 1 if self.binding is None else 2

    def check_usable(self, now: datetime) -> None:
        """Check that the credential is in force. Raises ``CredentialRevoked`` (also when it is suspended; see ``details.status``) or
        ``CredentialExpired``."""
        if self.status is not CredentialStatus.ACTIVE:
            message = "The credential is suspended." if self.status is CredentialStatus.SUSPENDED else None
            raise CredentialRevoked(message, details={"status": self.status.value})
        if self.forgotten_at is not None:
            raise CredentialRevoked(
                "The holder has had the secret forgotten that the credential is bound to.",
                details={"forgottenAt": printed(self.forgotten_at), "remedy": "Have the issuer issue it anew."},
            )
        if now < self.valid_from:
            raise CredentialExpired("The credential is not valid yet.", details={"validFrom": printed(self.valid_from)})
        if self.valid_until is not None and now >= self.valid_until:
            raise CredentialExpired(details={"validUntil": printed(self.valid_until)})

    def event(self, kind: str, made: type[Event] = Event) -> Event:
        """Return an event of the credential, of the type ``made``; ``kind`` is its name, such as ``credential.issued``."""
        holder, issuer = str(self.holder), str(self.issuer)
        details: dict[str, JsonValue] = {
            "credentialId": self.id,
            "holder": holder,
            "status": self.status.value,
            "version": self.version,
        }
        return made(kind, issuer, Parties(holder=holder, issuer=issuer, credential_id=self.id), details=details)

    def status_after(self, purpose: StatusPurpose, value: bool) -> CredentialStatus:
        """Return the status after ``purpose`` is set to ``value``. Raises ``Conflict``: when the credential is revoked."""
        revoked = self.status is CredentialStatus.REVOKED
        if purpose is StatusPurpose.REVOCATION:
            if revoked and not value:
                raise Conflict("Revocation is final.", details={"status": self.status.value})
            return CredentialStatus.REVOKED if value else self.status
        if revoked and value:
            raise Conflict("The credential is revoked, for good.", details={"status": self.status.value})
        if revoked:
            return self.status
        return CredentialStatus.SUSPENDED if value else CredentialStatus.ACTIVE


SIGNATURE_OCTETS: Final = 80


def canonical_values(schema: Schema, values: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return the values in the order of the schema and in canonical form, null for one without a value.

    Raises ``InvalidCredential``, which names the attribute and never quotes a value.
    """
    names = [attribute.name for attribute in schema.attributes]
    if values.keys() - set(names):
        # The error does not name additional members: they are the caller's text, and may contain a value.
        raise InvalidCredential(
            details={"reason": "the schema does not have all of these attributes", "attributes": [*names]}
        )
    canonical: dict[str, JsonValue] = {}
    for attribute in schema.attributes:
        if attribute.name not in values:
            raise _refused(attribute.name, "an attribute without a value is given as null")
        value = values[attribute.name]
        try:
            canonical[attribute.name] = None if value is None else attribute.accept(value).json
        except ValueRefused as refused:
            raise _refused(attribute.name, str(refused)) from None
    return canonical


def parse_signature(text: str) -> bytes:
    """Return the 80 bytes of ``signature``: base64url, bare or as multibase ``u…``. Raises ``InvalidCredential``."""
    try:
        data = multibase.base64url_decode(text.removeprefix("u") if len(text) == 108 else text)
    except ValueError:
        data = b""
    if len(data) != SIGNATURE_OCTETS:
        raise InvalidCredential(details={"reason": "the signature is not 80 bytes in base64url"})
    return data


def check_signature(public_key: bytes, signature: bytes, schema: Schema, canonical: Mapping[str, JsonValue]) -> None:
    """Verify the signature. Raises ``InvalidCredential``: unless this key (96 bytes) signed exactly this schema and these values."""
    # The curve backends are slow to load, and most processes of the command line never need them.
    from identity_bbs import interface
    from identity_bbs.bls12381 import select
    from identity_bbs.suite import BbsSignatureInvalid, ciphersuite

    try:
        interface.verify(ciphersuite(select()), public_key, signature, schema.header, schema.messages(canonical))
    except (BbsSignatureInvalid, ValueError):
        raise InvalidCredential(details={"reason": "the signature is not the issuer's on these values"}) from None


def _refused(attribute: str, reason: str) -> InvalidCredential:
    return InvalidCredential(details={"attribute": attribute, "reason": reason})
