"""GENERATED from openapi/errors.yaml by `python -m openapi.build`: every refusal, one class for each code. Do not edit.

``errors.json`` has what the client sees of a code: HTTP status, a message that is safe to show to anybody, and the remedy.
``details`` holds only JSON values and never a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import orjson

from identity_codec.strict_json import JsonValue

_TEXTS: Final[Mapping[str, Any]] = orjson.loads(Path(__file__).with_name("errors.json").read_bytes())


class IdentityError(Exception):
    """A refusal or failure with a stable code."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    message: ClassVar[str] = "The request could not be completed."
    remedy: ClassVar[str] = _TEXTS["INTERNAL_ERROR"]["remedy"]
    reasons: ClassVar[Mapping[str, str]] = {}
    """The remedies for values of ``details.reason``, and for details that have a member of the name."""

    def __init_subclass__(cls, code: str = "") -> None:
        if code:
            for name, value in {"code": code, "reasons": {}, **_TEXTS[code]}.items():
                setattr(cls, name, value)

    def __init__(self, message: str | None = None, *, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message or self.message)
        self.details: dict[str, JsonValue] = dict(details or {})

    def find_remedy(self) -> str:
        """Return what the client can do in this case, by the details, else by the code."""
        match self.details:
            case {"remedy": str() as remedy}:
                return remedy
            case {"supported": [_, *_] as supported}:
                return f"Choose from {', '.join(map(str, supported))}."
            case {"remedies": [_, *_] as remedies}:
                return f"{'; or '.join(map(str, remedies))}."
        places = (str(self.details.get("reason")), *self.details)
        return next((self.reasons[one] for one in places if one in self.reasons), self.remedy)

    def answer_details(self) -> dict[str, JsonValue]:
        """Return the details as an answer has them, with the remedy."""
        return {"remedy": self.find_remedy(), **self.details}


class InvalidRequest(IdentityError, code="INVALID_REQUEST"):
    """The request is malformed: its shape, a type, an unknown member, a header or a parameter."""


class InvalidDid(IdentityError, code="INVALID_DID"):
    """The text is not a DID, or a DID shall be created by a method that this installation does not have."""


class InvalidDidUrl(IdentityError, code="INVALID_DID_URL"):
    """The part of a DID URL after the DID is malformed, or leads outside of the DID's own service."""


class AuthAmbiguous(IdentityError, code="AUTH_AMBIGUOUS"):
    """The request carries two different credentials. X-API-Key beside a DIDAuth or RecoveryKey signature is ignored."""


class AuthRequired(IdentityError, code="AUTH_REQUIRED"):
    """The operation needs a credential that the request does not carry."""


class AuthFailed(IdentityError, code="AUTH_FAILED"):
    """The credential was checked and refused. `details.reason` names the malformed part of a header that cannot be
    read, or states that a challenge was used before; otherwise the answer does not say why. After a signature `details`
    hold the purpose, the target and the hash of the body that its challenge may be bound to."""


class Forbidden(IdentityError, code="FORBIDDEN"):
    """The caller is known and may not do this: an API key or a token lacks a scope, a DID's token comes where an API
    key is needed, a key is no admin or may not act for the DID, or a key in its grace period signed a change of
    keys."""


class NotFound(IdentityError, code="NOT_FOUND"):
    """There is nothing at this path."""


class DidNotFound(IdentityError, code="DID_NOT_FOUND"):
    """The DID, or the version of it that was asked for, is not on the ledger."""


class DidUrlNotFound(IdentityError, code="DID_URL_NOT_FOUND"):
    """The document has no verification method or service of the name that the DID URL gives."""


class ApiKeyNotFound(IdentityError, code="API_KEY_NOT_FOUND"):
    """No API key has this identifier."""


class MethodNotAllowed(IdentityError, code="METHOD_NOT_ALLOWED"):
    """The path exists, the HTTP method does not; `Allow` names those that do."""


class NotAcceptable(IdentityError, code="NOT_ACCEPTABLE"):
    """None of the media types in `Accept` can be served."""


class DidExists(IdentityError, code="DID_EXISTS"):
    """The DID is already registered."""


class RequestInProgress(IdentityError, code="REQUEST_IN_PROGRESS"):
    """A request with the same Idempotency-Key, or the identical one with the same IBCT, has not been answered yet."""


