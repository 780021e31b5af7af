"""From the wire to what the DID use cases take."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypedDict

from identity_core.api.request import Request
from identity_core.codec import multibase
from identity_core.domain import keys, times
from identity_core.domain.caller import Caller
from identity_core.domain.change import (
    AddService,
    AddVerificationMethod,
    Authorization,
    NewKey,
    NewService,
    Operation,
    RemoveService,
    RemoveVerificationMethod,
    SetAlsoKnownAs,
    UpdateService,
)
from identity_core.domain.did import Did
from identity_core.domain.echo import DID, echoed
from identity_core.errors import AuthRequired, InvalidDocument, InvalidRequest
from identity_core.use_cases.dids.create import Creation, RequestedKey
from identity_core.use_cases.dids.recover import Recovery
from identity_core.use_cases.dids.rotate_key import Rotation
from identity_core.use_cases.dids.writer import RequestContext

MAX_IF_NONE_MATCH: Final = 2_048

_ETAG_VERSION = re.compile(r'"([1-9][0-9]{0,15})(?:\.[a-z+-]+)?"', re.ASCII)


class Selection(TypedDict):
    """The keyword arguments of ``ResolveDid`` that choose a version."""

    version_id: int | None
    version_time: datetime | None


def occasion(request: Request, note: str | None = None) -> RequestContext:
    """Who asks, for the audit row."""
    return RequestContext(request.operation_id, caller(request), request.request_id, note)


def caller(request: Request) -> Caller:
    """Who asks; the gate admits nobody else to operations that call this."""
    if request.caller is None:
        raise AuthRequired
    return request.caller


def authorization(request: Request) -> Authorization:
    """The verified signature of the caller."""
    signed = caller(request).authorization
    if signed is None:
        raise AuthRequired
    return signed


def time_of(value: str, name: str) -> datetime:
    """An RFC 3339 time. Raises ``InvalidRequest`` naming the member."""
    try:
        return times.parse(value)
    except ValueError as error:
        raise InvalidRequest(f"{name} is not an RFC 3339 time with a zone.", details={"member": name}) from error


def selection(query: Mapping[str, Any]) -> Selection:
    """versionId and versionTime, which exclude each other (DID Resolution §4.1)."""
    if "versionId" in query and "versionTime" in query:
        raise InvalidRequest("versionId and versionTime exclude each other.")
    version_time = query.get("versionTime")
    return {
        "version_id": query.get("versionId"),
        "version_time": None if version_time is None else time_of(version_time, "versionTime"),
    }


def etag_matches(header: str | None, etag: str) -> bool:
    """If-None-Match (RFC 9110 §13.1.2): a list of tags, compared weakly, or ``*``. One that is longer than the document allows matches
    nothing: the answer is sent."""
    if header is None or len(header) > MAX_IF_NONE_MATCH:
        return False
    return header.strip() == "*" or etag in [tag.strip().removeprefix("W/") for tag in header.split(",")]


def if_match(request: Request) -> int | None:
    """The version that If-Match names; ``*`` and no header ask for none."""
    header = request.header("if-match")
    if header is None or header.strip() == "*":
        return None
    match = _ETAG_VERSION.fullmatch(header.strip())
    if match is None:
        raise InvalidRequest('If-Match must be one entity tag such as "3".', details={"header": "If-Match"})
    return int(match[1])


def cursor(text: str | None) -> str | None:
    """An opaque cursor: base64url of where the last page ended."""
    if text is None:
        return None
    try:
        return multibase.base64url_decode(text).decode("ascii")
    except (ValueError, binascii.Error) as error:
        raise InvalidRequest("The cursor is not one of ours.", details={"parameter": "cursor"}) from error


def version_cursor(text: str | None) -> int | None:
    """A cursor that holds a version id."""
    inner = cursor(text)
    if inner is None:
        return None
    if re.fullmatch(r"[1-9][0-9]{0,9}", inner, re.ASCII) is None:
        raise InvalidRequest("The cursor is not one of ours.", details={"parameter": "cursor"})
    return int(inner)


def creation(body: Mapping[str, Any]) -> Creation:
    """The DID creation request."""
    options = body.get("options", {})
    return Creation(
        method=body["method"],
        key_type=body.get("keyType"),
        additional=tuple(RequestedKey(key["type"], tuple(key["purpose"])) for key in options.get("additionalKeys", ())),
        public_keys=tuple(
            RequestedKey(key["type"], tuple(key["purpose"]), key["publicKeyMultibase"])
            for key in options.get("publicKeys", ())
        ),
        services=tuple(
            NewService(endpoint["type"], endpoint["serviceEndpoint"])
            for endpoint in options.get("serviceEndpoints", ())
        ),
        also_known_as=tuple(options.get("alsoKnownAs", ())),
        recovery_key=options.get("recoveryKey", False),
        store_secrets=options.get("storeSecrets", False),
        return_secrets=options.get("returnSecrets", True),
    )


def absolute_key_id(text: str, did: Did) -> str:
    """A key id as the document has it: a bare fragment is taken to be one of this DID."""
    return f"{did}{text}" if text.startswith("#") else text


def possession(member: Mapping[str, Any]) -> bytes | None:
    """The proof of possession beside a key. What is no signature is refused where it is checked."""
    text = member.get("proofOfPossession")
    if text is None:
        return None
    try:
        return multibase.base64url_decode(text)
    except ValueError as error:
        raise InvalidDocument(
            "proofOfPossession is base64url without padding, of 80 octets.", details={"member": "proofOfPossession"}
        ) from error


def rotation(body: Mapping[str, Any], did: Did) -> Rotation:
    """The rotation request."""
    revoke = body.get("revokeOldAfter")
    return Rotation(
        old_key_id=absolute_key_id(body["oldKeyId"], did),
        key_type=body["newKeyType"],
        purposes=tuple(body.get("purpose", ())),
        revoke_old_after=None if revoke is None else time_of(revoke, "revokeOldAfter"),
        multibase=body.get("newPublicKeyMultibase"),
        possession=possession(body),
        store_secrets=body.get("storeSecrets", False),
        return_secrets=body.get("returnSecrets", True),
    )


def recovery(body: Mapping[str, Any]) -> Recovery:
    """The recovery request."""
    key = body["newAuthenticationKey"]
    successor = body.get("newRecoveryKey")
    return Recovery(
        key_type=key["type"],
        multibase=key["publicKeyMultibase"],
        revoke_all=body.get("revokeAllExistingKeys", False),
        possession=possession(key),
        new_recovery_key=None if successor is None else (successor["type"], successor["publicKeyMultibase"]),
    )


_MEMBERS = {
    "addService": {"service"},
    "updateService": {"service"},
    "removeService": {"serviceId"},
    "addVerificationMethod": {"verificationMethod", "relationships"},
    "removeVerificationMethod": {"keyId"},
    "setAlsoKnownAs": {"alsoKnownAs"},
}


def operations(body: Mapping[str, Any], did: Did) -> tuple[Operation, ...]:
    """One operation, or several under ``operations``. Members that belong to another operation are refused, not ignored."""
    if "operations" in body:
        if len(body) > 1:
            raise InvalidRequest("operations stands alone: put every operation into it.")
        return tuple(_operation(item, did) for item in body["operations"])
    return (_operation(body, did),)


def _operation(item: Mapping[str, Any], did: Did) -> Operation:
    name = item.get("operation")
    if name not in _MEMBERS:
        raise InvalidRequest("operation is missing or unknown.", details={"supported": [*sorted(_MEMBERS)]})
    expected = _MEMBERS[name]
    given = set(item) - {"operation"}
    if given != expected and not (name == "addVerificationMethod" and given == {"verificationMethod"}):
        raise InvalidRequest(
            f"{name} takes {' and '.join(sorted(expected))}.",
            details={"missing": [*sorted(expected - given)], "unexpected": [*sorted(given - expected)]},
        )
    match name:
        case "addService":
            return AddService(_service(item["service"], did))
        case "updateService":
            return UpdateService(_service(item["service"], did))
        case "removeService":
            return RemoveService(_fragment(item["serviceId"], did))
        case "addVerificationMethod":
            method = item["verificationMethod"]
            kind = keys.verification_method_type(method["type"])
            purposes = tuple(item.get("relationships", ())) or keys.default_purposes(kind, primary=False)
            return AddVerificationMethod(NewKey(kind, method["publicKeyMultibase"], purposes, possession(method)))
        case "removeVerificationMethod":
            return RemoveVerificationMethod(absolute_key_id(item["keyId"], did))
        case _:
            return SetAlsoKnownAs(tuple(item["alsoKnownAs"]))


def _service(service: Mapping[str, Any], did: Did) -> NewService:
    return NewService(service["type"], service["serviceEndpoint"], _fragment(service["id"], did))


def _fragment(text: str, did: Did) -> str:
    """The fragment of a service id, given bare, with ``#``, or as an absolute DID URL of this DID."""
    absolute, separator, fragment = text.rpartition("#")
    if absolute not in ("", str(did)) or (not separator and text.startswith("did:")):
        raise InvalidDocument("The service id belongs to another DID.", details={"id": echoed(text, DID)})
    return fragment
