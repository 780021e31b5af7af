"""GENERATED from openapi/ by `python -m openapi.build`: what identity_universal.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from identity_core.wire import ErrorBody, W3cDidDocumentMetadata

DOCUMENT: bytes

DidMethodNames = tuple[str, ...]
DidMethodPropertiesByName = dict[str, DidMethodProperties]
DidTraits = dict[str, Any]
DidTraitsByMethod = dict[str, dict[str, Any]]
RegistrationDocument = dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None]
RegistrationJobId = str | None
SigningResponses = dict[str, SigningResponse]
TestIdentifiers = tuple[str, ...]
TestIdentifiersByMethod = dict[str, tuple[str, ...]]

class DereferencingMetadata(Struct, frozen=True, kw_only=True):
    content_type: str

class DidMethodPattern(Struct, frozen=True, kw_only=True):
    pattern: str

class DidMethodProperties(Struct, frozen=True, kw_only=True):
    http: DidMethodPattern
    mutable: bool
    publishes_logs: bool
    looks_elsewhere: bool

class DidRegistrationMetadata(Struct, frozen=True, kw_only=True):
    transaction_hash: str | UnsetType = UNSET
    block_number: int | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET

class DidResolutionOptions(Struct, frozen=True, kw_only=True):
    accept: str | UnsetType = UNSET
    version_id: str | UnsetType = UNSET
    version_time: str | UnsetType = UNSET
    service: str | UnsetType = UNSET
    relative_ref: str | UnsetType = UNSET
    no_cache: bool | UnsetType = UNSET
    public_key_format: Literal["Multikey"] | UnsetType = UNSET

class DidUrlDereferencing(Struct, frozen=True, kw_only=True):
    content: dict[str, Any]
    content_stream: dict[str, Any]
    content_metadata: W3cDidDocumentMetadata
    dereferencing_metadata: DereferencingMetadata

class FailedDidState(Struct, frozen=True, kw_only=True):
    state: Literal["failed"]
    error: str | UnsetType = UNSET
    reason: str

class ProblemMetadata(Struct, frozen=True, kw_only=True):
    error: ResolutionProblem

class RefusalMetadata(Struct, frozen=True, kw_only=True):
    code: str
    request_id: str

class RefusedIdentifier(Struct, frozen=True, kw_only=True):
    error: ErrorBody
    did_document: dict[str, Any] | None
    did_document_metadata: dict[str, Any]
    did_resolution_metadata: ProblemMetadata
    content: dict[str, Any] | None
    content_stream: dict[str, Any] | None
    content_metadata: dict[str, Any]
    dereferencing_metadata: ProblemMetadata

class RefusedRegistration(Struct, frozen=True, kw_only=True):
    error: ErrorBody
    job_id: str | None
    did_state: FailedDidState
    did_registration_metadata: RefusalMetadata
    did_document_metadata: dict[str, Any]

class RegisterDidDeactivationRequest(Struct, frozen=True, kw_only=True):
    job_id: str | None | UnsetType = UNSET
    did: str
    options: RegistrationChangeOptions | None | UnsetType = UNSET
    secret: RegistrationSignatures | None | UnsetType = UNSET

class RegisterDidQuery(Struct, frozen=True, kw_only=True):
    method: str | None = None

class RegisterDidRequest(Struct, frozen=True, kw_only=True):
    job_id: str | None | UnsetType = UNSET
    options: RegistrationOptions | None | UnsetType = UNSET
    secret: RegistrationKeys | None | UnsetType = UNSET
    did_document: dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None] | None | UnsetType = UNSET

class RegisterDidUpdateRequest(Struct, frozen=True, kw_only=True):
    job_id: str | None | UnsetType = UNSET
    did: str
    options: RegistrationChangeOptions | None | UnsetType = UNSET
    secret: RegistrationSignatures | None | UnsetType = UNSET
    did_document_operation: tuple[str, ...] | None | UnsetType = UNSET
    did_document: tuple[dict[str, str | list[Any] | dict[str, Any] | int | float | bool | None], ...] | None | UnsetType = UNSET

class RegisteredDocumentMetadata(Struct, frozen=True, kw_only=True):
    version_id: str | UnsetType = UNSET
    updated: str | UnsetType = UNSET
    deactivated: bool | UnsetType = UNSET

class RegisteredKey(Struct, frozen=True, kw_only=True):
    id: str
    type: str
    controller: str
    purpose: tuple[str, ...]
    private_key_multibase: str

class RegisteredSecret(Struct, frozen=True, kw_only=True):
    verification_method: tuple[RegisteredKey, ...]

class RegistrationChangeOptions(Struct, frozen=True, kw_only=True):
    client_secret_mode: bool | None | UnsetType = UNSET

class RegistrationDidState(Struct, frozen=True, kw_only=True):
    state: Literal["finished", "action"]
    did: str | UnsetType = UNSET
    did_document: dict[str, Any] | UnsetType = UNSET
    secret: RegisteredSecret | UnsetType = UNSET
    action: Literal["signPayload", "getVerificationMethod"] | UnsetType = UNSET
    signing_request: dict[str, SigningRequest] | UnsetType = UNSET
    verification_method_template: tuple[VerificationMethodTemplate, ...] | UnsetType = UNSET

class RegistrationKeys(Struct, frozen=True, kw_only=True):
    verification_method: tuple[RegistrationPublicKey, ...] | None | UnsetType = UNSET

class RegistrationOptions(Struct, frozen=True, kw_only=True):
    client_secret_mode: bool | None | UnsetType = UNSET
    store_secrets: bool | None | UnsetType = UNSET
    return_secrets: bool | None | UnsetType = UNSET
    request_verification_method: tuple[VerificationMethodTemplate, ...] | None | UnsetType = UNSET

class RegistrationPublicKey(Struct, frozen=True, kw_only=True):
    id: str | UnsetType = UNSET
    type: str
    controller: str | UnsetType = UNSET
    purpose: tuple[str, ...] | UnsetType = UNSET
    public_key_multibase: str | UnsetType = UNSET
    public_key_jwk: dict[str, str] | UnsetType = UNSET

class RegistrationSignatures(Struct, frozen=True, kw_only=True):
    signing_response: dict[str, SigningResponse] | UnsetType = UNSET

class RegistrationState(Struct, frozen=True, kw_only=True):
    job_id: str | None
    did_state: RegistrationDidState
    did_registration_metadata: DidRegistrationMetadata
    did_document_metadata: RegisteredDocumentMetadata

class ResolutionProblem(Struct, frozen=True, kw_only=True):
    type: str
    title: str
    detail: str

class ResolveIdentifierQuery(Struct, frozen=True, kw_only=True):
    version_id: int | None = None
    version_time: str | None = None
    service: str | None = None
    relative_ref: str | None = None
    no_cache: bool = False
    public_key_format: Literal["Multikey"] | None = None

class SigningPayload(Struct, frozen=True, kw_only=True):
    challenge: str

class SigningRequest(Struct, frozen=True, kw_only=True):
    payload: SigningPayload
    serialized_payload: str
    kid: str
    alg: Literal["EdDSA"]
    purpose: Literal["authentication"]

class SigningResponse(Struct, frozen=True, kw_only=True):
    signature: str
    kid: str | UnsetType = UNSET
    alg: str | UnsetType = UNSET
    purpose: str | UnsetType = UNSET

class VerificationMethodTemplate(Struct, frozen=True, kw_only=True):
    id: str | UnsetType = UNSET
    type: str
    controller: str | UnsetType = UNSET
    purpose: tuple[str, ...]
