"""GENERATED from openapi/ by `python -m openapi.build`: what identity_core.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from identity_codec.structs import Types

TYPES: Types

AlsoKnownAs = tuple[str, ...]
Alternatives = tuple[int, ...]
AnchorStatus = Literal["pending", "confirmed", "revoked", "failed", "pre-phase7"]
AnyDidDocumentMetadata = dict[str, Any]
AskedPredicateType = Literal["gte", "gt", "lte", "lt", "eq", "set_member", "neq"]
AutonomyLevel = int
ChangeKind = str
CredentialSubject = dict[str, Any]
DelegatedNames = tuple[str, ...] | None
DelegationLimit = int | None
DelegationStatus = Literal["scheduled", "active", "suspended", "exhausted", "expired", "revoked"]
DependencyStates = dict[str, str]
DidDocument = dict[str, Any]
DidUrlContent = dict[str, Any]
ErrorDetails = dict[str, Any]
IBCTType = str
KeyId = str
KeyReferences = tuple[str, ...]
KeyType = str
NullableDidDocument = dict[str, Any] | None
OperationName = str
PluginConditions = dict[str, PluginCondition]
PredicateType = Literal["gte", "gt", "lte", "lt", "eq", "set_member"]
ProofOfPossession = str
PublicKeyJwk = dict[str, Any]
PublicKeyMultibase = str
Purposes = tuple[str, ...]
ResolvedDidDocument = dict[str, Any]
ResolvedKeys = tuple[Any, ...]
ResolvedService = dict[str, Any]
ResolvedVerificationMethod = dict[str, Any]
SameAttributes = tuple[AttributeReference, ...]
ServiceId = str
ShownHolderProof = dict[str, Any] | None
SignedRequest = dict[str, Any] | None
StrictEvidenceToSet = bool
UnboundChanges = int
Version = dict[str, str]

class AdditionalIssuedKey(Struct, frozen=True, kw_only=True):
    key_id: str
    public_key: str
    private_key: str | UnsetType = UNSET
    purpose: str | UnsetType = UNSET

class AdditionalKey(Struct, frozen=True, kw_only=True):
    type: str
    purpose: tuple[str, ...]

class Anchor(Struct, frozen=True, kw_only=True):
    status: Literal["pending", "confirmed", "revoked", "failed", "pre-phase7"]
    tx_hash: str | None | UnsetType = UNSET
    block_number: int | None | UnsetType = UNSET
    revoked_block: int | None | UnsetType = UNSET

class AskedCredential(Struct, frozen=True, kw_only=True):
    credential_id: str
    predicates: tuple[AskedPredicate, ...] | UnsetType = UNSET

class AskedPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: Literal["gte", "gt", "lte", "lt", "eq", "set_member", "neq"]
    value: str | list[Any] | dict[str, Any] | int | float | bool | None | UnsetType = UNSET

class AttributeReference(Struct, frozen=True, kw_only=True):
    credential: int
    attribute_name: str

class Author(Struct, frozen=True, kw_only=True):
    kind: str
    did: str | UnsetType = UNSET
    fingerprint: str | UnsetType = UNSET

class Challenge(Struct, frozen=True, kw_only=True):
    challenge: str
    did: str
    expires_at: str

class CreateCredentialSchemaRequest(Struct, frozen=True, kw_only=True):
    id: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    titles: dict[str, str] | UnsetType = UNSET
    attributes: tuple[CredentialAttribute, ...]

class CreateDelegationRequest(Struct, frozen=True, kw_only=True):
    holder_did: str
    agent_did: str
    parent_id: str | UnsetType = UNSET
    actions: tuple[str, ...] | UnsetType = UNSET
    predicates: tuple[PinnedPredicate, ...] | UnsetType = UNSET
    credential_ids: tuple[str, ...] | None | UnsetType = UNSET
    schema_ids: tuple[str, ...] | None | UnsetType = UNSET
    verifiers: tuple[str, ...] | None | UnsetType = UNSET
    autonomy_level: int
    max_uses: int | None | UnsetType = UNSET
    max_refusals: int | None | UnsetType = UNSET
    max_thresholds: int | None | UnsetType = UNSET
    max_depth: int | UnsetType = UNSET
    not_before: str | UnsetType = UNSET
    expires_at: str
    purpose: str | UnsetType = UNSET
    holder_proof: HolderProof | UnsetType = UNSET

class CreateDidOptions(Struct, frozen=True, kw_only=True):
    additional_keys: tuple[AdditionalKey, ...] | UnsetType = UNSET
    service_endpoints: tuple[NewServiceEndpoint, ...] | UnsetType = UNSET
    recovery_key: bool | UnsetType = UNSET
    public_keys: tuple[OwnPublicKey, ...] | UnsetType = UNSET
    also_known_as: tuple[str, ...] | UnsetType = UNSET
    store_secrets: bool | UnsetType = UNSET
    return_secrets: bool | UnsetType = UNSET
    strict_evidence: bool | UnsetType = UNSET
    recovery_window: int | UnsetType = UNSET
    witness: WitnessList | UnsetType = UNSET

class CreateDidRequest(Struct, frozen=True, kw_only=True):
    method: str
    key_type: str | UnsetType = UNSET
    options: CreateDidOptions | UnsetType = UNSET

class CreatedDid(Struct, frozen=True, kw_only=True):
    did: str
    did_document: dict[str, Any]
    keys: IssuedKeys
    transaction_hash: str
    block_number: int

class CredentialAttribute(Struct, frozen=True, kw_only=True):
    name: str
    type: str
    scale: int | UnsetType = UNSET
    minimum: str | list[Any] | dict[str, Any] | int | float | bool | None | UnsetType = UNSET
    maximum: str | list[Any] | dict[str, Any] | int | float | bool | None | UnsetType = UNSET
    unit: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    titles: dict[str, str] | UnsetType = UNSET
    allowed_thresholds: tuple[str | list[Any] | dict[str, Any] | int | float | bool | None, ...] | UnsetType = UNSET
    proof_types: tuple[str, ...] | UnsetType = UNSET

class CredentialList(Struct, frozen=True, kw_only=True):
    items: tuple[CredentialRecord, ...]
    next_cursor: str | None

class CredentialMessage(Struct, frozen=True, kw_only=True):
    attribute_name: str
    kind: str

class CredentialProof(Struct, frozen=True, kw_only=True):
    type: str
    cryptosuite: str
    verification_method: str
    created: str
    proof_purpose: str
    proof_value: str | UnsetType = UNSET
    header: str | UnsetType = UNSET
    commitment: str | UnsetType = UNSET

class CredentialRecord(Struct, frozen=True, kw_only=True):
    id: str
    issuer_did: str
    holder_did: str
    schema_id: str
    attribute_names: tuple[str, ...]
    verification_method: str
    valid_from: str
    valid_until: str | None
    status: Literal["active", "suspended", "revoked"]
    status_reason: str | None
    version: int
    created_at: str
    created_by: Author
    credential: VerifiableCredential | None
    suite: int | UnsetType = UNSET
    holder_secret_replaced: bool | UnsetType = UNSET

class CredentialSchema(Struct, frozen=True, kw_only=True):
    id: str
    title: str | UnsetType = UNSET
    titles: dict[str, str] | UnsetType = UNSET
    attributes: tuple[CredentialAttribute, ...]
    header: str
    messages: tuple[CredentialMessage, ...]
    created_at: str
    created_by: Author

class CredentialSchemaList(Struct, frozen=True, kw_only=True):
    items: tuple[CredentialSchema, ...]
    next_cursor: str | None

class CredentialSchemaReference(Struct, frozen=True, kw_only=True):
    id: str
    type: str

class CredentialStatusEntry(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    status_purpose: str
    status_list_index: str
    status_list_credential: str

class DeactivateDidRequest(Struct, frozen=True, kw_only=True):
    confirm: bool
    reason: str | UnsetType = UNSET

class DeactivatedDid(Struct, frozen=True, kw_only=True):
    did: str
    deactivated: bool
    transaction_hash: str
    block_number: int

class DeactivatedDidResolution(Struct, frozen=True, kw_only=True):
    error: ErrorBody
    did_document: dict[str, Any] | None | UnsetType = UNSET
    did_document_metadata: dict[str, Any] | UnsetType = UNSET
    did_resolution_metadata: DidResolutionMetadata | UnsetType = UNSET

class DelegatedPresentationRequest(Struct, frozen=True, kw_only=True):
    holder_did: str
    agent_did: str
    credential_id: str | UnsetType = UNSET
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

class DelegatedProofRequest(Struct, frozen=True, kw_only=True):
    holder_did: str
    agent_did: str
    credential_id: str
    predicate: ZKPredicate
    ibct: IBCT
    anchor: bool | UnsetType = UNSET
    sync_wait_ms: int | UnsetType = UNSET
    challenge: str | UnsetType = UNSET
    domain: str | UnsetType = UNSET

class DelegatedProofResult(Struct, frozen=True, kw_only=True):
    proof_id: str
    delegation_id: str
    proof: ZKProof
    anchor: Anchor | None | UnsetType = UNSET

class Delegation(Struct, frozen=True, kw_only=True):
    id: str
    uri: str
    holder_did: str
    agent_did: str
    grantor_did: str
    parent_id: str | None
    actions: tuple[str, ...]
    predicates: tuple[PinnedPredicate, ...]
    credential_ids: tuple[str, ...] | None
    schema_ids: tuple[str, ...] | None
    verifiers: tuple[str, ...] | None
    autonomy_level: int
    effective_autonomy_level: int
    max_uses: int | None
    uses: int
    max_refusals: int | None
    refusals: int
    max_thresholds: int | None
    thresholds: int
    max_depth: int
    not_before: str
    expires_at: str
    purpose: str | None
    status: Literal["scheduled", "active", "suspended", "exhausted", "expired", "revoked"]
    suspended_reason: str | None
    created_at: str
    created_by: Author
    revoked_at: str | None
    revoked_by: Revoker | None
    revocation_reason: str | None
    version: int
    holder_proof: dict[str, Any] | None
    signed_request: dict[str, Any] | None

class DelegationList(Struct, frozen=True, kw_only=True):
    items: tuple[Delegation, ...]
    next_cursor: str | None

class DidDocumentMetadata(Struct, frozen=True, kw_only=True):
    created: str
    updated: str
    version_id: int
    deactivated: bool
    next_update: str | UnsetType = UNSET
    next_version_id: int | UnsetType = UNSET
    unbound_changes: int | UnsetType = UNSET
    ledger: LedgerPosition | UnsetType = UNSET

class DidHistory(Struct, frozen=True, kw_only=True):
    did: str
    total: int
    items: tuple[DidVersion, ...]
    next_cursor: str | None

class DidList(Struct, frozen=True, kw_only=True):
    items: tuple[DidSummary, ...]
    next_cursor: str | None

class DidResolution(Struct, frozen=True, kw_only=True):
    did_document: dict[str, Any]
    did_document_metadata: DidDocumentMetadata
    did_resolution_metadata: DidResolutionMetadata

class DidResolutionMetadata(Struct, frozen=True, kw_only=True):
    content_type: str
    duration: int | UnsetType = UNSET

class DidSummary(Struct, frozen=True, kw_only=True):
    did: str
    version_id: int
    created: str
    updated: str
    deactivated: bool

class DidVersion(Struct, frozen=True, kw_only=True):
    version_id: int
    operation: str
    timestamp: str
    effective_at: str
    transaction_hash: str | None
    block_number: int | None
    previous_hash: str | None
    entry_hash: str | None
    key_id: str | None
    changes: tuple[str, ...]
    did_document: dict[str, Any] | UnsetType = UNSET

class ErrorBody(Struct, frozen=True, kw_only=True):
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    details: dict[str, Any] | UnsetType = UNSET

class ErrorResponse(Struct, frozen=True, kw_only=True):
    error: ErrorBody

class GetDidAuthChallengeQuery(Struct, frozen=True, kw_only=True):
    did: str
    purpose: str | None = None
    body_hash: str | None = None
    target: str | None = None
    named: bool = False

class Health(Struct, frozen=True, kw_only=True):
    status: Literal["ok"]

class HolderConsent(Struct, frozen=True, kw_only=True):
    cover: int | UnsetType = UNSET
    not_before: int
    not_after: int
    agent_key: str | UnsetType = UNSET
    value: str
    blind_differences: tuple[str, ...]

class HolderProof(Struct, frozen=True, kw_only=True):
    type: str
    cryptosuite: str
    created: str
    verification_method: str
    proof_purpose: str
    proof_value: str

class IBCT(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    invoker: str
    target: str
    action: str
    delegation_ref: str
    nonce: str
    issued_at: str
    expires_at: str
    proof_value: str

class ImportCredentialRequest(Struct, frozen=True, kw_only=True):
    issuer_did: str
    holder_did: str
    schema_id: str
    attributes: dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None]
    valid_from: str | UnsetType = UNSET
    valid_until: str | None | UnsetType = UNSET
    verification_method: str
    signature: str
    bound: ImportedBinding | UnsetType = UNSET
    new_holder_secret: bool | UnsetType = UNSET

class ImportedBinding(Struct, frozen=True, kw_only=True):
    id: str
    header: str
    commitment: str
    holder_tag: str | UnsetType = UNSET
    handle: int

class IssueCredentialRequest(Struct, frozen=True, kw_only=True):
    issuer_did: str
    holder_did: str
    schema_id: str
    attributes: dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None]
    valid_from: str | UnsetType = UNSET
    valid_until: str | None | UnsetType = UNSET
    verification_method: str | UnsetType = UNSET
    suite: int | UnsetType = UNSET
    new_holder_secret: bool | UnsetType = UNSET

class IssuedKey(Struct, frozen=True, kw_only=True):
    key_id: str
    public_key: str
    private_key: str | UnsetType = UNSET

class IssuedKeys(Struct, frozen=True, kw_only=True):
    authentication: IssuedKey | UnsetType = UNSET
    key_agreement: IssuedKey | UnsetType = UNSET
    assertion_method: IssuedKey | UnsetType = UNSET
    recovery: IssuedKey | UnsetType = UNSET
    additional: tuple[AdditionalIssuedKey, ...] | UnsetType = UNSET

class LedgerPosition(Struct, frozen=True, kw_only=True):
    index: int
    tree_size: int
    cosigned_at: str | UnsetType = UNSET

class ListCredentialSchemasQuery(Struct, frozen=True, kw_only=True):
    limit: int = 50
    cursor: str | None = None

class ListCredentialsQuery(Struct, frozen=True, kw_only=True):
    holder_did: str | None = None
    issuer_did: str | None = None
    status: Literal["active", "suspended", "revoked"] | None = None
    limit: int = 50
    cursor: str | None = None

class ListDelegationsQuery(Struct, frozen=True, kw_only=True):
    holder_did: str | None = None
    agent_did: str | None = None
    status: Literal["scheduled", "active", "suspended", "exhausted", "expired", "revoked"] | None = None
    limit: int = 50
    cursor: str | None = None

class ListDidHistoryQuery(Struct, frozen=True, kw_only=True):
    limit: int = 50
    order: Literal["asc", "desc"] = "asc"
    cursor: str | None = None
    include_document: bool = False

class ListDidsQuery(Struct, frozen=True, kw_only=True):
    limit: int = 50
    all: bool = False
    cursor: str | None = None

class NewServiceEndpoint(Struct, frozen=True, kw_only=True):
    id: str | UnsetType = UNSET
    type: str
    service_endpoint: str

class OwnPublicKey(Struct, frozen=True, kw_only=True):
    type: str
    public_key_multibase: str
    purpose: tuple[str, ...]

class PinnedPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: str
    values: tuple[str | list[Any] | dict[str, Any] | int | float | bool | None, ...]

class PluginCondition(Struct, frozen=True, kw_only=True):
    state: str
    processes: PluginProcesses | UnsetType = UNSET

class PluginProcesses(Struct, frozen=True, kw_only=True):
    wanted: int
    ready: int
    restarts: int

class Readiness(Struct, frozen=True, kw_only=True):
    status: Literal["ready", "unavailable"]
    dependencies: dict[str, str] | UnsetType = UNSET
    plugins: dict[str, PluginCondition] | UnsetType = UNSET

class RecoverDidRequest(Struct, frozen=True, kw_only=True):
    new_authentication_key: VerificationMethodInput
    revoke_all_existing_keys: bool | UnsetType = UNSET
    new_recovery_key: VerificationMethodInput | UnsetType = UNSET
    restore_version: int | UnsetType = UNSET

class RecoveredDid(Struct, frozen=True, kw_only=True):
    did: str
    did_document: dict[str, Any]
    version_id: int
    updated: str
    keys: IssuedKeys
    transaction_hash: str
    block_number: int

class ResolveDidQuery(Struct, frozen=True, kw_only=True):
    version_id: int | None = None
    version_time: str | None = None

class RevokeDelegationRequest(Struct, frozen=True, kw_only=True):
    reason: str | UnsetType = UNSET

class RevokeIbctRequest(Struct, frozen=True, kw_only=True):
    invoker: str
    id: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET

class RevokedIbct(Struct, frozen=True, kw_only=True):
    invoker: str
    id: str | UnsetType = UNSET
    nonce: str | UnsetType = UNSET
    revoked_at: str
    kept_until: str

class Revoker(Struct, frozen=True, kw_only=True):
    kind: str
    did: str | UnsetType = UNSET
    fingerprint: str | UnsetType = UNSET

class RotateDidKeyRequest(Struct, frozen=True, kw_only=True):
    old_key_id: str
    new_key_type: str
    purpose: tuple[str, ...] | UnsetType = UNSET
    revoke_old_after: str | UnsetType = UNSET
    new_public_key_multibase: str | UnsetType = UNSET
    proof_of_possession: str | UnsetType = UNSET
    store_secrets: bool | UnsetType = UNSET
    return_secrets: bool | UnsetType = UNSET

class RotatedDidKey(Struct, frozen=True, kw_only=True):
    new_key: IssuedKey
    grace_period_end: str
    version_id: int
    transaction_hash: str
    block_number: int

class Service(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    service_endpoint: str

class ServiceInput(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    service_endpoint: str

class SetCredentialStatusRequest(Struct, frozen=True, kw_only=True):
    purpose: str
    value: bool
    reason: str | UnsetType = UNSET

class StatusList(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    status_purpose: str
    encoded_list: str

class StatusListCredential(Struct, frozen=True, kw_only=True):
    context: tuple[str, ...]
    id: str
    type: tuple[str, ...]
    issuer: str
    valid_from: str
    credential_subject: StatusList
    proof: StatusListProof

class StatusListProof(Struct, frozen=True, kw_only=True):
    context: tuple[str, ...]
    type: str
    cryptosuite: str
    verification_method: str
    created: str
    proof_purpose: str
    proof_value: str

class UpdateDidRequest(Struct, frozen=True, kw_only=True):
    operation: str | UnsetType = UNSET
    service: ServiceInput | UnsetType = UNSET
    service_id: str | UnsetType = UNSET
    verification_method: VerificationMethodInput | UnsetType = UNSET
    relationships: tuple[str, ...] | UnsetType = UNSET
    key_id: str | UnsetType = UNSET
    also_known_as: tuple[str, ...] | UnsetType = UNSET
    witness: WitnessListToSet | UnsetType = UNSET
    strict_evidence: bool | UnsetType = UNSET
    operations: tuple[UpdateOperation, ...] | UnsetType = UNSET

class UpdateOperation(Struct, frozen=True, kw_only=True):
    operation: str
    service: ServiceInput | UnsetType = UNSET
    service_id: str | UnsetType = UNSET
    verification_method: VerificationMethodInput | UnsetType = UNSET
    relationships: tuple[str, ...] | UnsetType = UNSET
    key_id: str | UnsetType = UNSET
    also_known_as: tuple[str, ...] | UnsetType = UNSET
    witness: WitnessListToSet | UnsetType = UNSET
    strict_evidence: bool | UnsetType = UNSET

class UpdatedDid(Struct, frozen=True, kw_only=True):
    did: str
    did_document: dict[str, Any]
    version_id: int
    updated: str
    transaction_hash: str
    block_number: int

class VerifiableCredential(Struct, frozen=True, kw_only=True):
    context: tuple[str, ...]
    id: str
    type: tuple[str, ...]
    issuer: str
    valid_from: str
    valid_until: str | UnsetType = UNSET
    credential_schema: CredentialSchemaReference
    credential_subject: dict[str, Any]
    credential_status: tuple[CredentialStatusEntry, ...]
    proof: CredentialProof

class VerificationMethod(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    controller: str
    public_key_multibase: str | UnsetType = UNSET
    revoked: str | UnsetType = UNSET

class VerificationMethodInput(Struct, frozen=True, kw_only=True):
    type: str
    public_key_multibase: str
    proof_of_possession: str | UnsetType = UNSET

class W3cDidDocumentMetadata(Struct, frozen=True, kw_only=True):
    created: str
    updated: str | UnsetType = UNSET
    version_id: str
    next_update: str | UnsetType = UNSET
    next_version_id: str | UnsetType = UNSET
    unbound_changes: int | UnsetType = UNSET
    ledger: LedgerPosition | UnsetType = UNSET

class W3cDidResolution(Struct, frozen=True, kw_only=True):
    did_document: dict[str, Any]
    did_document_metadata: W3cDidDocumentMetadata
    did_resolution_metadata: DidResolutionMetadata

class WitnessId(Struct, frozen=True, kw_only=True):
    id: str

class WitnessList(Struct, frozen=True, kw_only=True):
    threshold: int
    witnesses: tuple[WitnessId, ...]

class WitnessListToSet(Struct, frozen=True, kw_only=True):
    threshold: int | UnsetType = UNSET
    witnesses: tuple[WitnessId, ...] | UnsetType = UNSET

class ZKPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: Literal["gte", "gt", "lte", "lt", "eq", "set_member"]
    value: str | list[Any] | dict[str, Any] | int | float | bool | None | UnsetType = UNSET

class ZKProof(Struct, frozen=True, kw_only=True):
    proof: str | UnsetType = UNSET
    public_signals: tuple[str, ...] | UnsetType = UNSET
    predicate_type: str | UnsetType = UNSET
    proof_id: str | UnsetType = UNSET
