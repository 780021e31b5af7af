"""The JSON of a change in ``parameters.change`` of an entry, from which any reader of the log can run the rules again.

A first entry states only the recovery key, because its document holds the rest; an expiry follows from the rotation before it.
Reading is strict: anything that ``write`` would not have written is ``LogInvalid``. Keys are named by their fragments, so the entry
of a new DID contains no identifier. If an entry stores the body that its challenge is bound to, the operations of an update are
read from that body and not repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

from identity_codec import multibase, times
from identity_core.domain.dids import keys, requests
from identity_core.domain.dids import state as history
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    Authorization,
    Change,
    Create,
    Deactivate,
    Expire,
    NewService,
    Operation,
    Recover,
    RemoveService,
    RemoveVerificationMethod,
    RetireLogKey,
    Rotate,
    RotateLogKey,
    SetAlsoKnownAs,
    SetStrictEvidence,
    SetWitnesses,
    Update,
    UpdateService,
)
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.state import LogInvalid
from identity_core.domain.inputs import optional_time
from identity_core.errors import InvalidDocument

Json = dict[str, Any]
T = TypeVar("T")


def write(change: Change) -> Json:
    """Return the JSON of a change."""
    match change:
        case Create():
            shown: Json = {"operation": history.CREATE}
            return shown if change.recovery_key is None else shown | {"recoveryKey": change.recovery_key}
        case Expire():
            return {"operation": history.KEY_EXPIRED}
        case RotateLogKey():
            return {"operation": history.LOG_KEY_ROTATED}
        case RetireLogKey(multikey, tree_size, compromised):
            retired = {"multikey": multikey, "treeSize": tree_size, "compromised": compromised}
            return {"operation": history.LOG_KEY_RETIRED, "retired": retired}
        case Update():
            shown = {"operation": history.UPDATE}
            if change.authorization.body is None:
                shown["operations"] = [_write_operation(step) for step in change.operations]
        case Rotate():
            shown = {
                "operation": history.KEY_ROTATED,
                "oldKeyId": change.old_key_id,
                "newKey": _write_key(change.new_key),
            }
            if change.revoke_at is not None:
                shown["revokeAt"] = times.printed(change.revoke_at)
        case Recover():
            shown = {
                "operation": history.RECOVERED,
                "newKey": _write_key(change.new_key),
                "revokeAll": change.revoke_all,
                "recoveryKey": change.recovery_key,
            }
            if change.restore_version is not None:
                shown["restoreVersion"] = change.restore_version
        case Deactivate():
            shown = {"operation": history.DEACTIVATED}
    return shown | {"authorization": _write_authorization(change.authorization)}


def _write_authorization(authorization: Authorization) -> Json:
    shown = {
        "scheme": authorization.scheme,
        "key": authorization.key,
        "challenge": authorization.challenge,
        "signature": multibase.base64url_encode(authorization.signature),
    }
    return shown if authorization.body is None else shown | {"body": authorization.body}


def _write_key(key: Key) -> Json:
    return {"type": key.type, "publicKeyMultibase": key.public, "purposes": list(key.purposes)}


def _write_service(service: NewService) -> Json:
    shown: Json = {"type": service.type, "serviceEndpoint": service.endpoint}
    return shown if service.fragment is None else shown | {"id": service.fragment}


def _write_operation(operation: Operation) -> Json:
    match operation:
        case AddService(service):
            return {"operation": "addService", "service": _write_service(service)}
        case UpdateService(service):
            return {"operation": "updateService", "service": _write_service(service)}
        case RemoveService(fragment):
            return {"operation": "removeService", "serviceId": fragment}
        case AddVerificationMethod(key):
            return {"operation": "addVerificationMethod", "verificationMethod": _write_key(key)}
        case RemoveVerificationMethod(key_id):
            return {"operation": "removeVerificationMethod", "keyId": key_id}
        case SetAlsoKnownAs(names):
            return {"operation": "setAlsoKnownAs", "alsoKnownAs": list(names)}
        case SetWitnesses():
            raise InvalidDocument("Entries of this method have no place for witnesses.", details={"member": "witness"})
        case SetStrictEvidence():
            raise InvalidDocument("The entry that begins strictEvidence shows the body that asks for it.")


def read(value: Json, did: str, document: DidDocument | None, update_keys: tuple[str, ...]) -> Change:
    """Return the change of ``did`` that ``value`` states. ``document`` and ``update_keys`` are those of a first entry, from which a
    ``Create`` is read; later entries have None."""
    try:
        change = _read(value, did, document, update_keys)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LogInvalid("The change of the entry is malformed.") from error
    if write(change) != value:
        raise LogInvalid("The change of the entry is not written as it is read.")
    return change


def _read(value: Json, did: str, document: DidDocument | None, update_keys: tuple[str, ...]) -> Change:
    operation = value["operation"]
    if (operation == history.CREATE) != (document is not None):
        raise LogInvalid("A first entry creates, and no other does.")
    if document is not None:
        return read_creation(document, update_keys, value.get("recoveryKey"))
    if operation == history.KEY_EXPIRED:
        return Expire()
    if operation == history.LOG_KEY_ROTATED:
        return RotateLogKey()
    if operation == history.LOG_KEY_RETIRED:
        return read_retired(value["retired"])
    authorization = _read_authorization(value["authorization"])
    match operation:
        case history.UPDATE:
            if authorization.body is not None:
                return Update(requests.operations(_typed(authorization.body, dict), did), authorization)
            return Update(
                tuple(_OPERATIONS[_text(step["operation"])](step) for step in value["operations"]), authorization
            )
        case history.KEY_ROTATED:
            end = times.parse(value["revokeAt"]) if "revokeAt" in value else None
            return Rotate(_text(value["oldKeyId"]), _read_key(value["newKey"]), end, authorization)
        case history.RECOVERED:
            new_key, recovery_key = _read_key(value["newKey"]), _text(value["recoveryKey"])
            restored = _typed(value["restoreVersion"], int) if "restoreVersion" in value else None
            return Recover(new_key, _typed(value["revokeAll"], bool), recovery_key, authorization, restored)
        case history.DEACTIVATED:
            return Deactivate(authorization)
    raise LogInvalid("The entry records an unknown kind of change.")


def read_retired(value: Json) -> RetireLogKey:
    """Return the retirement that an entry states. Raises ``KeyError``, ``TypeError``."""
    return RetireLogKey(_text(value["multikey"]), _typed(value["treeSize"], int), _typed(value["compromised"], bool))


def read_creation(document: DidDocument, update_keys: tuple[str, ...], recovery_key: object) -> Create:
    """Return the creation that makes ``document``. Raises ``TypeError`` for a recovery key that is not text."""
    return Create(
        keys=tuple(Key(m.type, m.multibase, document.purposes(m.id)) for m in document.methods),
        update_keys=update_keys,
        services=tuple(NewService(s.type, s.endpoint, s.fragment) for s in document.services),
        also_known_as=document.also_known_as,
        recovery_key=None if recovery_key is None else _text(recovery_key),
    )


def _typed(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"not {kind.__name__}")
    return value


def _text(value: object) -> str:
    return _typed(value, str)


def _read_authorization(value: Json) -> Authorization:
    signature = multibase.base64url_decode(_text(value["signature"]))
    body = _typed(value["body"], dict) if "body" in value else None
    return Authorization(_text(value["scheme"]), _text(value["key"]), _text(value["challenge"]), signature, body)


def _read_key(value: Json) -> Key:
    purposes = tuple(_text(purpose) for purpose in value["purposes"])
    return Key(_text(value["type"]), _text(value["publicKeyMultibase"]), purposes)


def _read_service(value: Json) -> NewService:
    fragment = _text(value["id"]) if "id" in value else None
    return NewService(_text(value["type"]), _text(value["serviceEndpoint"]), fragment)


_OPERATIONS: Final[dict[str, Callable[[Json], Operation]]] = {
    "addService": lambda value: AddService(_read_service(value["service"])),
    "updateService": lambda value: UpdateService(_read_service(value["service"])),
    "removeService": lambda value: RemoveService(_text(value["serviceId"])),
    "addVerificationMethod": lambda value: AddVerificationMethod(_read_key(value["verificationMethod"])),
    "removeVerificationMethod": lambda value: RemoveVerificationMethod(_text(value["keyId"])),
    "setAlsoKnownAs": lambda value: SetAlsoKnownAs(tuple(_text(name) for name in value["alsoKnownAs"])),
}


def asks_for(body: requests.Body, change: Update | Rotate | Recover, did: str) -> bool:
    """Return whether ``body`` requests ``change``. A key that the body leaves to the service may be any of its type.

    Raises ``IdentityError``, ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError``: for a body that no service accepts.
    """
    match change:
        case Update():
            return requests.operations(body, did) == change.operations
        case Rotate():
            return _asks_to_rotate(body, change, did)
        case Recover():
            return _asks_to_recover(body, change)


def _asks_to_rotate(body: requests.Body, change: Rotate, did: str) -> bool:
    new, end = change.new_key, optional_time(body.get("revokeOldAfter"), "revokeOldAfter")
    return (
        requests.absolute_key_id(body["oldKeyId"], did) == change.old_key_id
        and keys.key_type(body["newKeyType"]).name == new.type
        and body.get("newPublicKeyMultibase", new.public) == new.public
        and requests.texts(body.get("purpose", ())) == new.purposes
        and _second(end) == _second(change.revoke_at)
    )


def _asks_to_recover(body: requests.Body, change: Recover) -> bool:
    new, successor = body["newAuthenticationKey"], body.get("newRecoveryKey")
    kind = keys.key_type(new["type"]).name
    return (
        Key(kind, new["publicKeyMultibase"], keys.default_purposes(kind, primary=True)) == change.new_key
        and body.get("revokeAllExistingKeys", False) is change.revoke_all
        and body.get("restoreVersion") == change.restore_version
        and (successor is None or successor["publicKeyMultibase"] == change.recovery_key)
    )


def _second(time: datetime | None) -> datetime | None:
    # Entries say times in whole seconds.
    return None if time is None else time.replace(microsecond=0)
