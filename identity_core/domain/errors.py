"""Every refusal of the project, one class a code.

The docstring of a class is its meaning and goes into the error pages; ``message`` is safe to show to anybody.
HTTP status belongs to the edge (``api/errors.py``), where one table maps codes to statuses. ``details`` holds only
JSON values and never a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


class IdentityError(Exception):
    """A refusal or failure with a stable code."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    message: ClassVar[str] = "The request could not be completed."

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, JsonValue] = dict(details or {})


class InternalError(IdentityError):
    """A fault of ours. The request id finds it in the log."""


class InvalidRequest(IdentityError):
    """The request is malformed: its shape, a type, an unknown member, a header or a parameter."""

    code = "INVALID_REQUEST"
    message = "The request is malformed."


class InvalidDid(IdentityError):
    """The text is not a DID, or names a method that this installation does not have."""

    code = "INVALID_DID"
    message = "The DID is not valid."


class AuthAmbiguous(IdentityError):
    """The request carries two different credentials."""

    code = "AUTH_AMBIGUOUS"
    message = "The request carries more than one credential; send one."


class AuthRequired(IdentityError):
    """The operation needs a credential that the request does not carry."""

    code = "AUTH_REQUIRED"
    message = "Authentication is required."


class AuthFailed(IdentityError):
    """The credential was checked and refused. The answer does not say why, so that it helps nobody to guess."""

    code = "AUTH_FAILED"
    message = "Authentication failed."


class Forbidden(IdentityError):
    """The caller is known and may not do this."""

    code = "FORBIDDEN"
    message = "The caller is not allowed to do this."


class NotFound(IdentityError):
    """There is nothing at this path."""

    code = "NOT_FOUND"
    message = "There is nothing at this path."


class DidNotFound(IdentityError):
    """The DID, or the version of it that was asked for, is not on the ledger."""

    code = "DID_NOT_FOUND"
    message = "The DID does not exist on the ledger."


class ApiKeyNotFound(IdentityError):
    """No API key has this identifier."""

    code = "API_KEY_NOT_FOUND"
    message = "No API key has this identifier."


class MethodNotAllowed(IdentityError):
    """The path exists, the HTTP method does not; `Allow` names those that do."""

    code = "METHOD_NOT_ALLOWED"
    message = "The path does not support this HTTP method."


class NotAcceptable(IdentityError):
    """None of the media types in `Accept` can be served."""

    code = "NOT_ACCEPTABLE"
    message = "None of the accepted media types can be served."


class DidExists(IdentityError):
    """The DID is already registered."""

    code = "DID_EXISTS"
    message = "The DID is already registered."


class RequestInProgress(IdentityError):
    """A request with the same Idempotency-Key has not been answered yet."""

    code = "REQUEST_IN_PROGRESS"
    message = "A request with this Idempotency-Key is still being answered."


class DidDeactivated(IdentityError):
    """The DID has been deactivated, for good."""

    code = "DID_DEACTIVATED"
    message = "The DID has been deactivated."


class VersionConflict(IdentityError):
    """`If-Match` names another version than the current one, or a ledger refused an append for its version."""

    code = "VERSION_CONFLICT"
    message = "The DID document has changed since the version that the request names."


class PayloadTooLarge(IdentityError):
    """The body is larger than the operation allows."""

    code = "PAYLOAD_TOO_LARGE"
    message = "The request body is too large."


class UnsupportedMediaType(IdentityError):
    """The body is not JSON in UTF-8, or it is compressed."""

    code = "UNSUPPORTED_MEDIA_TYPE"
    message = "Send the body as application/json in UTF-8."


class HeadersTooLarge(IdentityError):
    """The request's header fields are larger than the server reads."""

    code = "HEADERS_TOO_LARGE"
    message = "The request headers are too large."


class InvalidDocument(IdentityError):
    """The change would make a DID document that breaks a rule."""

    code = "INVALID_DOCUMENT"
    message = "The DID document is not valid."


class ConfirmationRequired(IdentityError):
    """Deactivation is final and needs `confirm: true`."""

    code = "CONFIRMATION_REQUIRED"
    message = "Deactivation is final: send confirm: true."


class IdempotencyMismatch(IdentityError):
    """The Idempotency-Key was used for another request."""

    code = "IDEMPOTENCY_MISMATCH"
    message = "This Idempotency-Key was used for a different request."


class RateLimited(IdentityError):
    """The bucket is empty; `Retry-After` says when the next token is there."""

    code = "RATE_LIMITED"
    message = "Too many requests."


