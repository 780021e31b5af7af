"""GENERATED from openapi/errors.yaml by `python -m openapi.build`: every refusal, one class a code. Do not edit.

A class holds what the client sees: code, HTTP status, a message that is safe to show to anybody, and a remedy where one fits every
case. ``details`` holds only JSON values and never a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from identity_codec.strict_json import JsonValue


class IdentityError(Exception):
    """A refusal or failure with a stable code."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    message: ClassVar[str] = "The request could not be completed."
    remedy: ClassVar[str] = ""

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, JsonValue] = {**({"remedy": self.remedy} if self.remedy else {}), **(details or {})}


class InvalidRequest(IdentityError):
    """The request is malformed: its shape, a type, an unknown member, a header or a parameter."""

    code = "INVALID_REQUEST"
    status = 400
    message = "The request is malformed."


class InvalidDid(IdentityError):
    """The text is not a DID, or a DID shall be created by a method that this installation does not have."""

    code = "INVALID_DID"
    status = 400
    message = "The DID is not valid."


class InvalidDidUrl(IdentityError):
    """The part of a DID URL after the DID is malformed, or leads outside of the DID's own service."""

    code = "INVALID_DID_URL"
    status = 400
    message = "The DID URL is not valid."


class AuthAmbiguous(IdentityError):
    """The request carries two different credentials. X-API-Key beside a DIDAuth or RecoveryKey signature is ignored."""

    code = "AUTH_AMBIGUOUS"
    status = 400
    message = "The request carries more than one credential; send one."


class AuthRequired(IdentityError):
    """The operation needs a credential that the request does not carry."""

    code = "AUTH_REQUIRED"
    status = 401
    message = "Authentication is required."


class AuthFailed(IdentityError):
    """The credential was checked and refused. `details.reason` names the malformed part of a header that cannot be
    read, or states that a challenge was used before; otherwise the answer does not say why. After a signature `details`
    hold the purpose, the target and the hash of the body that its challenge may be bound to."""

    code = "AUTH_FAILED"
    status = 401
    message = "Authentication failed."


class Forbidden(IdentityError):
    """The caller is known and may not do this: an API key or a token lacks a scope, a DID's token comes where an API
    key is needed, a key is no admin or may not act for the DID, or a key in its grace period signed a change of
    keys."""

    code = "FORBIDDEN"
    status = 403
    message = "The caller is not allowed to do this."


class NotFound(IdentityError):
    """There is nothing at this path."""

    code = "NOT_FOUND"
    status = 404
    message = "There is nothing at this path."


class DidNotFound(IdentityError):
    """The DID, or the version of it that was asked for, is not on the ledger."""

    code = "DID_NOT_FOUND"
    status = 404
    message = "The DID does not exist on the ledger."


class DidUrlNotFound(IdentityError):
    """The document has no verification method or service of the name that the DID URL gives."""

    code = "DID_URL_NOT_FOUND"
    status = 404
    message = "The DID document has nothing of this name."


class ApiKeyNotFound(IdentityError):
    """No API key has this identifier."""

    code = "API_KEY_NOT_FOUND"
    status = 404
    message = "No API key has this identifier."


class MethodNotAllowed(IdentityError):
    """The path exists, the HTTP method does not; `Allow` names those that do."""

    code = "METHOD_NOT_ALLOWED"
    status = 405
    message = "The path does not support this HTTP method."


class NotAcceptable(IdentityError):
    """None of the media types in `Accept` can be served."""

    code = "NOT_ACCEPTABLE"
    status = 406
    message = "None of the accepted media types can be served."


class DidExists(IdentityError):
    """The DID is already registered."""

    code = "DID_EXISTS"
    status = 409
    message = "The DID is already registered."


class RequestInProgress(IdentityError):
    """A request with the same Idempotency-Key, or the identical one with the same IBCT, has not been answered yet."""

    code = "REQUEST_IN_PROGRESS"
    status = 409
    message = "A request with this Idempotency-Key is still being answered."


