"""GENERATED from openapi/errors.yaml by `python -m openapi.build`: every refusal, one class a code. Do not edit.

A class holds what the client sees: code, HTTP status, a message that is safe to show to anybody, and the remedies.
``details`` holds only JSON values and never a secret.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from identity_codec.strict_json import JsonValue

class IdentityError(Exception):
    """A refusal or failure with a stable code."""

    code: ClassVar[str]
    status: ClassVar[int]
    message: ClassVar[str]
    remedy: ClassVar[str]
    reasons: ClassVar[Mapping[str, str]]
    details: dict[str, JsonValue]
    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None: ...
    def find_remedy(self) -> str: ...
    def answer_details(self) -> dict[str, JsonValue]: ...

CODES: Final[Mapping[str, type[IdentityError]]]

class InvalidRequest(IdentityError):
    """The request is malformed: its shape, a type, an unknown member, a header or a parameter."""

class InvalidDid(IdentityError):
    """The text is not a DID, or a DID shall be created by a method that this installation does not have."""

class InvalidDidUrl(IdentityError):
    """The part of a DID URL after the DID is malformed, or leads outside of the DID's own service."""

class AuthAmbiguous(IdentityError):
    """The request carries two different credentials. X-API-Key beside a DIDAuth or RecoveryKey signature is ignored."""

class AuthRequired(IdentityError):
    """The operation needs a credential that the request does not carry."""

class AuthFailed(IdentityError):
    """The credential was checked and refused. `details.reason` names the malformed part of a header that cannot be
    read, states that a challenge was used before, or is `unnamed` if no challenge that was tried has the signature.
    Otherwise the answer does not say why. After a signature `details` hold the purpose, the target and the hash of the
    body that its challenge may be bound to."""

class Forbidden(IdentityError):
    """The caller is known and may not do this: an API key or a token lacks a scope, a DID's token comes where an API
    key is needed, a key is not an admin or may not act for the DID, or a key in its grace period signed a change of
    keys."""

class NotFound(IdentityError):
    """There is nothing at this path."""

class DidNotFound(IdentityError):
    """The DID, or the version of it that was asked for, is not on the ledger."""

class DidUrlNotFound(IdentityError):
    """The document has no verification method or service of the name that the DID URL gives."""

class ApiKeyNotFound(IdentityError):
    """No API key has this identifier."""

class MethodNotAllowed(IdentityError):
    """The path exists, the HTTP method does not; `Allow` names those that do."""

class NotAcceptable(IdentityError):
    """None of the media types in `Accept` can be served."""

class DidExists(IdentityError):
    """The DID is already registered."""

class RequestInProgress(IdentityError):
    """A request with the same Idempotency-Key, or the identical one with the same IBCT, has not been answered yet."""

class DidDeactivated(IdentityError):
    """The DID has been deactivated, for good."""

class VersionConflict(IdentityError):
    """`If-Match` names another version than the current one."""

class PayloadTooLarge(IdentityError):
    """The body is larger than the operation allows (256 KiB where nothing else is said)."""

class UnsupportedMediaType(IdentityError):
    """The body is not JSON in UTF-8, or it is compressed."""

class InvalidDocument(IdentityError):
    """The change would make a DID document that breaks a rule."""

class ConfirmationRequired(IdentityError):
    """Deactivation is final and needs `confirm: true`."""

class IdempotencyMismatch(IdentityError):
    """The Idempotency-Key was used for another request."""

class RateLimited(IdentityError):
    """The bucket is empty; `Retry-After` states when the next token is there."""

class QuotaExceeded(IdentityError):
    """A DID that signs in by itself, or the address that it calls from, has written as much as it may: in this day,
    which ends at midnight UTC, or in all. `details` name the counter (`did in all`, `did in a day` or `address in a
    day`) and its limits; the settings `quota.*` raise them, and API keys have none. Requests that end something
    (deactivate, recover, rotate, revoke, suspend, status of a credential) may go on up to twice as far, and they never
    depend on the address."""

class HeadersTooLarge(IdentityError):
    """The request's header fields are larger than the server reads."""

class InternalError(IdentityError):
    """A fault of ours. The request id finds it in the log."""

class LedgerUnavailable(IdentityError):
    """The ledger refused or could not be reached. Nothing visible has changed; the request may be sent again."""

class Overloaded(IdentityError):
    """There is more work than the server takes on at once, or too many writers race for one DID."""

class DidQuarantined(IdentityError):
    """The stored data of the DID differs from the ledger, so the service makes no decision from it. Other DIDs are not
    affected; the operator puts it right with `identity ledger repair`."""

