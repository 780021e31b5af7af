"""GENERATED from openapi/ by `python -m openapi.build`: what identity_consents.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from identity_core.wire import AskedPredicate, IBCT

DOCUMENT: bytes

BoundPart = Literal["predicate", "challenge", "domain", "issuerDid"]
ProofVerdict = Literal["valid", "unbound", "invalid"]

class AnswerConsentRequestRequest(Struct, frozen=True, kw_only=True):
    credential_id: str | UnsetType = UNSET
    ibct: IBCT | UnsetType = UNSET
    declined: bool | UnsetType = UNSET

class AnswerVerifierRequestRequest(Struct, frozen=True, kw_only=True):
    proof: str
    public_signals: tuple[str, ...] | UnsetType = UNSET
    predicate_type: str | UnsetType = UNSET
    proof_id: str | UnsetType = UNSET

class ConsentApproval(Struct, frozen=True, kw_only=True):
    credential_id: str
    ibct: IBCT

class ConsentRequest(Struct, frozen=True, kw_only=True):
    id: str
    status: str
    holder_did: str
    agent_did: str
    predicates: tuple[RequestedPredicate, ...]
    domain: str | None
    purpose: str | None
    link: str
    created_at: str
    expires_at: str
    approval: ConsentApproval | None

class ConsentRequestList(Struct, frozen=True, kw_only=True):
    items: tuple[ConsentRequest, ...]

class CreateConsentRequestRequest(Struct, frozen=True, kw_only=True):
    holder_did: str
    predicates: tuple[AskedPredicate, ...]
    domain: str | UnsetType = UNSET
    purpose: str | UnsetType = UNSET
    lifetime: int | UnsetType = UNSET

class CreateVerifierRequestRequest(Struct, frozen=True, kw_only=True):
    domain: str
    predicates: tuple[AskedPredicate, ...]
    issuer_did: str | UnsetType = UNSET
    schema_id: str | UnsetType = UNSET
    requires: tuple[Literal["holder", "credentialValidity", "credentialStatus"], ...] | UnsetType = UNSET
    purpose: str | UnsetType = UNSET
    reference: str | UnsetType = UNSET

class HandedInProof(Struct, frozen=True, kw_only=True):
    verified: bool
    verdict: Literal["valid", "unbound", "invalid"]
    missing: tuple[Literal["predicate", "challenge", "domain", "issuerDid"], ...]
    errors: tuple[str, ...]

class ListConsentRequestsQuery(Struct, frozen=True, kw_only=True):
    status: Literal["waiting", "approved", "declined"] | None = None

class ListVerifierRequestsQuery(Struct, frozen=True, kw_only=True):
    status: Literal["waiting", "answered", "expired"] | None = None

class RequestedPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: str
    value: str | list[Any] | dict[str, Any] | int | float | bool | None

class ResultStatusList(Struct, frozen=True, kw_only=True):
    list_id: str
    epoch: int
    begins: str
    ends: str

class VerifierRequest(Struct, frozen=True, kw_only=True):
    id: str
    status: str
    verifier_did: str | None
    predicates: tuple[RequestedPredicate, ...]
    challenge: str
    domain: str
    issuer_did: str | None
    schema_id: str | None
    requires: tuple[str, ...]
    purpose: str | None
    reference: str | None
    link: str
    created_at: str
    expires_at: str
    result: VerifierRequestResult | None

class VerifierRequestList(Struct, frozen=True, kw_only=True):
    items: tuple[VerifierRequest, ...]

class VerifierRequestResult(Struct, frozen=True, kw_only=True):
    verified: bool
    verdict: Literal["valid", "unbound", "invalid"]
    missing: tuple[Literal["predicate", "challenge", "domain", "issuerDid"], ...]
    proof_id: str | None
    issuer_did: str | None
    schema_id: str | None
    status_lists: tuple[ResultStatusList, ...] | UnsetType = UNSET
