"""GENERATED from openapi/ by `python -m openapi.build`: the JSON values that travel, as types. Do not edit.

SHA-256 of identity.json: 937c1c4e7089e54a817bf84fdec1fca1d8a708c8df719d3c757ef64804fab81c
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

DOCUMENT_SHA256 = "937c1c4e7089e54a817bf84fdec1fca1d8a708c8df719d3c757ef64804fab81c"

AlsoKnownAs = list[str]

AnyDidDocumentMetadata = dict[str, Any]

ApiKeyName = str

Burst = int | None

ChangeKind = str

DependencyStates = dict[str, str]

KeyId = str

KeyReferences = list[str]

KeyType = str

NullableDidDocument = dict[str, Any] | None

OperationName = str

PublicKeyMultibase = str

Purposes = list[str]

RequestsPerSecond = float | None

Scopes = list[str]

ServiceId = str

Version = dict[str, str]


class AdditionalIssuedKey(TypedDict):
    keyId: str
    publicKey: str
    privateKey: NotRequired[str]
    purpose: NotRequired[str]


class AdditionalKey(TypedDict):
    type: KeyType
    purpose: Purposes


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


class CreatedDid(TypedDict):
    did: str
    didDocument: DidDocument
    keys: IssuedKeys
    transactionHash: str
    blockNumber: int


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


class Health(TypedDict):
    status: Literal["ok"]


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


class NewServiceEndpoint(TypedDict):
    type: str
    serviceEndpoint: str


class OwnPublicKey(TypedDict):
    type: KeyType
    publicKeyMultibase: PublicKeyMultibase
    purpose: Purposes


class Readiness(TypedDict):
    status: Literal["ready", "unavailable"]
    dependencies: DependencyStates


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


class RotateApiKeyRequest(TypedDict):
    graceSeconds: NotRequired[int]


class RotateDidKeyRequest(TypedDict):
    oldKeyId: KeyId
    newKeyType: KeyType
    purpose: NotRequired[Purposes]
    revokeOldAfter: NotRequired[str]
    newPublicKeyMultibase: NotRequired[PublicKeyMultibase]
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


class VerificationMethod(TypedDict):
    id: str
    type: str
    controller: str
    publicKeyMultibase: str
    revoked: NotRequired[str]


class VerificationMethodInput(TypedDict):
    type: KeyType
    publicKeyMultibase: PublicKeyMultibase


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
