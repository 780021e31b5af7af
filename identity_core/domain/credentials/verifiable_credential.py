"""The exchange form of a credential: the W3C Verifiable Credentials Data Model 2.0 with typed, BBS-signed attributes.

The proof is of a private cryptosuite, because bbs-2023 signs RDF statements and cannot prove predicates about their numbers. The
signature of suite 1 covers schema and values; other services read id, holder and validity from the service's record. The signature of
suite 2 covers these too. Left out on purpose: JSON-LD processing. The second context defines the attributes for JSON-LD processors.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Protocol

from msgspec import Struct

from identity_client.data_integrity import PROOF_PURPOSE, PROOF_TYPE, check_proof_options
from identity_codec import times
from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import Binding, Credential, check_signature, parse_signature
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.dids.did import Did
from identity_core.domain.proofs.proof import Witness
from identity_core.errors import InvalidCredential, InvalidDid

CONTEXTS: Final = (status_list.VC_CONTEXT, "https://www.w3.org/ns/credentials/undefined-terms/v2")
TYPES: Final = ("VerifiableCredential",)
SCHEMA_TYPE: Final = "IdentityCredentialSchema"
CRYPTOSUITE: Final = "identity-bbs-credential-1"
BOUND_CRYPTOSUITE: Final = "identity-bbs-credential-2"

_MEMBERS: Final = {"@context", "id", "type", "issuer", "validFrom", "credentialSchema", "credentialSubject", "proof"}
_OPTIONAL: Final = frozenset({"validUntil", "credentialStatus"})
_PROOF: Final = frozenset({"type", "cryptosuite", "verificationMethod", "created", "proofPurpose", "proofValue"})
_BOUND_PROOF: Final = _PROOF | {"header", "commitment", "holderTag"}


class PresentedBinding(Protocol):
    """The additional, unverified claims of a credential that is bound to its holder."""

    def signature_check(
        self, presented: PresentedCredential, public_key: bytes, definition: CredentialSchema, values: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """See ``PresentedCredential.signature_check``."""

    def is_of(self, binding: Binding | None) -> bool:
        """Return whether it equals the recorded binding."""


class BoundFormat(Protocol):
    """The format of credentials that are bound to their holder: signature check, status entry and parser. Methods store nothing."""

    def signature_check(self, credential: Credential, binding: Binding, witness: Witness) -> tuple[Any, ...]:
        """Return the function that checks the issuer's signature on everything that it covers, with its arguments."""

    def status_entry(self, binding: Binding, base_url: str) -> dict[str, str] | None:
        """Return the additional entry of ``credentialStatus``, or None."""

    def read(self, proof: Mapping[str, Any], value: Mapping[str, Any]) -> PresentedBinding:
        """Parse the binding in the proof of a credential. Raises ``InvalidCredential`` and ``ValueError``."""


def status_entries(credential: Credential, base_url: str, bound: BoundFormat | None) -> list[dict[str, str]]:
    """Return the ``credentialStatus`` of a credential: its two bits, and the entry that ``bound`` adds."""
    entries, binding = status_list.entries(credential.issuer, credential.status_index, base_url), credential.binding
    entry = None if binding is None or bound is None else bound.status_entry(binding, base_url)
    return entries if entry is None else [*entries, entry]


class PresentedCredential(Struct, frozen=True):
    """An unverified object that claims to be a credential; ``attributes`` are as received."""

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
        """Return the function that checks the signature, with its arguments; it raises ``InvalidCredential``. This method also raises
        ``InvalidCredential``: when the signed header differs from the credential or its registered schema."""
        if self.bound is None:
            return check_signature, public_key, self.signature, definition.schema, values
        return self.bound.signature_check(self, public_key, definition, values)

    def agrees_with(self, credential: Credential, base_url: str, bound_format: BoundFormat | None) -> bool:
        """Return whether every part outside of the signature of suite 1 equals the record, and the binding of suite 2 is the same."""
        binding, bound = credential.binding, self.bound
        entries = status_entries(credential, base_url, bound_format)
        # A credential that its issuer signed elsewhere names only the list of signed gaps.
        return (
            self.status in (None, entries, entries[-1:] if binding else None)
            and (binding is None if bound is None else bound.is_of(binding))
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


def parse(
    value: Mapping[str, Any], now: datetime | None = None, *, bound_format: BoundFormat | None = None
) -> PresentedCredential:
    """Parse a credential as ``getCredential`` returns it. If ``now`` is None, the times of its proof are not compared with a clock.

    Refuse members that the answer does not have, because no signature covers them. Raises ``InvalidCredential``, whose text quotes
    nothing."""
    if not _MEMBERS <= value.keys() <= _MEMBERS | _OPTIONAL:
        raise invalid("the credential does not have exactly the members of one of ours")
    subject, schema, proof = (_object(value[name]) for name in ("credentialSubject", "credentialSchema", "proof"))
    if value["@context"] != list(CONTEXTS) or value["type"] != list(TYPES):
        raise invalid("the contexts or types are not those of our credentials")
    suite, kinds = proof.get("cryptosuite"), (schema.get("type"), proof.get("type"), proof.get("proofPurpose"))
    if suite not in (CRYPTOSUITE, BOUND_CRYPTOSUITE) or kinds != (SCHEMA_TYPE, PROOF_TYPE, PROOF_PURPOSE):
        raise invalid("the schema or the proof is of another kind")
    if suite == BOUND_CRYPTOSUITE and bound_format is None:
        raise invalid("no installed extension reads credentials of suite 2: install the one of bound credentials")
    try:
        check_proof_options(proof, now)
        if schema.keys() != {"id", "type"} or not proof.keys() <= (_PROOF if suite == CRYPTOSUITE else _BOUND_PROOF):
            raise invalid("the schema or the proof has a member that one of ours does not have")
        return PresentedCredential(
            id=read_text(value["id"], "id"),
            issuer=Did.parse(read_text(value["issuer"], "issuer")),
            holder=Did.parse(read_text(subject.get("id"), "credentialSubject.id")),
            schema_id=read_text(schema.get("id"), "credentialSchema.id"),
            valid_from=times.parse(value["validFrom"]),
            valid_until=None if (until := value.get("validUntil")) is None else times.parse(until),
            verification_method=read_text(proof.get("verificationMethod"), "proof.verificationMethod"),
            signature=parse_signature(read_text(proof.get("proofValue"), "proof.proofValue")),
            attributes={name: claim for name, claim in subject.items() if name != "id"},
            status=value.get("credentialStatus"),
            bound=None if bound_format is None or suite == CRYPTOSUITE else bound_format.read(proof, value),
        )
    except (InvalidDid, ValueError):
        raise invalid("issuer and holder are DIDs, times and options of the proof are valid") from None


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise invalid("subject, schema and proof are objects")
    return value


def read_text(value: Any, name: str, most: int = 2048) -> str:
    """Return the member ``name`` of at most ``most`` characters. Raises ``InvalidCredential``."""
    if value is None and name == "proof.proofValue":
        raise invalid("proof.proofValue is missing: only the holder's copy of a credential has the signature")
    if not isinstance(value, str) or len(value) > most:
        raise invalid(f"{name} is not a text of at most {most} characters")
    return value


def invalid(reason: str) -> InvalidCredential:
    """Return the refusal, with its reason."""
    return InvalidCredential(details={"reason": reason})
