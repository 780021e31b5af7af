"""The body of a request: from the JSON that a controller signs to the change that an entry records.

The use cases convert bodies to changes with it. Every reader of a log with ``strictEvidence`` converts the body of the entry again.
So the holder of the log key cannot attach the signature of one request to another change. Bodies are those of updateDid,
rotateDidKey and recoverDid in the OpenAPI document, with its types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_codec import multibase
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import (
    AddService,
    AddVerificationMethod,
    NewService,
    Operation,
    RemoveService,
    RemoveVerificationMethod,
    SetAlsoKnownAs,
    SetStrictEvidence,
    SetWitnesses,
    UpdateService,
    WitnessList,
)
from identity_core.domain.dids.keys import Key
from identity_core.domain.inputs import DID, echoed
from identity_core.errors import InvalidDocument, InvalidRequest

Body = Mapping[str, Any]

_MEMBERS: Final = {
    "addService": {"service"},
    "updateService": {"service"},
    "removeService": {"serviceId"},
    "addVerificationMethod": {"verificationMethod", "relationships"},
    "removeVerificationMethod": {"keyId"},
    "setAlsoKnownAs": {"alsoKnownAs"},
    "setWitness": {"witness"},
    "setStrictEvidence": {"strictEvidence"},
}


def operations(body: Body, did: str) -> tuple[Operation, ...]:
    """Return the changes that an updateDid body requests. Refuse members of another operation instead of ignoring them. Raises
    ``InvalidRequest``, ``InvalidDocument``."""
    if "operations" not in body:
        return (_operation(body, did),)
    if len(body) > 1:
        raise InvalidRequest("operations stands alone: put every operation into it.")
    return tuple(_operation(item, did) for item in body["operations"])


def without_empty_lists(body: Body) -> Body:
    """Return a body without the empty lists that its operation does not take. Some generated clients send every list."""
    taken = _MEMBERS.get(body.get("operation", ""), ())
    return {name: value for name, value in body.items() if value != [] or name in taken}


def absolute_key_id(text: str, did: str) -> str:
    """Return the absolute key id; a bare fragment belongs to this DID."""
    return f"{did}{text}" if text.startswith("#") else text


def possession(text: str | None) -> bytes | None:
    """Return the bytes of a key's proof of possession; a later check verifies the signature. Raises ``InvalidDocument``."""
    if text is None:
        return None
    try:
        return multibase.base64url_decode(text)
    except ValueError as error:
        raise InvalidDocument(
            "proofOfPossession is base64url without padding, of 80 bytes.", details={"member": "proofOfPossession"}
        ) from error


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts. Raises ``InvalidDocument``. The document of the API types the bodies of requests, but those of a log may
    have other types, and a later operation of the same body may hide the fault."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise InvalidDocument("A member of an operation is text, or a list of texts.")
    return tuple(value)


def _operation(item: Body, did: str) -> Operation:
    name = item.get("operation", "")
    if name not in _MEMBERS:
        raise InvalidRequest("operation is missing or unknown.", details={"supported": [*sorted(_MEMBERS)]})
    expected, there = _MEMBERS[name], item.keys() - {"operation"}
    if there != expected and not (name == "addVerificationMethod" and there == {"verificationMethod"}):
        raise InvalidRequest(
            f"{name} takes {' and '.join(sorted(expected))}.",
            details={"missing": [*sorted(expected - there)], "unexpected": [*sorted(there - expected)]},
        )
    match name:
        case "addService" | "updateService":
            return (AddService if name == "addService" else UpdateService)(_service(item["service"], did))
        case "removeService":
            return RemoveService(_fragment(item["serviceId"], did))
        case "removeVerificationMethod":
            return RemoveVerificationMethod(absolute_key_id(item["keyId"], did))
        case "setAlsoKnownAs":
            return SetAlsoKnownAs(texts(item["alsoKnownAs"]))
        case "setWitness":
            return SetWitnesses(_witnesses(item["witness"]))
        case "setStrictEvidence":
            if item["strictEvidence"] is not True:
                raise InvalidDocument("strictEvidence is never turned off.", details={"member": "strictEvidence"})
            return SetStrictEvidence()
    method = item["verificationMethod"]
    kind = keys.key_type(method["type"]).name
    purposes = texts(item.get("relationships", ())) or keys.default_purposes(kind, primary=False)
    proof = possession(method.get("proofOfPossession"))
    return AddVerificationMethod(Key(kind, method["publicKeyMultibase"], purposes, proof))


def _witnesses(witness: Body) -> WitnessList | None:
    if not witness:
        return None
    if witness.keys() != {"threshold", "witnesses"}:
        raise InvalidDocument("witness has threshold and witnesses, or nothing.", details={"member": "witness"})
    return WitnessList(witness["threshold"], tuple(one["id"] for one in witness["witnesses"]))


def _service(service: Body, did: str) -> NewService:
    kind, endpoint = texts([service["type"], service["serviceEndpoint"]])
    return NewService(kind, endpoint, _fragment(service["id"], did))


def _fragment(text: str, did: str) -> str:
    """Return the fragment of a service id, which may be bare, with ``#``, or an absolute DID URL of this DID."""
    absolute, separator, fragment = text.rpartition("#")
    if absolute not in ("", did) or (not separator and text.startswith("did:")):
        raise InvalidDocument("The service id belongs to another DID.", details={"id": echoed(text, DID)})
    return fragment