class DidDeactivated(IdentityError, code="DID_DEACTIVATED"):
    """The DID has been deactivated, for good."""


class VersionConflict(IdentityError, code="VERSION_CONFLICT"):
    """`If-Match` names another version than the current one."""


class PayloadTooLarge(IdentityError, code="PAYLOAD_TOO_LARGE"):
    """The body is larger than the operation allows (256 KiB where nothing else is said)."""


class UnsupportedMediaType(IdentityError, code="UNSUPPORTED_MEDIA_TYPE"):
    """The body is not JSON in UTF-8, or it is compressed."""


class InvalidDocument(IdentityError, code="INVALID_DOCUMENT"):
    """The change would make a DID document that breaks a rule."""


class ConfirmationRequired(IdentityError, code="CONFIRMATION_REQUIRED"):
    """Deactivation is final and needs `confirm: true`."""


class IdempotencyMismatch(IdentityError, code="IDEMPOTENCY_MISMATCH"):
    """The Idempotency-Key was used for another request."""


class RateLimited(IdentityError, code="RATE_LIMITED"):
    """The bucket is empty; `Retry-After` says when the next token is there."""


class QuotaExceeded(IdentityError, code="QUOTA_EXCEEDED"):
    """A DID that signs in by itself, or the address that it calls from, has written as much as it may: in this day,
    which ends at midnight UTC, or in all. `details` name the counter (`did in all`, `did in a day` or `address in a
    day`) and its limits; the settings `quota.*` raise them, and API keys have none. Requests that end something
    (deactivate, recover, rotate, revoke, suspend, status of a credential) may go on up to twice as far, and they never
    depend on the address."""


class HeadersTooLarge(IdentityError, code="HEADERS_TOO_LARGE"):
    """The request's header fields are larger than the server reads."""


class InternalError(IdentityError, code="INTERNAL_ERROR"):
    """A fault of ours. The request id finds it in the log."""


class LedgerUnavailable(IdentityError, code="BLOCKCHAIN_ERROR"):
    """The ledger refused or could not be reached. Nothing visible has changed; the request may be sent again."""


class Overloaded(IdentityError, code="OVERLOADED"):
    """There is more work than the server takes on at once, or too many writers race for one DID."""


class DidQuarantined(IdentityError, code="DID_QUARANTINED"):
    """The stored data of the DID differs from the ledger, so the service makes no decision from it. Other DIDs are not
    affected; the operator puts it right with `identity ledger repair`."""


class StorageMismatch(IdentityError, code="STORAGE_MISMATCH"):
    """The stored data is not the data that this service wrote: a database is older than it was, another one, damaged or
    gone. Whatever would change something is refused until an operator has looked at it; reading goes on."""


class PluginUnavailable(IdentityError, code="PLUGIN_UNAVAILABLE"):
    """A plugin that the operation needs is missing, broken or shut off after repeated failures."""


class PluginTimeout(IdentityError, code="PLUGIN_TIMEOUT"):
    """A plugin did not answer within its deadline."""


class DidMethodNotSupported(IdentityError, code="DID_METHOD_NOT_SUPPORTED"):
    """The DID is of a method that this installation does not have; `details` name those that it has."""


class FeatureNotSupported(IdentityError, code="FEATURE_NOT_SUPPORTED"):
    """The DID URL, or an option, asks for what this resolver does not do."""


class AnchoringDisabled(IdentityError, code="ANCHORING_DISABLED"):
    """`anchor: true` was sent and anchoring is switched off."""


class IbctInvalid(IdentityError, code="IBCT_INVALID"):
    """The IBCT is not one that the holder signed for this agent: type, parties, times, lengths or signature."""


class IbctReplayed(IdentityError, code="IBCT_REPLAYED"):
    """The nonce or the id of the IBCT was used in another request."""


class IbctExpired(IdentityError, code="IBCT_EXPIRED"):
    """The IBCT has expired."""


class IbctRevoked(IdentityError, code="IBCT_REVOKED"):
    """The IBCT has been revoked."""


class DelegationInvalid(IdentityError, code="DELEGATION_INVALID"):
    """The IBCT refers to no delegation from this holder to this agent, or to one whose chain is broken."""


class DelegationNotActive(IdentityError, code="DELEGATION_NOT_ACTIVE"):
    """The delegation has not begun, or is suspended."""


