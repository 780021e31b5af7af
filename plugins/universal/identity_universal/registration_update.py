"""Changes of a document in the form of DIF DID Registration, translated to updateDid: what a controller then signs is our own body.

https://identity.foundation/did-registration/#diddocumentoperation: ``setDidDocument`` gives the whole document, ``addToDidDocument`` and
``removeFromDidDocument`` give parts. ``@context`` follows from the document here and is not looked at. What no operation of updateDid can
do is refused: another controller, other relationships or another form of a key that stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from identity_core.domain.dids import keys
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.inputs import DID, TERM, echoed
from identity_core.errors import InvalidDocument, InvalidRequest

SET: Final = "setDidDocument"
ADD: Final = "addToDidDocument"
REMOVE: Final = "removeFromDidDocument"

Object = Mapping[str, Any]

_MEMBERS: Final = frozenset(
    {"@context", "id", "controller", "alsoKnownAs", "verificationMethod", "service", *keys.RELATIONSHIPS}
)
_METHOD: Final = frozenset({"id", "type", "publicKeyMultibase"})
_SERVICE: Final = frozenset({"id", "type", "serviceEndpoint"})
_PROOF: Final = "proofOfPossession"


def update_body(document: DidDocument, operations: Sequence[str], documents: Sequence[Any]) -> dict[str, Any]:
    """Return the body of updateDid that applies ``operations``, one for each of ``documents`` (JSON), to ``document``. Its members are
    strings or lists of strings, which the schema of that body checks later. Raises ``InvalidRequest``, ``InvalidDocument``."""
    if len(operations) != len(documents) or not operations:
        raise InvalidRequest("didDocumentOperation and didDocument have one entry for each other.")
    before = _DocumentParts.read(document.did, document.to_json())
    wished = _DocumentParts.read(document.did, document.to_json())
    for operation, value in zip(operations, documents, strict=True):
        if operation == SET:
            wished = _DocumentParts.read(document.did, value)
            wished.require_purposes()
        elif operation == ADD:
            wished.add(_DocumentParts.read(document.did, value))
        elif operation == REMOVE:
            wished.remove(_DocumentParts.read(document.did, value, whole=False))
        else:
            raise InvalidRequest(
                "The operation is unknown.",
                details={"didDocumentOperation": echoed(operation, TERM), "supported": [SET, ADD, REMOVE]},
            )
    found = [*_removals(before, wished), *_services(before, wished), *_methods(before, wished)]
    if wished.aliases != before.aliases:
        found.append({"operation": "setAlsoKnownAs", "alsoKnownAs": wished.aliases})
    if not found:
        raise InvalidRequest("The document is as it is wished already.")
    return {"operations": found}


class _DocumentParts(Struct):
    """The parts of a document by absolute id, and the ``purposes`` of each key in a relationship, in the order of documents."""

    aliases: list[str]
    methods: dict[str, dict[str, str]]
    purposes: dict[str, list[str]]
    services: dict[str, dict[str, str]]

    @classmethod
    def read(cls, did: str, value: Any, *, whole: bool = True) -> _DocumentParts:
        """Shape and types. Of what shall go an ``id`` is enough, where it is not ``whole``. Raises ``InvalidDocument``."""
        if type(value) is not dict or value.keys() - _MEMBERS:
            raise InvalidDocument("The document is not an object, or has a member that is unknown.")
        if value.get("id", did) != did or value.get("controller", did) not in (did, [did]):
            raise InvalidDocument("The document is of another DID, or names another controller.")
        purposes: dict[str, list[str]] = {}
        for name in keys.RELATIONSHIPS:
            for text in _texts(value, name):
                purposes.setdefault(_absolute(did, text), []).append(name)
        methods = _listed(
            did, value, "verificationMethod", _METHOD if whole else {"id"}, {"controller", "revoked", _PROOF}
        )
        for method in methods.values():
            if method.pop("controller", did) != did:
                raise InvalidDocument("A key has another controller.", details={"id": echoed(method["id"], DID)})
        services = _listed(did, value, "service", _SERVICE if whole else {"id"}, set())
        return cls(_texts(value, "alsoKnownAs"), methods, purposes, services)

    def require_purposes(self) -> None:
        """Check that each key of a whole document has a relationship, and that each reference has a key. Raises ``InvalidDocument``."""
        for key_id in self.methods.keys() ^ self.purposes.keys():
            raise InvalidDocument(
                "A key and its relationships do not come together.", details={"id": echoed(key_id, DID)}
            )

    def add(self, more: _DocumentParts) -> None:
        """Raise ``InvalidDocument`` for what is there already, and for a relationship of a key that is not new."""
        there = [*(self.methods.keys() & more.methods.keys()), *(self.services.keys() & more.services.keys())]
        for name in (*there, *(more.purposes.keys() - more.methods.keys())):
            raise InvalidDocument("The document has this already.", details={"id": echoed(name, DID)})
        self.methods |= more.methods
        self.purposes |= more.purposes
        self.services |= more.services
        self.aliases += [alias for alias in more.aliases if alias not in self.aliases]

    def remove(self, less: _DocumentParts) -> None:
        """Raise ``InvalidDocument`` for what is not there, and for a relationship alone."""
        gone = [*(less.methods.keys() - self.methods.keys()), *(less.services.keys() - self.services.keys())]
        for name in (*gone, *(less.purposes.keys() - less.methods.keys())):
            raise InvalidDocument("The document has nothing of this name to remove.", details={"id": echoed(name, DID)})
        if not set(less.aliases) <= set(self.aliases):
            raise InvalidDocument("The document has no such alias.", details={"member": "alsoKnownAs"})
        for name in less.methods:
            del self.methods[name]
            self.purposes.pop(name, None)
        for name in less.services:
            del self.services[name]
        self.aliases = [alias for alias in self.aliases if alias not in less.aliases]


def _removals(before: _DocumentParts, wished: _DocumentParts) -> list[dict[str, Any]]:
    services = [name for name in before.services if name not in wished.services]
    methods = [name for name in before.methods if name not in wished.methods]
    return [
        *({"operation": "removeService", "serviceId": name} for name in services),
        *({"operation": "removeVerificationMethod", "keyId": name} for name in methods),
    ]


def _services(before: _DocumentParts, wished: _DocumentParts) -> list[dict[str, Any]]:
    return [
        {"operation": "updateService" if name in before.services else "addService", "service": service}
        for name, service in wished.services.items()
        if before.services.get(name) != service
    ]


def _methods(before: _DocumentParts, wished: _DocumentParts) -> list[dict[str, Any]]:
    found = []
    for name, method in wished.methods.items():
        purposes = wished.purposes.get(name, [])
        if name in before.methods:
            if method != before.methods[name] or purposes != before.purposes[name]:
                raise InvalidDocument("A key that stays cannot change; rotate it.", details={"id": echoed(name, DID)})
            continue
        if "revoked" in method or name.rpartition("#")[2] != method["publicKeyMultibase"]:
            raise InvalidDocument(
                "A new key is not revoked, and the fragment of its id is the key.", details={"id": echoed(name, DID)}
            )
        given = {member: text for member, text in method.items() if member != "id"}
        added: dict[str, Any] = {"operation": "addVerificationMethod", "verificationMethod": given}
        found.append(added | ({"relationships": purposes} if purposes else {}))
    return found


def _listed(did: str, value: Object, member: str, needed: frozenset[str] | set[str], more: set[str]) -> dict[str, Any]:
    """Return the objects of a list by their absolute ids, which they contain. Raises ``InvalidDocument``."""
    found: dict[str, Any] = {}
    every = {"verificationMethod": _METHOD, "service": _SERVICE}[member] | more
    for item in read_entries(value, member, needed, every):
        name = _absolute(did, item["id"])
        if name in found:
            raise InvalidDocument("An id is there twice.", details={"member": member, "id": echoed(name, DID)})
        found[name] = {**item, "id": name}
    return found


def _texts(value: Object, member: str) -> list[str]:
    found = read_list(value, member)
    if {*map(type, found)} - {str} or len({*found}) != len(found):
        raise InvalidDocument("A member lists what is not text, or something twice.", details={"member": member})
    return list(found)


def read_entries(
    value: Object, member: str, needed: frozenset[str] | set[str], every: frozenset[str] | set[str]
) -> list[dict[str, str]]:
    """Return the objects of a list, whose members are texts. Raises ``InvalidDocument``."""
    found = read_list(value, member)
    for item in found:
        if type(item) is not dict or not needed <= item.keys() <= every or {*map(type, item.values())} - {str}:
            raise InvalidDocument(
                "An entry lacks a member, or has one that is unknown or no text.", details={"member": member}
            )
    return found


def read_list(value: Object, member: str) -> list[Any]:
    """Return a list of a document, empty where it is missing. Raises ``InvalidDocument``."""
    found = value.get(member, [])
    if type(found) is not list:
        raise InvalidDocument("A member of the document is not a list.", details={"member": member})
    return found


def _absolute(did: str, text: str) -> str:
    """Raise ``InvalidDocument`` for what names something of another DID."""
    name = f"{did}{text}" if text.startswith("#") else text
    if not name.startswith(f"{did}#"):
        raise InvalidDocument("An id belongs to another DID.", details={"id": echoed(text, DID)})
    return name
