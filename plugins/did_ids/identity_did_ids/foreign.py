"""DID documents of other installations, unchanged.

Nothing is dropped or translated, because that would make another document. A document is shown as it is if its form is one that
DID Core §5 allows (``ResolvedDidDocument`` in the interface); any other is refused. A foreign document names no key that this
installation trusts: it is stored as bytes alone, and its keys cannot be used to sign in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import orjson

from identity_codec import jwk
from identity_codec.deprecation import OldName
from identity_codec.strict_json import JsonValue
from identity_core.domain.dids import keys
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.logs import multihash
from identity_core.domain.dids.state import DidState
from identity_core.errors import InvalidDocument

_Forms = Mapping[str, tuple[tuple[type, ...], tuple[type, ...]]]
"""The types that a member may have, and those of its items where it is a list."""

_TEXT: Final = ((str,), ())
_DOCUMENT: Final[_Forms] = {
    "@context": ((str, list), (str, dict)),
    "controller": ((str, list), (str,)),
    "alsoKnownAs": ((list,), (str,)),
    "verificationMethod": ((list,), (dict,)),
    **dict.fromkeys(keys.RELATIONSHIPS, ((list,), (str, dict))),
    "service": ((list,), (dict,)),
}
_METHOD: Final[_Forms] = dict.fromkeys(("id", "type", "controller"), _TEXT)
_MATERIAL: Final[_Forms] = {"publicKeyMultibase": _TEXT, "publicKeyJwk": ((dict,), ()), "revoked": _TEXT}
_SERVICE: Final[_Forms] = {
    "id": _TEXT,
    "type": ((str, list), (str,)),
    "serviceEndpoint": ((str, dict, list), (str, dict)),
}


def build_foreign_state(did: Did, members: Mapping[str, JsonValue], at: datetime) -> DidState:
    """Return the state of a DID of which only the current ``members`` are known; ``at`` is the aware UTC time of the look-up.

    It is version 1, created at ``at``, with the hash of the document as its entry hash. Raises ``InvalidDocument``: when the
    document is of another DID, or of a form that DID Core does not allow.
    """
    _check(did, members)
    data = orjson.dumps(members)
    return DidState(
        did=did,
        version_id=1,
        created_at=at,
        updated_at=at,
        operation=history.CREATE,
        entry_hash=multihash(data),
        previous_hash=None,
        document=DidDocument(str(did), (), (), written=data),
    )


found: Final = OldName("foreign.found", build_foreign_state)


def _check(did: Did, members: Mapping[str, JsonValue]) -> None:
    if members.get("id") != str(did):
        raise InvalidDocument("The document is of another DID.", details={"did": str(did)})
    for name in (name for name in _DOCUMENT if name in members):
        value = members[name]
        parts = [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
        is_formed = _has(members, {name: _DOCUMENT[name]})
        if name == "service":
            is_formed &= all(_has(one, _SERVICE) for one in parts)
        elif name != "@context":
            is_formed &= all(map(_is_method, parts))
        if not is_formed:
            message = "The document is not of a form that DID Core allows."
            raise InvalidDocument(message, details={"member": name, "reason": "form"})


def _has(members: Mapping[str, JsonValue], forms: _Forms) -> bool:
    """Return whether ``members`` has each member of ``forms``, of one of its types."""
    return all(
        type(value := members.get(name)) in own and (not isinstance(value, list) or {*map(type, value)} <= {*inner})
        for name, (own, inner) in forms.items()
    )


def _is_method(value: Mapping[str, JsonValue]) -> bool:
    """Return whether ``value`` has the members of a verification method, and no private key or key in two forms (CID 1.0 §2.2)."""
    material = {name: form for name, form in _MATERIAL.items() if name in value}
    is_jwk = "publicKeyJwk" in value
    return _has(value, {**_METHOD, **material}) and not (
        is_jwk and ("publicKeyMultibase" in value or not jwk.is_public(value["publicKeyJwk"]))
    )