class QuotaExceeded(IdentityError):
    """A DID or an address has written as much as it may: on this day, which ends at midnight UTC, or in all. Requests that end
    something (deactivate, recover, rotate, revoke, suspend) may go on up to twice as far."""

    code = "QUOTA_EXCEEDED"
    message = (
        "As much as this caller may write has been written. Wait until `retryAfter` has passed, call with an API key, or ask the "
        "operator to raise the quota that `details` names."
    )


class LedgerUnavailable(IdentityError):
    """The ledger refused or could not be reached. Nothing visible has changed; the request may be sent again."""

    code = "BLOCKCHAIN_ERROR"
    message = "The ledger transaction failed."


class Overloaded(IdentityError):
    """There is more work than the server takes on at once, or too many writers race for one DID."""

    code = "OVERLOADED"
    message = "The server is overloaded; try again."


class DidQuarantined(IdentityError):
    """What is stored about the DID is not what the ledger says, so nothing is decided by it. Other DIDs are not affected; the
    operator puts it right with `identity ledger repair`."""

    code = "DID_QUARANTINED"
    message = "What is stored about this DID does not follow from the ledger; the operator has to repair it."


class StorageMismatch(IdentityError):
    """What is stored is not what this service wrote: a database is older than it was, another one, damaged or gone. Nothing is
    changed until an operator has looked at it; what can be read is still answered."""

    code = "STORAGE_MISMATCH"
    message = "What is stored is not what this service wrote; changes are refused until an operator has looked at it."

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        remedy: dict[str, JsonValue] = {"remedy": "Tell the operator, who runs `identity doctor`; then try again."}
        super().__init__(message, details=remedy | dict(details or {}))


class PluginUnavailable(IdentityError):
    """A plugin that the operation needs is missing, broken or shut off after repeated failures."""

    code = "PLUGIN_UNAVAILABLE"
    message = "A component that the operation needs is not available."


class PluginTimeout(IdentityError):
    """A plugin did not answer within its deadline."""

    code = "PLUGIN_TIMEOUT"
    message = "A component that the operation needs did not answer in time."


class AnchoringDisabled(IdentityError):
    """`anchor: true` was sent and anchoring is switched off."""

    code = "ANCHORING_DISABLED"
    message = "Anchoring is not enabled."


class ProofInvalid(IdentityError):
    """A proof was checked and is wrong. At the border this is an answer (`verified: false`), not an error."""

    code = "PROOF_INVALID"
    message = "The proof is not valid."


class PredicateUnsupported(IdentityError):
    """The predicate cannot be asked of this attribute: unknown name, wrong type or form of the value, a bound outside the
    domain, or a statement that nothing or everything satisfies. `details.reason` says which; no attribute value is in it."""

    code = "PREDICATE_UNSUPPORTED"
    message = "The predicate cannot be asked of this attribute."


class PredicateNotSatisfied(IdentityError):
    """The credential does not satisfy the predicate. The answer says no more, so that a refusal tells no value."""

    code = "PREDICATE_NOT_SATISFIED"
    message = "The credential does not satisfy the predicate."


class CredentialNotFound(IdentityError):
    """No such credential exists, or it is not this holder's: the answer is the same."""

    code = "CREDENTIAL_NOT_FOUND"
    message = "The credential does not exist."


class CredentialRevoked(IdentityError):
    """The credential is revoked or suspended."""

    code = "CREDENTIAL_REVOKED"
    message = "The credential has been revoked."


class CredentialExpired(IdentityError):
    """The credential is outside its validity."""

    code = "CREDENTIAL_EXPIRED"
    message = "The credential has expired."


class DelegationNotFound(IdentityError):
    """No such delegation exists, or the caller has no part in it: the answer is the same."""

    code = "DELEGATION_NOT_FOUND"
    message = "The delegation does not exist."


class DelegationInvalid(IdentityError):
    """The IBCT refers to no delegation from this holder to this agent, or to one whose chain is broken."""

    code = "DELEGATION_INVALID"
    message = "The delegation is not valid."


class DelegationNotActive(IdentityError):
    """The delegation has not begun, or is suspended."""

    code = "DELEGATION_NOT_ACTIVE"
    message = "The delegation is not active."


class DelegationSuspended(IdentityError):
    """The delegation was suspended after a refused predicate; the holder can resume it."""

    code = "DELEGATION_SUSPENDED"
    message = "The delegation is suspended."