class DidDeactivated(IdentityError):
    """The DID has been deactivated, for good."""

    code = "DID_DEACTIVATED"
    status = 410
    message = "The DID has been deactivated."


class VersionConflict(IdentityError):
    """`If-Match` names another version than the current one."""

    code = "VERSION_CONFLICT"
    status = 412
    message = "The DID document has changed since the version that the request names."


class PayloadTooLarge(IdentityError):
    """The body is larger than the operation allows (256 KiB where nothing else is said)."""

    code = "PAYLOAD_TOO_LARGE"
    status = 413
    message = "The request body is too large."


class UnsupportedMediaType(IdentityError):
    """The body is not JSON in UTF-8, or it is compressed."""

    code = "UNSUPPORTED_MEDIA_TYPE"
    status = 415
    message = "Send the body as application/json in UTF-8."


class InvalidDocument(IdentityError):
    """The change would make a DID document that breaks a rule."""

    code = "INVALID_DOCUMENT"
    status = 422
    message = "The DID document is not valid."


class ConfirmationRequired(IdentityError):
    """Deactivation is final and needs `confirm: true`."""

    code = "CONFIRMATION_REQUIRED"
    status = 422
    message = "Deactivation is final: send confirm: true."


class IdempotencyMismatch(IdentityError):
    """The Idempotency-Key was used for another request."""

    code = "IDEMPOTENCY_MISMATCH"
    status = 422
    message = "This Idempotency-Key was used for a different request."


class RateLimited(IdentityError):
    """The bucket is empty; `Retry-After` says when the next token is there."""

    code = "RATE_LIMITED"
    status = 429
    message = "Too many requests."


class QuotaExceeded(IdentityError):
    """A DID that signs in by itself, or the address that it calls from, has written as much as it may: in this day,
    which ends at midnight UTC, or in all. `details` name the counter (`did in all`, `did in a day` or `address in a
    day`) and its limits; the settings `quota.*` raise them, and API keys have none. Requests that end something
    (deactivate, recover, rotate, revoke, suspend, status of a credential) may go on up to twice as far, and they never
    depend on the address."""

    code = "QUOTA_EXCEEDED"
    status = 429
    message = (
        "As much as this caller may write has been written. Wait until `retryAfter` has passed, call with an API key,"
        " or ask the operator to raise the quota that `details` names."
    )


class HeadersTooLarge(IdentityError):
    """The request's header fields are larger than the server reads."""

    code = "HEADERS_TOO_LARGE"
    status = 431
    message = "The request headers are too large."


class InternalError(IdentityError):
    """A fault of ours. The request id finds it in the log."""

    code = "INTERNAL_ERROR"
    status = 500
    message = "The request could not be completed."


class LedgerUnavailable(IdentityError):
    """The ledger refused or could not be reached. Nothing visible has changed; the request may be sent again."""

    code = "BLOCKCHAIN_ERROR"
    status = 500
    message = "The ledger transaction failed."


class Overloaded(IdentityError):
    """There is more work than the server takes on at once, or too many writers race for one DID."""

    code = "OVERLOADED"
    status = 503
    message = "The server is overloaded; try again."


class DidQuarantined(IdentityError):
    """The stored data of the DID differs from the ledger, so the service makes no decision from it. Other DIDs are not
    affected; the operator puts it right with `identity ledger repair`."""

    code = "DID_QUARANTINED"
    status = 503
    message = "What is stored about this DID does not follow from the ledger; the operator has to repair it."


class StorageMismatch(IdentityError):
    """The stored data is not the data that this service wrote: a database is older than it was, another one, damaged or
    gone. Whatever would change something is refused until an operator has looked at it; reading goes on."""

    code = "STORAGE_MISMATCH"
    status = 503
    message = "What is stored is not what this service wrote; changes are refused until an operator has looked at it."
    remedy = "Tell the operator, who runs `identity doctor`; then try again."


class PluginUnavailable(IdentityError):
    """A plugin that the operation needs is missing, broken or shut off after repeated failures."""

    code = "PLUGIN_UNAVAILABLE"
    status = 503
    message = "A component that the operation needs is not available."


