"""What updateDid is asked for, as the changes of the domain: one operation, or several that stand in ``operations``."""

from __future__ import annotations

from typing import Final

from identity_core.codec import multibase
from identity_core.codec.structs import UNSET, UnsetType, given, member_names
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    NewService,
    Operation,
    RemoveService,
    RemoveVerificationMethod,
    SetAlsoKnownAs,
    UpdateService,
)
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.keys import Key
from identity_core.domain.echo import DID, echoed
from identity_core.errors import InvalidDocument, InvalidRequest
from identity_core.wire import ServiceInput, UpdateDidRequest, UpdateOperation

_MEMBERS: Final = {
    "addService": {"service"},
    "updateService": {"service"},
    "removeService": {"serviceId"},
    "addVerificationMethod": {"verificationMethod", "relationships"},
    "removeVerificationMethod": {"keyId"},
    "setAlsoKnownAs": {"alsoKnownAs"},
}


def operations_of(wish: UpdateDidRequest, did: Did) -> tuple[Operation, ...]:
    """Members that belong to another operation are refused, not ignored. Raises ``InvalidRequest``, ``InvalidDocument``."""
    if isinstance(wish.operations, UnsetType):
        return (_operation(wish, did),)
    if len(member_names(wish)) > 1:
        raise InvalidRequest("operations stands alone: put every operation into it.")
    return tuple(_operation(item, did) for item in wish.operations)


def absolute_key_id(text: str, did: Did) -> str:
    """A key id as the document has it: a bare fragment is taken to be one of this DID."""
    return f"{did}{text}" if text.startswith("#") else text


def possession_of(text: str | UnsetType) -> bytes | None:
    """The proof of possession beside a key. What is no signature is refused where it is checked. Raises ``InvalidDocument``."""
    if isinstance(text, UnsetType):
        return None
    try:
        return multibase.base64url_decode(text)
    except ValueError as error:
        raise InvalidDocument(
            "proofOfPossession is base64url without padding, of 80 octets.", details={"member": "proofOfPossession"}
        ) from error


def _operation(item: UpdateOperation | UpdateDidRequest, did: Did) -> Operation:
    name = given(item.operation, "")
    if name not in _MEMBERS:
        raise InvalidRequest("operation is missing or unknown.", details={"supported": [*sorted(_MEMBERS)]})
    expected, there = _MEMBERS[name], member_names(item) - {"operation"}
    if there != expected and not (name == "addVerificationMethod" and there == {"verificationMethod"}):
        raise InvalidRequest(
            f"{name} takes {' and '.join(sorted(expected))}.",
            details={"missing": [*sorted(expected - there)], "unexpected": [*sorted(there - expected)]},
        )
    if item.service is not UNSET:
        service = _service(item.service, did)
        return AddService(service) if name == "addService" else UpdateService(service)
    if item.service_id is not UNSET:
        return RemoveService(_fragment(item.service_id, did))
    if item.key_id is not UNSET:
        return RemoveVerificationMethod(absolute_key_id(item.key_id, did))
    if item.verification_method is not UNSET:
        method = item.verification_method
        kind = keys.key_type(method.type).name
        purposes = given(item.relationships, ()) or keys.default_purposes(kind, primary=False)
        possession = possession_of(method.proof_of_possession)
        return AddVerificationMethod(Key(kind, method.public_key_multibase, purposes, possession))
    return SetAlsoKnownAs(given(item.also_known_as, ()))


def _service(service: ServiceInput, did: Did) -> NewService:
    return NewService(service.type, service.service_endpoint, _fragment(service.id, did))


def _fragment(text: str, did: Did) -> str:
    """The fragment of a service id, given bare, with ``#``, or as an absolute DID URL of this DID."""
    absolute, separator, fragment = text.rpartition("#")
    if absolute not in ("", str(did)) or (not separator and text.startswith("did:")):
        raise InvalidDocument("The service id belongs to another DID.", details={"id": echoed(text, DID)})
    return fragment