class DelegationSuspended(IdentityError, code="DELEGATION_SUSPENDED"):
    """The delegation was suspended after a refused predicate; the holder can resume it."""


class DelegationExhausted(IdentityError, code="DELEGATION_EXHAUSTED"):
    """The delegation has no uses left."""


class DelegationExpired(IdentityError, code="DELEGATION_EXPIRED"):
    """The delegation has expired."""


class DelegationRevoked(IdentityError, code="DELEGATION_REVOKED"):
    """The delegation, or one that it descends from, has been revoked."""


class ScopeMismatch(IdentityError, code="SCOPE_MISMATCH"):
    """The action of the IBCT is not this predicate, a grant of the delegation does not cover it, or the credential is
    not among those allowed."""


class AutonomyTooLow(IdentityError, code="AUTONOMY_TOO_LOW"):
    """The agent's level of autonomy does not reach what this request needs; `details.remedies` names what would
    help."""


class DisclosureLimit(IdentityError, code="DISCLOSURE_LIMIT"):
    """The delegation or the credential allows no further different questions about this attribute."""


class CredentialNotFound(IdentityError, code="CREDENTIAL_NOT_FOUND"):
    """No such credential of this holder exists."""


class CredentialRevoked(IdentityError, code="CREDENTIAL_REVOKED"):
    """The credential is revoked or suspended."""


class CredentialExpired(IdentityError, code="CREDENTIAL_EXPIRED"):
    """The credential is outside its validity."""


class PredicateUnsupported(IdentityError, code="PREDICATE_UNSUPPORTED"):
    """The attribute is missing, the operator does not fit its type, or the value is out of range. The IBCT is spent, no
    use is counted."""


class PredicateNotSatisfied(IdentityError, code="PREDICATE_NOT_SATISFIED"):
    """The predicate does not hold. The IBCT is spent."""


class DelegationNotFound(IdentityError, code="DELEGATION_NOT_FOUND"):
    """No such delegation exists, or the caller has no part in it: the answer is the same."""


class DelegationNotNarrower(IdentityError, code="DELEGATION_NOT_NARROWER"):
    """A delegation of an agent allows more than the delegation that it descends from; `details.reason` says in what."""


class Conflict(IdentityError, code="CONFLICT"):
    """The record's state does not allow this any more, or the identifier is taken by something else."""


class ProofNotFound(IdentityError, code="PROOF_NOT_FOUND"):
    """No such proof exists, or the caller has no part in it: the answer is the same."""


class PresentationNotFound(IdentityError, code="PRESENTATION_NOT_FOUND"):
    """No such request for a presentation exists, it was deleted an hour after its end, or another verifier made it: the
    answer is the same."""


class SchemaNotFound(IdentityError, code="SCHEMA_NOT_FOUND"):
    """No credential schema has this identifier."""


class StatusListNotFound(IdentityError, code="STATUS_LIST_NOT_FOUND"):
    """No status list has this identifier."""


class InvalidSchema(IdentityError, code="INVALID_SCHEMA"):
    """The credential schema breaks a rule; `details.reason` says which, `details.attribute` in which place (from 0)."""


class InvalidCredential(IdentityError, code="INVALID_CREDENTIAL"):
    """The credential breaks its schema, or its signature is not its issuer's; `details.reason` says which and quotes no
    value."""


class TransactionNotFound(IdentityError, code="TRANSACTION_NOT_FOUND"):
    """No entry of the ledger has this transaction hash. Anchors are no entries."""


class BlockNotFound(IdentityError, code="BLOCK_NOT_FOUND"):
    """The ledger has no block of this number that holds an entry."""


class TileNotFound(IdentityError, code="TILE_NOT_FOUND"):
    """The log is not large enough to have this tile, the path is that of no tile, or this installation shows no
    entries."""


class LogRangeInvalid(IdentityError, code="LOG_RANGE_INVALID"):
    """The proof would be about a log that is larger than this one, or that did not hold the entry yet;
    `details.treeSize` says how many entries it has."""


class ProofInvalid(IdentityError, code="PROOF_INVALID"):
    """A proof was checked and is wrong. At the edge this is an answer (`verified: false`), not an error."""


# No other module is loaded yet, so these are the classes above.
CODES: Final[Mapping[str, type[IdentityError]]] = {each.code: each for each in IdentityError.__subclasses__()}
