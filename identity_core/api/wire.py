"""GENERATED from openapi/ by `python -m openapi.build`: the JSON values that travel, as types. Do not edit.

SHA-256 of identity.json: aba8d3a61b65d100eeb0faf2930c8ade8e4904de218dc397e94d2944a8ace93f
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

DOCUMENT_SHA256 = "aba8d3a61b65d100eeb0faf2930c8ade8e4904de218dc397e94d2944a8ace93f"

AlsoKnownAs = list[str]

AnchorStatus = Literal["pending", "confirmed", "revoked", "failed", "pre-phase7"]

AnyDidDocumentMetadata = dict[str, Any]

ApiKeyName = str

AutonomyLevel = int

Burst = int | None

ChangeKind = str

DelegatedNames = list[str] | None

DelegationLimit = int | None

DelegationStatus = Literal["scheduled", "active", "suspended", "exhausted", "expired", "revoked"]

DependencyStates = dict[str, str]

KeyId = str

KeyReferences = list[str]

KeyType = str

NullableDidDocument = dict[str, Any] | None

OperationName = str

PredicateType = Literal["gte", "gt", "lte", "lt", "eq", "set_member"]

ProofOfPossession = str

PublicKeyMultibase = str

Purposes = list[str]

RequestsPerSecond = float | None

Scopes = list[str]

ServiceId = str

ShownHolderProof = dict[str, Any] | None

SignedRequest = dict[str, Any] | None

Version = dict[str, str]


class AdditionalIssuedKey(TypedDict):
    keyId: str
    publicKey: str
    privateKey: NotRequired[str]
    purpose: NotRequired[str]


class AdditionalKey(TypedDict):
    type: KeyType
    purpose: Purposes


class Anchor(TypedDict):
    status: AnchorStatus
    txHash: NotRequired[str | None]
    blockNumber: NotRequired[int | None]
    revokedBlock: NotRequired[int | None]


class AnchorDetails(TypedDict):
    ledger: str
    root: str
    index: int
    size: int
    path: list[str]
    sealedAt: str
    salt: str
    commitment: str


class ApiKeyList(TypedDict):
    items: list[ApiKeyRecord]
    nextCursor: str | None


class ApiKeyRecord(TypedDict):
    id: str
    name: str
    fingerprint: str
    admin: bool
    scopes: list[str] | None
    allowedTargets: list[str] | None
    requestsPerSecond: float | None
    burst: int | None
    createdAt: str
    expiresAt: str | None
    revokedAt: str | None
    lineage: str | None
    source: str


class AuditLine(TypedDict):
    sequence: int
    line: str
    link: str


class AuditLog(TypedDict):
    items: list[AuditLine]
    nextAfter: int


class Author(TypedDict):
    kind: str
    did: NotRequired[str]
    fingerprint: NotRequired[str]


class Challenge(TypedDict):
    challenge: str
    did: str
    expiresAt: str


class CreateApiKeyRequest(TypedDict):
    name: ApiKeyName
    admin: NotRequired[bool]
    scopes: NotRequired[Scopes]
    allowedTargets: NotRequired[list[str] | None]
    requestsPerSecond: NotRequired[RequestsPerSecond]
    burst: NotRequired[Burst]
    expiresAt: NotRequired[str | None]


class CreateCredentialSchemaRequest(TypedDict):
    id: NotRequired[str]
    attributes: list[CredentialAttribute]


class CreateDelegationRequest(TypedDict):
    holderDid: str
    agentDid: str
    parentId: NotRequired[str]
    actions: NotRequired[list[str]]
    predicates: NotRequired[list[PinnedPredicate]]
    credentialIds: NotRequired[DelegatedNames]
    schemaIds: NotRequired[DelegatedNames]
    verifiers: NotRequired[DelegatedNames]
    autonomyLevel: AutonomyLevel
    maxUses: NotRequired[DelegationLimit]
    maxRefusals: NotRequired[DelegationLimit]
    maxThresholds: NotRequired[DelegationLimit]
    maxDepth: NotRequired[int]
    notBefore: NotRequired[str]
    expiresAt: str
    purpose: NotRequired[str]
    holderProof: NotRequired[HolderProof]


class CreateDidOptions(TypedDict):
    additionalKeys: NotRequired[list[AdditionalKey]]
    serviceEndpoints: NotRequired[list[NewServiceEndpoint]]
    recoveryKey: NotRequired[bool]
    publicKeys: NotRequired[list[OwnPublicKey]]
    alsoKnownAs: NotRequired[AlsoKnownAs]
    storeSecrets: NotRequired[bool]
    returnSecrets: NotRequired[bool]


class CreateDidRequest(TypedDict):
    method: str
    keyType: NotRequired[str]
    options: NotRequired[CreateDidOptions]


class CreateVerifierChallengeRequest(TypedDict):
    domain: str


class CreatedDid(TypedDict):
    did: str
    didDocument: DidDocument
    keys: IssuedKeys
    transactionHash: str
    blockNumber: int


class CredentialAttribute(TypedDict):
    name: str
    type: str
    scale: NotRequired[int]
    minimum: NotRequired[Any]
    maximum: NotRequired[Any]
    unit: NotRequired[str]
    allowedThresholds: NotRequired[list[Any]]
    proofTypes: NotRequired[list[str]]


class CredentialCheck(TypedDict):
    check: str
    ok: bool | None
    code: str | None
    reason: str | None


class CredentialList(TypedDict):
    items: list[CredentialRecord]
    nextCursor: str | None


class CredentialMessage(TypedDict):
    attributeName: str
    kind: str


class CredentialProof(TypedDict):
    type: str
    cryptosuite: str
    verificationMethod: str
    created: str
    proofPurpose: str
    proofValue: NotRequired[str]


class CredentialRecord(TypedDict):
    id: str
    issuerDid: str
    holderDid: str
    schemaId: str
    attributeNames: list[str]
    verificationMethod: str
    validFrom: str
    validUntil: str | None
    status: Literal["active", "suspended", "revoked"]
    statusReason: str | None
    version: int
    createdAt: str
    createdBy: Author
    credential: VerifiableCredential | None


class CredentialSchema(TypedDict):
    id: str
    attributes: list[CredentialAttribute]
    header: str
    messages: list[CredentialMessage]
    createdAt: str
    createdBy: Author


class CredentialSchemaList(TypedDict):
    items: list[CredentialSchema]
    nextCursor: str | None


class CredentialSchemaReference(TypedDict):
    id: str
    type: str


class CredentialStatusEntry(TypedDict):
    id: str
    type: str
    statusPurpose: str
    statusListIndex: str
    statusListCredential: str


class CredentialSubject(TypedDict):
    id: str


class CredentialVerdict(TypedDict):
    verified: bool
    checks: list[CredentialCheck]


class DeactivateDidRequest(TypedDict):
    confirm: bool
    reason: NotRequired[str]


class DeactivatedDid(TypedDict):
    did: str
    deactivated: bool
    transactionHash: str
    blockNumber: int


class DeactivatedDidResolution(TypedDict):
    error: ErrorBody
    didDocument: NotRequired[NullableDidDocument]
    didDocumentMetadata: NotRequired[AnyDidDocumentMetadata]
    didResolutionMetadata: NotRequired[DidResolutionMetadata]


class DelegatedProofRequest(TypedDict):
    holderDid: str
    agentDid: str
    credentialId: str
    predicate: ZKPredicate
    ibct: IBCT
    anchor: NotRequired[bool]
    syncWaitMs: NotRequired[int]
    challenge: NotRequired[str]
    domain: NotRequired[str]


class DelegatedProofResult(TypedDict):
    proofId: str
    delegationId: str
    proof: ZKProof
    anchor: NotRequired[Anchor | None]


class Delegation(TypedDict):
    id: str
    uri: str
    holderDid: str
    agentDid: str
    grantorDid: str
    parentId: str | None
    actions: list[str]
    predicates: list[PinnedPredicate]
    credentialIds: list[str] | None
    schemaIds: list[str] | None
    verifiers: list[str] | None
    autonomyLevel: AutonomyLevel
    effectiveAutonomyLevel: int
    maxUses: int | None
    uses: int
    maxRefusals: int | None
    refusals: int
    maxThresholds: int | None
    thresholds: int
    maxDepth: int
    notBefore: str
    expiresAt: str
    purpose: str | None
    status: DelegationStatus
    suspendedReason: str | None
    createdAt: str
    createdBy: Author
    revokedAt: str | None
    revokedBy: Revoker | None
    revocationReason: str | None
    version: int
    holderProof: ShownHolderProof
    signedRequest: SignedRequest


class DelegationList(TypedDict):
    items: list[Delegation]
    nextCursor: str | None


DidDocument = TypedDict(
    "DidDocument",
    {
        "@context": 'list[str]',
        "id": 'str',
        "controller": 'NotRequired[str]',
        "alsoKnownAs": 'NotRequired[list[str]]',
        "verificationMethod": 'NotRequired[list[VerificationMethod]]',
        "authentication": 'NotRequired[KeyReferences]',
        "assertionMethod": 'NotRequired[KeyReferences]',
        "keyAgreement": 'NotRequired[KeyReferences]',
        "capabilityInvocation": 'NotRequired[KeyReferences]',
        "capabilityDelegation": 'NotRequired[KeyReferences]',
        "service": 'NotRequired[list[Service]]',
    },
)


class DidDocumentMetadata(TypedDict):
    created: str
    updated: str
    versionId: int
    deactivated: bool
    nextUpdate: NotRequired[str]
    nextVersionId: NotRequired[int]


class DidHistory(TypedDict):
    did: str
    total: int
    items: list[DidVersion]
    nextCursor: str | None


class DidList(TypedDict):
    items: list[DidSummary]
    nextCursor: str | None


class DidResolution(TypedDict):
    didDocument: DidDocument
    didDocumentMetadata: DidDocumentMetadata
    didResolutionMetadata: DidResolutionMetadata


class DidResolutionMetadata(TypedDict):
    contentType: str
    duration: NotRequired[int]


class DidSummary(TypedDict):
    did: str
    versionId: int
    created: str
    updated: str
    deactivated: bool


class DidVersion(TypedDict):
    versionId: int
    operation: ChangeKind
    timestamp: str
    effectiveAt: str
    transactionHash: str | None
    blockNumber: int | None
    previousHash: str | None
    entryHash: str | None
    keyId: str | None
    changes: list[str]
    didDocument: NotRequired[DidDocument]


class Error(TypedDict):
    error: ErrorBody


class ErrorBody(TypedDict):
    code: NotRequired[str]
    message: NotRequired[str]
    details: NotRequired[ErrorDetails]


class ErrorDetails(TypedDict):
    requestId: NotRequired[str]


class Event(TypedDict):
    sequence: int
    did: str
    versionId: int
    operation: ChangeKind
    timestamp: str
    transactionHash: str
    blockNumber: int


class EventList(TypedDict):
    items: list[Event]
    nextAfter: int


class ExpectedPredicate(TypedDict):
    attributeName: str
    type: str
    value: Any


class Health(TypedDict):
    status: Literal["ok"]


class HolderProof(TypedDict):
    type: str
    cryptosuite: str
    created: str
    verificationMethod: str
    proofPurpose: str
    proofValue: str


class IBCT(TypedDict):
    id: str
    type: str
    invoker: str
    target: str
    action: str
    delegationRef: str
    nonce: str
    issuedAt: str
    expiresAt: str
    proofValue: str


class ImportCredentialRequest(TypedDict):
    issuerDid: str
    holderDid: str
    schemaId: str
    attributes: dict[str, Any]
    validFrom: NotRequired[str]
    validUntil: NotRequired[str | None]
    verificationMethod: str
    signature: str


class IssueCredentialRequest(TypedDict):
    issuerDid: str
    holderDid: str
    schemaId: str
    attributes: dict[str, Any]
    validFrom: NotRequired[str]
    validUntil: NotRequired[str | None]
    verificationMethod: NotRequired[str]


class IssueTokenRequest(TypedDict):
    grant_type: NotRequired[str]
    scope: NotRequired[str]
    subject: NotRequired[str]


class IssuedApiKey(TypedDict):
    apiKey: str
    record: ApiKeyRecord


class IssuedKey(TypedDict):
    keyId: str
    publicKey: str
    privateKey: NotRequired[str]


class IssuedKeys(TypedDict):
    authentication: NotRequired[IssuedKey]
    keyAgreement: NotRequired[IssuedKey]
    assertionMethod: NotRequired[IssuedKey]
    recovery: NotRequired[IssuedKey]
    additional: NotRequired[list[AdditionalIssuedKey]]


class Jwk(TypedDict):
    kty: str
    crv: str
    x: str
    use: str
    alg: str
    kid: str


class JwkSet(TypedDict):
    keys: list[Jwk]


class LedgerBlock(TypedDict):
    blockNumber: int
    firstSequence: int
    lastSequence: int
    items: list[LedgerBlockEntry]
    nextAfter: int | None


class LedgerBlockEntry(TypedDict):
    sequence: int
    did: str
    versionId: int
    timestamp: str
    transactionHash: str


class LedgerConsistencyProof(TypedDict):
    first: int
    second: int
    firstRootHash: str
    secondRootHash: str
    hashes: list[str]


class LedgerInclusionProof(TypedDict):
    transactionHash: str
    sequence: int
    leafIndex: int
    leafHash: str
    treeSize: int
    rootHash: str
    hashes: list[str]
    checkpoint: str | None


class LedgerKey(TypedDict):
    origin: str
    verifierKey: str
    publicKeyMultibase: str


class LedgerTransaction(TypedDict):
    transactionHash: str
    blockNumber: int
    sequence: int
    did: str
    versionId: int
    timestamp: str
    recordedAt: str
    entry: str
    leafHash: str


class NewServiceEndpoint(TypedDict):
    type: str
    serviceEndpoint: str


class OnlyPredicate(TypedDict):
    attributeName: str
    type: str
    value: Any


class OwnPublicKey(TypedDict):
    type: KeyType
    publicKeyMultibase: PublicKeyMultibase
    purpose: Purposes


class PinnedPredicate(TypedDict):
    attributeName: str
    type: str
    values: list[Any]


class PluginCondition(TypedDict):
    state: str
    processes: NotRequired[PluginProcesses]


class PluginProcesses(TypedDict):
    wanted: int
    ready: int
    restarts: int


class ProofCheck(TypedDict):
    check: str
    ok: bool | None
    code: str | None


class ProofRecord(TypedDict):
    proofId: str
    delegationId: str
    holderDid: str
    agentDid: str
    credentialId: str
    issuerDid: str
    schemaId: str
    predicate: ShownPredicate
    proof: ZKProof
    challenge: str | None
    domain: str | None
    createdAt: str
    expiresAt: str
    revokedAt: str | None
    revokedBy: str | None
    revocationReason: str | None
    anchor: Anchor | None
    anchorDetails: AnchorDetails | None


class Readiness(TypedDict):
    status: Literal["ready", "unavailable"]
    dependencies: NotRequired[DependencyStates]
    plugins: NotRequired[PluginConditions]


class ReasonCount(TypedDict):
    code: str
    count: int


class RecoverDidRequest(TypedDict):
    newAuthenticationKey: VerificationMethodInput
    revokeAllExistingKeys: NotRequired[bool]
    newRecoveryKey: NotRequired[VerificationMethodInput]


class RecoveredDid(TypedDict):
    did: str
    didDocument: DidDocument
    versionId: int
    updated: str
    keys: IssuedKeys
    transactionHash: str
    blockNumber: int


class RevokeDelegationRequest(TypedDict):
    reason: NotRequired[str]


class RevokeIbctRequest(TypedDict):
    invoker: str
    id: NotRequired[str]
    nonce: NotRequired[str]
    expiresAt: NotRequired[str]


class RevokeProofRequest(TypedDict):
    reason: NotRequired[str]
    syncWaitMs: NotRequired[int]


class RevokedIbct(TypedDict):
    invoker: str
    id: NotRequired[str]
    nonce: NotRequired[str]
    revokedAt: str
    keptUntil: str


class Revoker(TypedDict):
    kind: str
    did: NotRequired[str]
    fingerprint: NotRequired[str]


class RotateApiKeyRequest(TypedDict):
    graceSeconds: NotRequired[int]


class RotateDidKeyRequest(TypedDict):
    oldKeyId: KeyId
    newKeyType: KeyType
    purpose: NotRequired[Purposes]
    revokeOldAfter: NotRequired[str]
    newPublicKeyMultibase: NotRequired[PublicKeyMultibase]
    proofOfPossession: NotRequired[ProofOfPossession]
    storeSecrets: NotRequired[bool]
    returnSecrets: NotRequired[bool]


class RotatedApiKey(TypedDict):
    apiKey: str
    record: ApiKeyRecord
    predecessor: ApiKeyRecord


class RotatedDidKey(TypedDict):
    newKey: IssuedKey
    gracePeriodEnd: str
    versionId: int
    transactionHash: str
    blockNumber: int


class Service(TypedDict):
    id: str
    type: str
    serviceEndpoint: str


class ServiceInput(TypedDict):
    id: ServiceId
    type: str
    serviceEndpoint: str


class SetCredentialStatusRequest(TypedDict):
    purpose: str
    value: bool
    reason: NotRequired[str]


class ShownPredicate(TypedDict):
    attributeName: str
    type: str
    value: Any


class StatusList(TypedDict):
    id: str
    type: str
    statusPurpose: str
    encodedList: str


StatusListCredential = TypedDict(
    "StatusListCredential",
    {
        "@context": 'list[str]',
        "id": 'str',
        "type": 'list[str]',
        "issuer": 'str',
        "validFrom": 'str',
        "credentialSubject": 'StatusList',
        "proof": 'StatusListProof',
    },
)


StatusListProof = TypedDict(
    "StatusListProof",
    {
        "@context": 'list[str]',
        "type": 'str',
        "cryptosuite": 'str',
        "verificationMethod": 'str',
        "created": 'str',
        "proofPurpose": 'str',
        "proofValue": 'str',
    },
)


class Timeline(TypedDict):
    items: list[TimelineItem]
    nextCursor: str | None


class TimelineItem(TypedDict):
    id: str
    at: str
    kind: str
    outcome: str
    code: str | None
    actor: str | None
    holderDid: str | None
    agentDid: str | None
    issuerDid: str | None
    delegationId: str | None
    credentialId: str | None
    proofId: str | None
    anchor: Anchor | None


class TokenAnswer(TypedDict):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: NotRequired[str]


class UpdateApiKeyRequest(TypedDict):
    name: NotRequired[ApiKeyName]
    admin: NotRequired[bool]
    scopes: NotRequired[Scopes]
    allowedTargets: NotRequired[list[str] | None]
    requestsPerSecond: NotRequired[RequestsPerSecond]
    burst: NotRequired[Burst]
    expiresAt: NotRequired[str | None]


class UpdateDidRequest(TypedDict):
    operation: NotRequired[OperationName]
    service: NotRequired[ServiceInput]
    serviceId: NotRequired[ServiceId]
    verificationMethod: NotRequired[VerificationMethodInput]
    relationships: NotRequired[Purposes]
    keyId: NotRequired[KeyId]
    alsoKnownAs: NotRequired[AlsoKnownAs]
    operations: NotRequired[list[UpdateOperation]]


class UpdateOperation(TypedDict):
    operation: OperationName
    service: NotRequired[ServiceInput]
    serviceId: NotRequired[ServiceId]
    verificationMethod: NotRequired[VerificationMethodInput]
    relationships: NotRequired[Purposes]
    keyId: NotRequired[KeyId]
    alsoKnownAs: NotRequired[AlsoKnownAs]


class UpdatedDid(TypedDict):
    did: str
    didDocument: DidDocument
    versionId: int
    updated: str
    transactionHash: str
    blockNumber: int


VerifiableCredential = TypedDict(
    "VerifiableCredential",
    {
        "@context": 'list[str]',
        "id": 'str',
        "type": 'list[str]',
        "issuer": 'str',
        "validFrom": 'str',
        "validUntil": 'NotRequired[str]',
        "credentialSchema": 'CredentialSchemaReference',
        "credentialSubject": 'CredentialSubject',
        "credentialStatus": 'list[CredentialStatusEntry]',
        "proof": 'CredentialProof',
    },
)


class VerificationHistory(TypedDict):
    items: list[VerificationHistoryRow]
    nextCursor: str | None


class VerificationHistoryRow(TypedDict):
    id: str
    ts: str
    verified: bool
    verifierDid: str | None
    keyFingerprint: str | None
    holderDid: str | None
    issuerDid: str | None
    schemaId: str | None
    proofId: str | None
    predicate: VerifiedPredicate | None
    reasons: list[VerificationReason]
    anchor: Anchor | None


class VerificationMethod(TypedDict):
    id: str
    type: str
    controller: str
    publicKeyMultibase: str
    revoked: NotRequired[str]


class VerificationMethodInput(TypedDict):
    type: KeyType
    publicKeyMultibase: PublicKeyMultibase
    proofOfPossession: NotRequired[ProofOfPossession]


class VerificationReason(TypedDict):
    code: str


class VerificationResult(TypedDict):
    verified: bool
    checks: list[ProofCheck]
    errors: list[str]
    warnings: list[str]
    unchecked: list[str]
    proofId: str | None
    predicate: OnlyPredicate | None
    predicates: list[ShownPredicate]
    issuerDid: str | None
    schemaId: str | None
    anchor: Anchor | None


class VerificationStats(TypedDict):
    total: int
    verified: int
    refused: int
    reasons: list[ReasonCount]


class VerifiedPredicate(TypedDict):
    attributeName: str
    type: str


class VerifierChallenge(TypedDict):
    challenge: str
    domain: str
    expiresAt: str


class VerifyCredentialRequest(TypedDict):
    credential: dict[str, Any]


class VerifyProofRequest(TypedDict):
    proof: str
    publicSignals: NotRequired[list[str]]
    predicateType: NotRequired[str]
    proofId: NotRequired[str]
    predicate: NotRequired[ExpectedPredicate]
    challenge: NotRequired[str]
    domain: NotRequired[str]
    issuerDid: NotRequired[str]
    schemaId: NotRequired[str]
    maxAge: NotRequired[int]


class VerifyStoredProofRequest(TypedDict):
    predicate: NotRequired[ExpectedPredicate]
    challenge: NotRequired[str]
    domain: NotRequired[str]
    issuerDid: NotRequired[str]
    schemaId: NotRequired[str]
    maxAge: NotRequired[int]


class W3cDidDocumentMetadata(TypedDict):
    created: str
    updated: NotRequired[str]
    versionId: str
    nextUpdate: NotRequired[str]
    nextVersionId: NotRequired[str]


class W3cDidResolution(TypedDict):
    didDocument: DidDocument
    didDocumentMetadata: W3cDidDocumentMetadata
    didResolutionMetadata: DidResolutionMetadata


class ZKPredicate(TypedDict):
    attributeName: str
    type: PredicateType
    value: NotRequired[Any]


class ZKProof(TypedDict):
    proof: NotRequired[str]
    publicSignals: NotRequired[list[str]]
    predicateType: NotRequired[str]
    proofId: NotRequired[str]


PluginConditions = dict[str, PluginCondition]