class PluginTimeout(IdentityError):
    """A plugin did not answer within its deadline."""

    code = "PLUGIN_TIMEOUT"
    status = 504
    message = "A component that the operation needs did not answer in time."


class DidMethodNotSupported(IdentityError):
    """The DID is of a method that this installation does not have; `details` name those that it has."""

    code = "DID_METHOD_NOT_SUPPORTED"
    status = 501
    message = "This installation does not have the DID method."


class FeatureNotSupported(IdentityError):
    """The DID URL, or an option, asks for what this resolver does not do."""

    code = "FEATURE_NOT_SUPPORTED"
    status = 501
    message = "This resolver does not do this."


class AnchoringDisabled(IdentityError):
    """`anchor: true` was sent and anchoring is switched off."""

    code = "ANCHORING_DISABLED"
    status = 501
    message = "Anchoring is not enabled."


class IbctInvalid(IdentityError):
    """The IBCT is not one that the holder signed for this agent: type, parties, times, lengths or signature."""

    code = "IBCT_INVALID"
    status = 403
    message = "The IBCT is not valid."


class IbctReplayed(IdentityError):
    """The nonce or the id of the IBCT was used in another request."""

    code = "IBCT_REPLAYED"
    status = 403
    message = "The IBCT was used before."


class IbctExpired(IdentityError):
    """The IBCT has expired."""

    code = "IBCT_EXPIRED"
    status = 410
    message = "The IBCT has expired."


class IbctRevoked(IdentityError):
    """The IBCT has been revoked."""

    code = "IBCT_REVOKED"
    status = 410
    message = "The IBCT has been revoked."


class DelegationInvalid(IdentityError):
    """The IBCT refers to no delegation from this holder to this agent, or to one whose chain is broken."""

    code = "DELEGATION_INVALID"
    status = 403
    message = "The delegation is not valid."


class DelegationNotActive(IdentityError):
    """The delegation has not begun, or is suspended."""

    code = "DELEGATION_NOT_ACTIVE"
    status = 403
    message = "The delegation is not active."


class DelegationSuspended(IdentityError):
    """The delegation was suspended after a refused predicate; the holder can resume it."""

    code = "DELEGATION_SUSPENDED"
    status = 403
    message = "The delegation is suspended."
    remedy = "The holder resumes it (resumeDelegation)."


class DelegationExhausted(IdentityError):
    """The delegation has no uses left."""

    code = "DELEGATION_EXHAUSTED"
    status = 403
    message = "The delegation has no uses left."


class DelegationExpired(IdentityError):
    """The delegation has expired."""

    code = "DELEGATION_EXPIRED"
    status = 410
    message = "The delegation has expired."


class DelegationRevoked(IdentityError):
    """The delegation, or one that it descends from, has been revoked."""

    code = "DELEGATION_REVOKED"
    status = 410
    message = "The delegation has been revoked."


class ScopeMismatch(IdentityError):
    """The action of the IBCT is not this predicate, a grant of the delegation does not cover it, or the credential is
    not among those allowed."""

    code = "SCOPE_MISMATCH"
    status = 403
    message = "The predicate is outside the scope of the delegation."


class AutonomyTooLow(IdentityError):
    """The agent's level of autonomy does not reach what this request needs; `details.remedies` names what would
    help."""

    code = "AUTONOMY_TOO_LOW"
    status = 403
    message = "The agent's level of autonomy is too low."


class DisclosureLimit(IdentityError):
    """The delegation or the credential allows no further different questions about this attribute."""

    code = "DISCLOSURE_LIMIT"
    status = 403
    message = "The limit of different questions is reached."


class CredentialNotFound(IdentityError):
    """No such credential of this holder exists."""

    code = "CREDENTIAL_NOT_FOUND"
    status = 404
    message = "The credential does not exist."
    remedy = "Use an id that listCredentials shows, or that the holder names."


class CredentialRevoked(IdentityError):
    """The credential is revoked or suspended."""

    code = "CREDENTIAL_REVOKED"
    status = 410
    message = "The credential has been revoked."