class StorageMismatch(IdentityError):
    """The stored data is not the data that this service wrote: a database is older than it was, another one, damaged or
    gone. Whatever would change something is refused until an operator has looked at it; reading continues."""

class PluginUnavailable(IdentityError):
    """A plugin that the operation needs is missing, broken or shut off after repeated failures."""

class PluginTimeout(IdentityError):
    """A plugin did not answer within its deadline."""

class DidMethodNotSupported(IdentityError):
    """The DID is of a method that this installation does not have; `details` name those that it has."""

class FeatureNotSupported(IdentityError):
    """The DID URL, or an option, asks for what this resolver does not do."""

class AnchoringDisabled(IdentityError):
    """`anchor: true` was sent and anchoring is switched off."""

class IbctInvalid(IdentityError):
    """The IBCT is not one that the holder signed for this agent: type, parties, times, lengths or signature."""

class IbctReplayed(IdentityError):
    """The nonce or the id of the IBCT was used in another request."""

class IbctExpired(IdentityError):
    """The IBCT has expired."""

class IbctRevoked(IdentityError):
    """The IBCT has been revoked."""

class DelegationInvalid(IdentityError):
    """The IBCT refers to no delegation from this holder to this agent, or to one whose chain is broken."""

class DelegationNotActive(IdentityError):
    """The delegation has not begun, or is suspended."""

class DelegationSuspended(IdentityError):
    """The delegation was suspended after a refused predicate; the holder can resume it."""

class DelegationExhausted(IdentityError):
    """The delegation has no uses left."""

class DelegationExpired(IdentityError):
    """The delegation has expired."""

class DelegationRevoked(IdentityError):
    """The delegation, or one that it descends from, has been revoked."""

class ScopeMismatch(IdentityError):
    """The action of the IBCT is not this predicate, a grant of the delegation does not cover it, or the credential is
    not among those allowed."""

class AutonomyTooLow(IdentityError):
    """The agent's level of autonomy does not reach what this request needs; `details.remedies` names what would
    help."""

class DisclosureLimit(IdentityError):
    """The delegation or the credential allows no further different questions about this attribute."""

class CredentialNotFound(IdentityError):
    """No such credential of this holder exists."""

class CredentialRevoked(IdentityError):
    """The credential is revoked or suspended."""

class CredentialExpired(IdentityError):
    """The credential is outside its validity."""

class PredicateUnsupported(IdentityError):
    """The attribute is missing, the operator does not fit its type, or the value is out of range. The IBCT is used, no
    use is counted."""

class PredicateNotSatisfied(IdentityError):
    """The predicate does not hold. The IBCT is used."""

class DelegationNotFound(IdentityError):
    """No such delegation exists, or the caller has no part in it: the answer is the same."""

class DelegationNotNarrower(IdentityError):
    """A delegation of an agent allows more than the delegation that it descends from; `details.reason` states in
    what."""

class Conflict(IdentityError):
    """The record's state does not allow this any more, or the identifier is taken by something else."""

class ProofNotFound(IdentityError):
    """No such proof exists, or the caller has no part in it: the answer is the same."""

class PresentationNotFound(IdentityError):
    """No such request for a presentation exists, it was deleted an hour after its end, or another verifier made it: the
    answer is the same."""

class RequestNotFound(IdentityError):
    """No such request exists, it was cancelled or deleted a day after its end, or it is between others: the answer is
    the same."""

class SchemaNotFound(IdentityError):
    """No credential schema has this identifier."""

class StatusListNotFound(IdentityError):
    """No status list has this identifier."""

class InvalidSchema(IdentityError):
    """The credential schema breaks a rule; `details.reason` states which, `details.attribute` in which place (from
    0)."""

class InvalidCredential(IdentityError):
    """The credential breaks its schema, or its signature is not its issuer's; `details.reason` states which and quotes
    no value."""

class TransactionNotFound(IdentityError):
    """No entry of the ledger has this transaction hash. Anchors are not entries."""

class BlockNotFound(IdentityError):
    """The ledger has no block of this number that holds an entry."""

class TileNotFound(IdentityError):
    """The log is not large enough to have this tile, the path is that of no tile, or this installation shows no
    entries."""

class LogRangeInvalid(IdentityError):
    """The proof would be about a log that is larger than this one, or that did not hold the entry yet;
    `details.treeSize` states how many entries it has."""

class ProofInvalid(IdentityError):
    """A proof was checked and is wrong. At the edge this is an answer (`verified: false`), not an error."""
