"""A credential as people pass it on: the W3C Verifiable Credentials Data Model 2.0 around typed, BBS-signed attributes.

The proof is of a cryptosuite of our own, because bbs-2023 signs RDF statements and could prove nothing about their
numbers. That of suite 1 covers schema and values; a stranger has id, holder and validity from the service's record. That of suite 2 covers
those too. Left out on purpose: JSON-LD processing. The second context gives the attributes a meaning for those who do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from identity_codec import times
from identity_codec.multibase import base64url_decode
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.bound_credential import CRYPTOSUITE as BOUND_CRYPTOSUITE
from identity_core.domain.credentials.bound_credential import NO_HANDLE, BoundHeader, Particulars, check_bound_signature
from identity_core.domain.credentials.credential import Credential, StatusPurpose, check_signature, parse_signature
from identity_core.domain.credentials.credential_schema import CredentialSchema, digest
from identity_core.domain.credentials.schema import MAX_HEADER_OCTETS
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.log.entry import check_proof_options
from identity_core.errors import InvalidCredential, InvalidDid

CONTEXTS: Final = (status_list.VC_CONTEXT, "https://www.w3.org/ns/credentials/undefined-terms/v2")
TYPES: Final = ("VerifiableCredential",)
SCHEMA_TYPE: Final = "IdentityCredentialSchema"
CRYPTOSUITE: Final = "identity-bbs-credential-1"
MAX_HEADER_TEXT: Final = 4 * MAX_HEADER_OCTETS // 3 + 1

_MEMBERS: Final = frozenset(
    {"@context", "id", "type", "issuer", "validFrom", "credentialSchema", "credentialSubject", "proof"}
)
_OPTIONAL: Final = frozenset({"validUntil", "credentialStatus"})


GAP_ENTRY_TYPE: Final = "IdentityStatusGapsEntry"


def status_entries(credential: Credential, base_url: str) -> list[dict[str, str]]:
    """The ``credentialStatus`` of a credential: its two bits, and of suite 2 its handle in the list of signed gaps."""
    entries, binding = status_list.entries(credential.issuer, credential.status_index, base_url), credential.binding
    reference = None if binding is None else BoundHeader.from_octets(binding.header).status
    if binding is not None and reference is not None:
        address = f"{base_url}/status-gaps/{reference.list_id}"
        entries.append(
            {
                "id": f"{address}#{binding.handle}",
                "type": GAP_ENTRY_TYPE,
                "statusPurpose": StatusPurpose.REVOCATION.value,
                "statusListIndex": str(binding.handle),
                "statusListCredential": address,
            }
        )
    return entries


@value_class
class PresentedBinding:
    """What a credential of suite 2 says besides: the signed header, the holder's commitment K and the handle."""

    header: BoundHeader
    commitment: bytes
    handle: int


@value_class
class PresentedCredential:
    """What somebody says is a credential. All of it is a claim; ``attributes`` are as they came."""

    id: str
    issuer: Did
    holder: Did
    schema_id: str
    valid_from: datetime
    valid_until: datetime | None
    verification_method: str
    signature: bytes
    attributes: Mapping[str, Any]
    status: Any
    bound: PresentedBinding | None

    def __repr__(self) -> str:
        return f"PresentedCredential({self.id!r}, …)"

    def signature_check(
        self, public_key: bytes, definition: CredentialSchema, values: Mapping[str, JsonValue]
    ) -> tuple[Any, ...]:
        """The function that checks the signature on all that it covers, with its arguments; it raises ``InvalidCredential``. Raises that
        itself where the signed header says something else than the credential and its registered schema."""
        if self.bound is None:
            return check_signature, public_key, self.signature, definition.schema, values
        signed = self.bound.header
        try:
            expected = BoundHeader(
                definition.schema, self.verification_method, signed.status, signed.keeper, digest(definition)
            )
            particulars = Particulars(self.id, str(self.holder), self.valid_from, self.valid_until, self.bound.handle)
        except ValueRefused as refused:
            raise _refused(str(refused)) from None
        if signed != expected or signed.issuer != str(self.issuer):
            raise _refused("the signed header is of another schema, key or issuer")
        return check_bound_signature, public_key, self.signature, signed, values, particulars, self.bound.commitment

    def agrees_with(self, credential: Credential, base_url: str) -> bool:
        """Whether every part that the signature of suite 1 does not cover is as it was recorded, and that of suite 2 is the same one."""
        binding, bound = credential.binding, self.bound
        entries = status_entries(credential, base_url)
        # What an issuer signed at home names the list of signed gaps alone.
        return (
            self.status in (None, entries, entries[-1:] if binding else None)
            and (None if binding is None else (binding.header, binding.commitment, binding.handle))
            == (None if bound is None else (bound.header.octets, bound.commitment, bound.handle))
            and (self.id, self.issuer, self.holder, self.schema_id, self.verification_method)
            == (
                credential.id,
                credential.issuer,
                credential.holder,
                credential.schema.id,
                credential.verification_method,
            )
            and (self.valid_from, self.valid_until) == (credential.valid_from, credential.valid_until)
        )