class CredentialExpired(IdentityError):
    """The credential is outside its validity."""

    code = "CREDENTIAL_EXPIRED"
    status = 410
    message = "The credential has expired."


class PredicateUnsupported(IdentityError):
    """The attribute is missing, the operator does not fit its type, or the value is out of range. The IBCT is spent, no
    use is counted."""

    code = "PREDICATE_UNSUPPORTED"
    status = 422
    message = "The predicate cannot be asked of this attribute."


class PredicateNotSatisfied(IdentityError):
    """The predicate does not hold. The IBCT is spent."""

    code = "PREDICATE_NOT_SATISFIED"
    status = 422
    message = "The credential does not satisfy the predicate."


class DelegationNotFound(IdentityError):
    """No such delegation exists, or the caller has no part in it: the answer is the same."""

    code = "DELEGATION_NOT_FOUND"
    status = 404
    message = "The delegation does not exist."


class DelegationNotNarrower(IdentityError):
    """A delegation of an agent allows more than the delegation that it descends from; `details.reason` says in what."""

    code = "DELEGATION_NOT_NARROWER"
    status = 422
    message = "The delegation is not narrower than its parent."


class Conflict(IdentityError):
    """The record's state does not allow this any more, or the identifier is taken by something else."""

    code = "CONFLICT"
    status = 409
    message = "The state of the record does not allow this."


class ProofNotFound(IdentityError):
    """No such proof exists, or the caller has no part in it: the answer is the same."""

    code = "PROOF_NOT_FOUND"
    status = 404
    message = "The proof does not exist."


class PresentationNotFound(IdentityError):
    """No such request for a presentation exists, it was deleted an hour after its end, or another verifier made it: the
    answer is the same."""

    code = "PRESENTATION_NOT_FOUND"
    status = 404
    message = "The request for a presentation does not exist."


class SchemaNotFound(IdentityError):
    """No credential schema has this identifier."""

    code = "SCHEMA_NOT_FOUND"
    status = 404
    message = "The credential schema does not exist."


class StatusListNotFound(IdentityError):
    """No status list has this identifier."""

    code = "STATUS_LIST_NOT_FOUND"
    status = 404
    message = "The status list does not exist."


class InvalidSchema(IdentityError):
    """The credential schema breaks a rule; `details.reason` says which, `details.attribute` in which place (from 0)."""

    code = "INVALID_SCHEMA"
    status = 422
    message = "The credential schema is not valid."


class InvalidCredential(IdentityError):
    """The credential breaks its schema, or its signature is not its issuer's; `details.reason` says which and quotes no
    value."""

    code = "INVALID_CREDENTIAL"
    status = 422
    message = "The credential is not valid."


class TransactionNotFound(IdentityError):
    """No entry of the ledger has this transaction hash. Anchors are no entries."""

    code = "TRANSACTION_NOT_FOUND"
    status = 404
    message = "The ledger has no entry with this transaction hash."


class BlockNotFound(IdentityError):
    """The ledger has no block of this number that holds an entry."""

    code = "BLOCK_NOT_FOUND"
    status = 404
    message = "The ledger has no entry in a block of this number."


class TileNotFound(IdentityError):
    """The log is not large enough to have this tile, the path is that of no tile, or this installation shows no
    entries."""

    code = "TILE_NOT_FOUND"
    status = 404
    message = "The log has no such tile."


class LogRangeInvalid(IdentityError):
    """The proof would be about a log that is larger than this one, or that did not hold the entry yet;
    `details.treeSize` says how many entries it has."""

    code = "LOG_RANGE_INVALID"
    status = 422
    message = "The log has no such range of entries."


class ProofInvalid(IdentityError):
    """A proof was checked and is wrong. At the edge this is an answer (`verified: false`), not an error."""

    code = "PROOF_INVALID"
    status = 422
    message = "The proof is not valid."


# No other module is loaded yet, so these are the classes above.
CODES: Final[Mapping[str, type[IdentityError]]] = {each.code: each for each in IdentityError.__subclasses__()}
