"""A credential as people pass it on: the W3C Verifiable Credentials Data Model 2.0 around typed, BBS-signed attributes.

The proof is of a cryptosuite of our own, because bbs-2023 signs RDF statements and could prove nothing about their
numbers. It covers schema and values (``credential_signature``); a stranger has id, holder and validity from the service's
record. Left out on purpose: JSON-LD processing. The second context gives the attributes a meaning for those who do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from identity_core.codec import times
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import Credential, parse_signature
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidCredential, InvalidDid

CONTEXTS: Final = (status_list.VC_CONTEXT, "https://www.w3.org/ns/credentials/undefined-terms/v2")
TYPES: Final = ("VerifiableCredential",)
SCHEMA_TYPE: Final = "IdentityCredentialSchema"
CRYPTOSUITE: Final = "identity-bbs-credential-1"

_MEMBERS: Final = frozenset(
    {"@context", "id", "type", "issuer", "validFrom", "credentialSchema", "credentialSubject", "proof"}
)
_OPTIONAL: Final = frozenset({"validUntil", "credentialStatus"})


@dataclass(frozen=True, slots=True)
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

    def __repr__(self) -> str:
        return f"PresentedCredential({self.id!r}, …)"

    def agrees_with(self, credential: Credential, base_url: str) -> bool:
        """Whether every part that the signature does not cover is as it was recorded."""
        entries = status_list.entries(credential.issuer, credential.status_index, base_url)
        return (
            self.status in (None, entries)
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


def parse(value: Mapping[str, Any]) -> PresentedCredential:
    """The parts of a credential as ``getCredential`` shows it. Members that it does not show are refused, because nothing vouches
    for them. Raises ``InvalidCredential``, which quotes nothing."""
    if not _MEMBERS <= value.keys() <= _MEMBERS | _OPTIONAL:
        raise _refused("the credential does not have exactly the members of one of ours")
    subject, schema, proof = (_object(value[name]) for name in ("credentialSubject", "credentialSchema", "proof"))
    if value["@context"] != list(CONTEXTS) or value["type"] != list(TYPES):
        raise _refused("the contexts or types are not those of our credentials")
    if schema.get("type") != SCHEMA_TYPE or proof.get("cryptosuite") != CRYPTOSUITE:
        raise _refused("the schema or the proof is of another kind")
    if proof.get("type") != "DataIntegrityProof" or proof.get("proofPurpose") != "assertionMethod":
        raise _refused("the schema or the proof is of another kind")
    until = value.get("validUntil")
    try:
        return PresentedCredential(
            id=_text(value["id"]),
            issuer=Did.parse(_text(value["issuer"])),
            holder=Did.parse(_text(subject.get("id"))),
            schema_id=_text(schema.get("id")),
            valid_from=times.parse(_text(value["validFrom"])),
            valid_until=None if until is None else times.parse(_text(until)),
            verification_method=_text(proof.get("verificationMethod")),
            signature=parse_signature(_text(proof.get("proofValue"))),
            attributes={name: claim for name, claim in subject.items() if name != "id"},
            status=value.get("credentialStatus"),
        )
    except (InvalidDid, ValueError):
        raise _refused("issuer and holder are DIDs, validity is RFC 3339") from None


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _refused("subject, schema and proof are objects")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 2048:
        raise _refused("a member that is a text is none")
    return value


def _refused(reason: str) -> InvalidCredential:
    return InvalidCredential(details={"reason": reason})