def parse(value: Mapping[str, Any], now: datetime | None = None) -> PresentedCredential:
    """Parse a credential as ``getCredential`` returns it; ``now`` None compares the times of its proof with no clock.

    Members that the answer does not have are refused, because no signature covers them. Raises ``InvalidCredential``, whose text
    quotes nothing."""
    if not _MEMBERS <= value.keys() <= _MEMBERS | _OPTIONAL:
        raise _refused("the credential does not have exactly the members of one of ours")
    subject, schema, proof = (_object(value[name]) for name in ("credentialSubject", "credentialSchema", "proof"))
    if value["@context"] != list(CONTEXTS) or value["type"] != list(TYPES):
        raise _refused("the contexts or types are not those of our credentials")
    if schema.get("type") != SCHEMA_TYPE or proof.get("cryptosuite") not in (CRYPTOSUITE, BOUND_CRYPTOSUITE):
        raise _refused("the schema or the proof is of another kind")
    if proof.get("type") != "DataIntegrityProof" or proof.get("proofPurpose") != "assertionMethod":
        raise _refused("the schema or the proof is of another kind")
    until = value.get("validUntil")
    try:
        check_proof_options(proof, now)
        return PresentedCredential(
            id=_text(value["id"]),
            issuer=Did.parse(_text(value["issuer"])),
            holder=Did.parse(_text(subject.get("id"))),
            schema_id=_text(schema.get("id")),
            valid_from=times.parse(value["validFrom"]),
            valid_until=None if until is None else times.parse(until),
            verification_method=_text(proof.get("verificationMethod")),
            signature=parse_signature(_text(proof.get("proofValue"))),
            attributes={name: claim for name, claim in subject.items() if name != "id"},
            status=value.get("credentialStatus"),
            bound=_bound(proof, value) if proof["cryptosuite"] == BOUND_CRYPTOSUITE else None,
        )
    except (InvalidDid, ValueError):
        raise _refused("issuer and holder are DIDs, times and options of the proof are valid") from None


def _bound(proof: Mapping[str, Any], value: Mapping[str, Any]) -> PresentedBinding:
    header = BoundHeader.from_octets(base64url_decode(_text(proof.get("header"), MAX_HEADER_TEXT)))
    handle = NO_HANDLE
    if header.status is not None:
        entries = value.get("credentialStatus")
        entry = _object(entries[-1] if isinstance(entries, list) and entries else None)
        if entry.get("type") != GAP_ENTRY_TYPE:
            raise _refused("the last entry of credentialStatus is not that of the list of signed gaps")
        handle = _handle(_text(entry.get("statusListIndex")))
    return PresentedBinding(header, base64url_decode(_text(proof.get("commitment"))), handle)


def _handle(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or str(int(text)) != text:
        raise ValueError("a handle is a number")
    return int(text)


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _refused("subject, schema and proof are objects")
    return value


def _text(value: Any, most: int = 2048) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise _refused("a member that is a text is none")
    return value


def _refused(reason: str) -> InvalidCredential:
    return InvalidCredential(details={"reason": reason})
