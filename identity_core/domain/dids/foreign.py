"""DID documents of others, as they were found.

Nothing is dropped or translated: a document that leaves out what its controller wrote is another document. So one is shown
as it is, if it has the form that the interface describes (contexts, references and endpoints as text, keys as ``publicKeyMultibase`` or
``publicKeyJwk``), and refused otherwise, because every client was generated from that description. A foreign document names no key that
this installation trusts: all that it has are its octets, and no one signs in with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import orjson

from identity_core.domain.dids import jwk, keys
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.log.entry import multihash
from identity_core.domain.dids.state import DidState
from identity_core.errors import InvalidDocument, JsonValue

_TEXTS: Final = ("alsoKnownAs", *keys.RELATIONSHIPS)
_METHOD: Final = ("id", "type", "controller")
_SERVICE: Final = ("id", "type", "serviceEndpoint")


def found(did: Did, members: Mapping[str, JsonValue], at: datetime) -> DidState:
    """The state of a DID of which only its present ``members`` are known, ``at`` the aware UTC time of looking.

    Version 1, born when it was seen, with the hash of the document for its entry hash. Raises ``InvalidDocument`` when the document
    is of another DID or not of the form that can be shown.
    """
    _check(did, members)
    octets = orjson.dumps(members)
    return DidState(
        did=did,
        version_id=1,
        created_at=at,
        updated_at=at,
        operation=history.CREATE,
        entry_hash=multihash(octets),
        previous_hash=None,
        document=DidDocument(str(did), (), (), written=octets),
    )


def _check(did: Did, members: Mapping[str, JsonValue]) -> None:
    if members.get("id") != str(did):
        raise InvalidDocument("The document is of another DID.", details={"did": str(did)})
    if type(members.get("controller", "")) is not str:
        raise _unfit("controller")
    for name in ("@context", *_TEXTS):
        # Without its contexts a document is no JSON-LD, and the interface promises them.
        if not _all(str, members.get(name, None if name == "@context" else [])):
            raise _unfit(name)
    for name, wanted in (("verificationMethod", _METHOD), ("service", _SERVICE)):
        items = members.get(name, [])
        if not _all(dict, items):
            raise _unfit(name)
        for item in items if isinstance(items, list) else ():
            if not isinstance(item, dict) or any(type(item.get(member)) is not str for member in wanted):
                raise _unfit(name)
            if type(item.get("revoked", "")) is not str:
                raise _unfit(name)
            if name == "verificationMethod":
                _check_material(item)


def _check_material(method: Mapping[str, JsonValue]) -> None:
    """One form of the key (CID 1.0 §2.2)."""
    multibase, key = "publicKeyMultibase" in method, "publicKeyJwk" in method
    if multibase == key or type(method.get("publicKeyMultibase", "")) is not str:
        raise _unfit("verificationMethod")
    if key:
        try:
            jwk.check(method["publicKeyJwk"])
        except InvalidDocument as error:
            raise _unfit("verificationMethod") from error


def _all(kind: type, value: JsonValue) -> bool:
    return type(value) is list and all(type(item) is kind for item in value)


def _unfit(member: str) -> InvalidDocument:
    return InvalidDocument(
        "The document is not of the form that this service can show.", details={"member": member, "reason": "form"}
    )
