"""A new DID as DIF DID Registration asks for it, in the words of createDid (https://identity.foundation/did-registration/#create)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from identity_core.domain.dids import keys
from identity_core.errors import InvalidDocument, InvalidRequest
from identity_universal.registration_update import read_entries, read_list

Object = Mapping[str, Any]

TEMPLATE: Final[Object] = {"id": "#key-1", "type": keys.ED25519.name, "purpose": ("authentication",)}
"""The key that a DID needs, where a client that has its own keys gave none."""

_MEMBERS: Final = frozenset({"@context", "alsoKnownAs", "verificationMethod", "service", *keys.RELATIONSHIPS})
_KEY: Final = frozenset({"id", "type", "controller", "publicKeyMultibase"})
_JWK_KEY: Final = frozenset({"id", "type", "controller", "purpose", "publicKeyJwk"})
_JWK_TYPES: Final = ("JsonWebKey", "JsonWebKey2020")
_SERVICE: Final = frozenset({"id", "type", "serviceEndpoint"})
_OPTIONAL: Final = {"id", "controller"}


def create_body(method: str, document: Object, templates: Sequence[Object]) -> dict[str, Any]:
    """Return the body of createDid for the services and other names of ``document``, and for the keys of ``templates`` that the
    service shall make. The document's values are for the schema of createDid to check. Raises ``InvalidDocument``,
    ``InvalidRequest``."""
    if document.keys() - _MEMBERS:
        raise InvalidDocument("The document of a new DID has an id, or another member that createDid has no place for.")
    made = _made_keys(templates)
    services = read_entries(document, "service", _SERVICE - _OPTIONAL, _SERVICE)
    if services:
        made["serviceEndpoints"] = [
            service | ({"id": _fragment(service["id"])} if "id" in service else {}) for service in services
        ]
    if "alsoKnownAs" in document:
        made["alsoKnownAs"] = document["alsoKnownAs"]
    key_type = {"keyType": made.pop("keyType")} if "keyType" in made else {}
    return {"method": method, "options": made} | key_type


def own_keys(given: Sequence[Object], document: Object) -> list[dict[str, Any]]:
    """``publicKeys`` of createDid: those that came as secrets, or those of ``document`` with their relationships. Raises
    ``InvalidDocument``, ``InvalidRequest`` for both at once."""
    methods = {"verificationMethod": [*map(_multikey, read_list(document, "verificationMethod"))]}
    listed = read_entries(methods, "verificationMethod", _KEY - _OPTIONAL, _KEY)
    if given and listed:
        raise InvalidRequest("The keys are in secret or in didDocument, and not in both.")
    brought = [_multikey(key) for key in given]
    if not all("publicKeyMultibase" in key for key in brought):
        raise InvalidRequest("A key has publicKeyMultibase or publicKeyJwk.", details={"member": "secret"})
    purposes: dict[str, list[str]] = {}
    for name in keys.RELATIONSHIPS:
        for reference in read_list(document, name):
            if type(reference) is not str:
                raise InvalidDocument("A relationship names a key by its id.", details={"member": name})
            purposes.setdefault(_fragment(reference), []).append(name)
    found = []
    for key in listed:
        if "id" not in key or "controller" in key:
            raise InvalidDocument("A key of a new document has an id for its relationships, and no controller yet.")
        found.append(key | {"purpose": purposes.pop(_fragment(key["id"]), [])})
    if purposes or len({_fragment(key["id"]) for key in listed}) != len(listed):
        raise InvalidDocument("A relationship names a key that the document does not list once.")
    return [
        {"type": key["type"], "publicKeyMultibase": key["publicKeyMultibase"], "purpose": key.get("purpose", [])}
        for key in (*brought, *found)
    ]


def _multikey(key: Any) -> Any:
    """Return a key that came as a JWK (``JsonWebKey`` of CID 1.0, ``JsonWebKey2020``) with its multikey instead; any other as it
    is. Raises ``InvalidDocument``."""
    if type(key) is not dict or "publicKeyJwk" not in key:
        return key
    if key.keys() - _JWK_KEY or key.get("type") not in _JWK_TYPES:
        raise InvalidDocument("A key with publicKeyJwk is of the type JsonWebKey, and has no other form of the key.")
    public = keys.PublicKey.from_jwk(key["publicKeyJwk"])
    said = {name: value for name, value in key.items() if name != "publicKeyJwk"}
    return said | {"type": public.type, "publicKeyMultibase": public.multibase}


def _made_keys(templates: Sequence[Object]) -> dict[str, Any]:
    """Return the keys that createDid makes. Raises ``InvalidRequest`` for a second recovery key."""
    made: dict[str, Any] = {}
    more = []
    for template in templates:
        purpose = list(template["purpose"])
        if purpose == [keys.RECOVERY] and "recoveryKey" not in made:
            made["recoveryKey"] = True
        elif keys.RECOVERY in purpose:
            raise InvalidRequest("There is one recovery key, which serves nothing else.")
        elif "keyType" not in made and "authentication" in purpose:
            made["keyType"] = template["type"]
        else:
            more.append({"type": template["type"], "purpose": purpose})
    return made | ({"additionalKeys": more} if more else {})


def _fragment(text: str) -> str:
    return text.removeprefix("#")