class DelegationExhausted(IdentityError):
    """The delegation has no uses left."""

    code = "DELEGATION_EXHAUSTED"
    message = "The delegation has no uses left."


class DelegationExpired(IdentityError):
    """The delegation has expired."""

    code = "DELEGATION_EXPIRED"
    message = "The delegation has expired."


class DelegationRevoked(IdentityError):
    """The delegation, or one that it descends from, has been revoked."""

    code = "DELEGATION_REVOKED"
    message = "The delegation has been revoked."


class DelegationNotNarrower(IdentityError):
    """A delegation of an agent allows more than the delegation that it descends from; `details.reason` says in what."""

    code = "DELEGATION_NOT_NARROWER"
    message = "The delegation is not narrower than its parent."


class IbctInvalid(IdentityError):
    """The IBCT is not valid: its type, lengths, times, parties or signature; `details.reason` says which."""

    code = "IBCT_INVALID"
    message = "The IBCT is not valid."


class IbctReplayed(IdentityError):
    """The nonce or the id of the IBCT was used in another request."""

    code = "IBCT_REPLAYED"
    message = "The IBCT was used before."


class IbctExpired(IdentityError):
    """The IBCT has expired."""

    code = "IBCT_EXPIRED"
    message = "The IBCT has expired."


class IbctRevoked(IdentityError):
    """The IBCT has been revoked."""

    code = "IBCT_REVOKED"
    message = "The IBCT has been revoked."


class ScopeMismatch(IdentityError):
    """The action of the IBCT is not this predicate, a grant of the delegation does not cover it, or the credential is not among
    those allowed."""

    code = "SCOPE_MISMATCH"
    message = "The predicate is outside the scope of the delegation."


class AutonomyTooLow(IdentityError):
    """The agent's level of autonomy does not reach what this request needs; `details.remedies` names what would help."""

    code = "AUTONOMY_TOO_LOW"
    message = "The agent's level of autonomy is too low."


class DisclosureLimit(IdentityError):
    """The delegation or the credential allows no further different questions about this attribute."""

    code = "DISCLOSURE_LIMIT"
    message = "The limit of different questions is reached."


class Conflict(IdentityError):
    """The record's state does not allow this any more, or the identifier is taken by something else."""

    code = "CONFLICT"
    message = "The state of the record does not allow this."


class ProofNotFound(IdentityError):
    """No such proof exists, or the caller has no part in it: the answer is the same."""

    code = "PROOF_NOT_FOUND"
    message = "The proof does not exist."


class SchemaNotFound(IdentityError):
    """No credential schema has this identifier."""

    code = "SCHEMA_NOT_FOUND"
    message = "The credential schema does not exist."


class StatusListNotFound(IdentityError):
    """No status list has this identifier."""

    code = "STATUS_LIST_NOT_FOUND"
    message = "The status list does not exist."


class InvalidSchema(IdentityError):
    """The credential schema breaks a rule; `details.reason` says which, `details.attribute` in which place (from 0)."""

    code = "INVALID_SCHEMA"
    message = "The credential schema is not valid."


class InvalidCredential(IdentityError):
    """The credential breaks its schema, or its signature is not its issuer's; `details.reason` says which and quotes no value."""

    code = "INVALID_CREDENTIAL"
    message = "The credential is not valid."


class TransactionNotFound(IdentityError):
    """No entry of the ledger has this transaction hash. Anchors are no entries."""

    code = "TRANSACTION_NOT_FOUND"
    message = "The ledger has no entry with this transaction hash."


class BlockNotFound(IdentityError):
    """The ledger has no block of this number that holds an entry."""

    code = "BLOCK_NOT_FOUND"
    message = "The ledger has no entry in a block of this number."


class TileNotFound(IdentityError):
    """The log is not large enough to have this tile, the path is that of no tile, or this installation shows no entries."""

    code = "TILE_NOT_FOUND"
    message = "The log has no such tile."


class LogRangeInvalid(IdentityError):
    """The proof would be about a log that is larger than this one, or that did not hold the entry yet; `details.treeSize` says how
    many entries it has."""

    code = "LOG_RANGE_INVALID"
    message = "The log has no such range of entries."


def error_of(code: str, message: str, details: Mapping[str, JsonValue]) -> IdentityError:
    """The error of a code that was stored, as it was; an ``InternalError`` for a code that no class has."""
    found = next((kind for kind in IdentityError.__subclasses__() if kind.code == code), InternalError)
    return found(message, details=details)
