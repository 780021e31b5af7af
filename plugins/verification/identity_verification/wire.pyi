"""GENERATED from openapi/ by `python -m openapi.build`: what identity_verification.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from identity_core.wire import Anchor, AskedCredential, AskedPredicate, AttributeReference, HolderConsent, IBCT, ZKPredicate, ZKProof

DOCUMENT: bytes


class AnchorDetails(Struct, frozen=True, kw_only=True):
    ledger: str
    root: str
    index: int
    size: int
    path: tuple[str, ...]
    sealed_at: str
    salt: str
    commitment: str

class CheckedDelegation(Struct, frozen=True, kw_only=True):
    id: str
    status: str
    uses_left: int | None
    expires_at: str

class CreateVerifierChallengeRequest(Struct, frozen=True, kw_only=True):
    domain: str

class CredentialCheck(Struct, frozen=True, kw_only=True):
    check: str
    ok: bool | None
    code: str | None
    reason: str | None

class CredentialVerdict(Struct, frozen=True, kw_only=True):
    verified: bool
    checks: tuple[CredentialCheck, ...]

class DelegatedProofCheck(Struct, frozen=True, kw_only=True):
    usable: bool
    reasons: tuple[DelegatedProofRefusal, ...]
    delegation: CheckedDelegation | UnsetType = UNSET

class DelegatedProofCheckRequest(Struct, frozen=True, kw_only=True):
    holder_did: str
    agent_did: str
    credential_id: str | UnsetType = UNSET
    predicate: ZKPredicate | UnsetType = UNSET
    predicates: tuple[AskedPredicate, ...] | UnsetType = UNSET
    credentials: tuple[AskedCredential, ...] | UnsetType = UNSET
    same: tuple[tuple[AttributeReference, ...], ...] | UnsetType = UNSET
    either: tuple[tuple[int, ...], ...] | UnsetType = UNSET
    pseudonym: str | UnsetType = UNSET
    ibct: IBCT
    holder_consent: HolderConsent | UnsetType = UNSET
    anchor: bool | UnsetType = UNSET
    sync_wait_ms: int | UnsetType = UNSET
    challenge: str | UnsetType = UNSET
    domain: str | UnsetType = UNSET

class DelegatedProofRefusal(Struct, frozen=True, kw_only=True):
    code: str
    message: str
    details: dict[str, Any]

class ExpectedCredential(Struct, frozen=True, kw_only=True):
    issuer_did: str
    schema_id: str
    predicates: tuple[ExpectedPredicate, ...] | UnsetType = UNSET

class ExpectedPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: str
    value: str | list[Any] | dict[str, Any] | int | float | bool | None

class OnlyPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: str
    value: Any

class ProofCheck(Struct, frozen=True, kw_only=True):
    check: str
    ok: bool | None
    code: str | None
    expected: str | None
    found: str | None

class ProofRecord(Struct, frozen=True, kw_only=True):
    proof_id: str
    delegation_id: str
    holder_did: str
    agent_did: str
    credential_id: str
    issuer_did: str
    schema_id: str
    predicate: OnlyPredicate | None
    predicates: tuple[ShownPredicate, ...]
    question: ShownQuestion | None
    proof: ZKProof
    challenge: str | None
    domain: str | None
    created_at: str
    expires_at: str
    revoked_at: str | None
    revoked_by: str | None
    revocation_reason: str | None
    anchor: Anchor | None
    anchor_details: AnchorDetails | None

class RevokeProofRequest(Struct, frozen=True, kw_only=True):
    reason: str | UnsetType = UNSET
    sync_wait_ms: int | UnsetType = UNSET

class ShownCredential(Struct, frozen=True, kw_only=True):
    credential_id: str | UnsetType = UNSET
    issuer_did: str
    schema_id: str
    predicates: tuple[ShownPredicate, ...]

class ShownPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: str
    value: Any

class ShownQuestion(Struct, frozen=True, kw_only=True):
    credentials: tuple[ShownCredential, ...]
    same: tuple[tuple[AttributeReference, ...], ...]
    either: tuple[tuple[int, ...], ...]
    pseudonym: str | None
    pseudonym_value: str | None | UnsetType = UNSET

class StatusListEpoch(Struct, frozen=True, kw_only=True):
    list_id: str
    epoch: int
    begins: str
    ends: str

class VerificationResult(Struct, frozen=True, kw_only=True):
    verified: bool
    verdict: Literal["valid", "unbound", "invalid"]
    missing: tuple[Literal["predicate", "challenge", "domain", "issuerDid"], ...]
    checks: tuple[ProofCheck, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    unchecked: tuple[str, ...]
    proof_id: str | None
    predicate: OnlyPredicate | None
    predicates: tuple[ShownPredicate, ...]
    question: ShownQuestion | None
    issuer_did: str | None
    schema_id: str | None
    status_lists: tuple[StatusListEpoch, ...] | UnsetType = UNSET
    anchor: Anchor | None

class VerifierChallenge(Struct, frozen=True, kw_only=True):
    challenge: str
    domain: str
    expires_at: str

class VerifyCredentialRequest(Struct, frozen=True, kw_only=True):
    credential: dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None]

class VerifyProofRequest(Struct, frozen=True, kw_only=True):
    proof: str
    public_signals: tuple[str, ...] | UnsetType = UNSET
    predicate_type: str | UnsetType = UNSET
    proof_id: str | UnsetType = UNSET
    predicate: ExpectedPredicate | UnsetType = UNSET
    credentials: tuple[ExpectedCredential, ...] | UnsetType = UNSET
    same: tuple[tuple[AttributeReference, ...], ...] | UnsetType = UNSET
    either: tuple[tuple[int, ...], ...] | UnsetType = UNSET
    pseudonym: str | UnsetType = UNSET
    predicates: tuple[ExpectedPredicate, ...] | UnsetType = UNSET
    challenge: str | UnsetType = UNSET
    domain: str | UnsetType = UNSET
    issuer_did: str | UnsetType = UNSET
    schema_id: str | UnsetType = UNSET
    max_age: int | UnsetType = UNSET
    status_max_age: int | UnsetType = UNSET
    requires: tuple[Literal["holder", "credentialValidity", "credentialStatus"], ...] | UnsetType = UNSET
    agent_key: str | UnsetType = UNSET
    consent_cover: int | UnsetType = UNSET

class VerifyStoredProofRequest(Struct, frozen=True, kw_only=True):
    predicate: ExpectedPredicate | UnsetType = UNSET
    predicates: tuple[ExpectedPredicate, ...] | UnsetType = UNSET
    credentials: tuple[ExpectedCredential, ...] | UnsetType = UNSET
    same: tuple[tuple[AttributeReference, ...], ...] | UnsetType = UNSET
    either: tuple[tuple[int, ...], ...] | UnsetType = UNSET
    pseudonym: str | UnsetType = UNSET
    challenge: str | UnsetType = UNSET
    domain: str | UnsetType = UNSET
    issuer_did: str | UnsetType = UNSET
    schema_id: str | UnsetType = UNSET
    max_age: int | UnsetType = UNSET
    status_max_age: int | UnsetType = UNSET
    requires: tuple[Literal["holder", "credentialValidity", "credentialStatus"], ...] | UnsetType = UNSET
    agent_key: str | UnsetType = UNSET
    consent_cover: int | UnsetType = UNSET
