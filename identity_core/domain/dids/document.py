"""The DID document (DID Core §5, CID 1.0) as a frozen value, its invariants, and its JSON form.

Profile: did/v1 and the three 2020 suites, absolute ids, the fragment of a key is its multikey. Left out on purpose:
embedded verification methods, several controllers, map endpoints; JSON-LD processing (contexts are never fetched).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct

from identity_codec import times
from identity_codec.deprecation import OldMember
from identity_codec.strict_json import JsonValue
from identity_core.domain.dids import did as endpoint
from identity_core.domain.dids import keys
from identity_core.domain.dids.did import SERVICE_CONTEXTS, contexts_of
from identity_core.errors import InvalidDocument

MAX_KEYS: Final = 20
MAX_SERVICES: Final = 20
MAX_ALIASES: Final = 10

DID_CONTEXT: Final = "https://www.w3.org/ns/did/v1"

_MEMBERS: Final = frozenset(
    {"@context", "id", "controller", "alsoKnownAs", "verificationMethod", "service", *keys.RELATIONSHIPS}
)
_METHOD_MEMBERS: Final = frozenset({"id", "type", "controller", "publicKeyMultibase"})
_SERVICE_MEMBERS: Final = frozenset({"id", "type", "serviceEndpoint"})


class VerificationMethod(Struct, frozen=True):
    """``id`` is absolute; ``revoked`` is the end of a grace period (CID: must not be used at or after)."""

    id: str
    type: str
    multibase: str
    revoked: datetime | None = None


class ServiceEntry(Struct, frozen=True):
    """A service of the document: absolute ``id``, ``type``, one endpoint URI."""

    id: str
    type: str
    endpoint: str

    @property
    def fragment(self) -> str:
        """Return the fragment that names the service within its document."""
        return self.id.partition("#")[2]


@dataclass(slots=True, unsafe_hash=True)
class DidDocument:
    """A DID document. ``relationships`` maps a relationship to absolute key ids, in document order; empty ones are absent.
    ``contexts`` are the given contexts that the document uses for its services.

    ``encoded`` is the document as JSON, with members in reading order; these bytes are stored and returned. They are computed from the
    fields, unless they exist already: ``written`` by this store, or found as another service wrote them. A document that is
    ``load``ed is parsed when a field is first used, because most answers need only its bytes.
    """

    did: str
    methods: tuple[VerificationMethod, ...]
    relationships: tuple[tuple[str, tuple[str, ...]], ...]
    services: tuple[ServiceEntry, ...] = ()
    also_known_as: tuple[str, ...] = ()
    contexts: Collection[str] = SERVICE_CONTEXTS
    encoded: bytes = field(init=False, repr=False)
    written: InitVar[bytes | None] = None
    octets = OldMember("encoded")

    def __post_init__(self, written: bytes | None) -> None:
        object.__setattr__(self, "contexts", contexts_of([service.type for service in self.services], self.contexts))
        object.__setattr__(self, "encoded", orjson.dumps(_members(self)) if written is None else written)

    def __getattr__(self, name: str) -> Any:
        """Parse a loaded document when Python reads an empty slot."""
        if name not in _LOADED:
            raise AttributeError(name)
        for field_name, value in _fields(orjson.loads(self.encoded)).items():
            object.__setattr__(self, field_name, value)
        return object.__getattribute__(self, name)

    def method(self, key_id: str) -> VerificationMethod | None:
        """Return the verification method with this absolute id."""
        for method in self.methods:
            if method.id == key_id:
                return method
        return None

    def service(self, fragment: str) -> ServiceEntry | None:
        """Return the service with this fragment (without ``#``)."""
        service_id = f"{self.did}#{fragment}"
        return next((service for service in self.services if service.id == service_id), None)

    def related(self, relationship: str) -> tuple[str, ...]:
        """Return the absolute ids of the keys in ``relationship``."""
        return next((key_ids for name, key_ids in self.relationships if name == relationship), ())

    def purposes(self, key_id: str) -> tuple[str, ...]:
        """Return the relationships of the key, in document order."""
        return tuple(name for name, key_ids in self.relationships if key_id in key_ids)

    def remove_keys(self, gone: Collection[str]) -> DidDocument:
        """Return the document without the keys of these absolute ids, and without relationships that become empty."""
        left = ((name, tuple(one for one in key_ids if one not in gone)) for name, key_ids in self.relationships)
        methods = tuple(method for method in self.methods if method.id not in gone)
        related = tuple((name, key_ids) for name, key_ids in left if key_ids)
        return DidDocument(self.did, methods, related, self.services, self.also_known_as, self.contexts)

    def to_json(self) -> dict[str, Any]:
        """Return the document as a JSON object."""
        value: dict[str, Any] = orjson.loads(self.encoded)
        return value

    def named(self, old: str, new: str) -> DidDocument:
        """Replace each occurrence of the text ``old`` with ``new``. Only DIDs may contain ``old``."""
        ids = {method.id: method.id.replace(old, new) for method in self.methods}
        return DidDocument(
            self.did.replace(old, new),
            tuple([VerificationMethod(ids[one.id], one.type, one.multibase, one.revoked) for one in self.methods]),
            tuple([(name, tuple([ids[key_id] for key_id in key_ids])) for name, key_ids in self.relationships]),
            tuple([ServiceEntry(one.id.replace(old, new), one.type, one.endpoint) for one in self.services]),
            self.also_known_as,
            self.contexts,
            written=self.encoded.replace(old.encode(), new.encode()),
        )

    @classmethod
    def read(cls, value: JsonValue) -> DidDocument:
        """Return the document of a JSON value. Check shape and types only; ``check`` checks the rules. Raises ``InvalidDocument``."""
        members = _object(value, _MEMBERS)
        for method in _list(members.get("verificationMethod", [])):
            read = _object(method, _METHOD_MEMBERS | {"revoked"})
            if not read.keys() >= _METHOD_MEMBERS or set(map(type, read.values())) != {str}:
                raise InvalidDocument("A verification method lacks a member, or one is not text.")
        for service in _list(members.get("service", [])):
            read = _object(service, _SERVICE_MEMBERS)
            if len(read) != len(_SERVICE_MEMBERS) or set(map(type, read.values())) != {str}:
                raise InvalidDocument("A service lacks a member, or one is not text.")
        for name in ("@context", "alsoKnownAs", *keys.RELATIONSHIPS):
            if not set(map(type, _list(members.get(name, [])))) <= {str}:
                raise InvalidDocument(f"{name} holds what is not text.")
        if type(members.get("id")) is not str:
            raise InvalidDocument("The document has no id.")
        try:
            return cls(**_fields(members))
        except ValueError as error:
            raise InvalidDocument("revoked is not a time.") from error

    @classmethod
    def parse(cls, value: JsonValue) -> DidDocument:
        """Return the document of a JSON value. Raises ``InvalidDocument``: when ``to_json`` would not write the same value."""
        document = cls.read(value)
        check(document)
        if document.to_json() != value:
            raise InvalidDocument("The document is not written as this profile has it.")
        return document

    @classmethod
    def load(cls, data: bytes) -> DidDocument:
        """Return the document with these ``data``, which must come from this service's store: nothing is checked again."""
        document: Any = object.__new__(cls)
        document.encoded = data
        loaded: DidDocument = document
        return loaded


def _members(document: DidDocument) -> dict[str, Any]:
    """Return the JSON object; ``@context`` is did/v1, then only the contexts that the document uses."""
    types = {method.type for method in document.methods}
    suites = [kind.context for name, kind in keys.KEY_TYPES.items() if name in types]
    shown: dict[str, Any] = {
        "@context": [DID_CONTEXT, *suites, *document.contexts],
        "id": document.did,
        "controller": document.did,
    }
    if document.also_known_as:
        shown["alsoKnownAs"] = document.also_known_as
    if document.methods:
        shown["verificationMethod"] = [_method_members(document.did, method) for method in document.methods]
    shown.update(document.relationships)
    if document.services:
        shown["service"] = [
            {"id": service.id, "type": service.type, "serviceEndpoint": service.endpoint}
            for service in document.services
        ]
    return shown


def _method_members(controller: str, method: VerificationMethod) -> dict[str, str]:
    shown = {"id": method.id, "type": method.type, "controller": controller, "publicKeyMultibase": method.multibase}
    if method.revoked is not None:
        shown["revoked"] = times.printed(method.revoked)
    return shown


def check(document: DidDocument) -> None:
    """Check the invariants of a document: maximum counts, unique ids, fragments that are the keys, references that resolve, types that
    are permitted for their purposes, safe endpoints. Raises ``InvalidDocument``."""
    check_count("verificationMethod", len(document.methods), MAX_KEYS)
    check_count("service", len(document.services), MAX_SERVICES)
    check_count("alsoKnownAs", len(document.also_known_as), MAX_ALIASES)
    purposes: dict[str, list[str]] = {}
    for method in document.methods:
        keys.PublicKey.parse(method.type, method.multibase)
        if method.id != f"{document.did}#{method.multibase}":
            raise InvalidDocument("The fragment of a key id is not its key.", details={"id": method.id[:640]})
        purposes[method.id] = []
    for name, key_ids in document.relationships:
        if not key_ids:
            raise InvalidDocument("A relationship is empty.", details={"member": name})
        for key_id in key_ids:
            if key_id not in purposes:
                raise InvalidDocument("A relationship names a key that is not there.", details={"id": key_id[:640]})
            purposes[key_id].append(name)
    for method in document.methods:
        keys.check_purposes(method.type, purposes[method.id])
    for service in document.services:
        endpoint.check_fragment(service.fragment)
        if service.id != f"{document.did}#{service.fragment}":
            raise InvalidDocument("The service id belongs to another DID.", details={"id": service.id[:640]})
        endpoint.check_type(service.type)
        endpoint.check_uri(service.endpoint, "serviceEndpoint")
    for alias in document.also_known_as:
        endpoint.check_uri(alias, "alsoKnownAs")
    _unique("id", [*(method.id for method in document.methods), *(service.id for service in document.services)])
    _unique("alsoKnownAs", document.also_known_as)


def check_count(member: str, count: int, most: int) -> None:
    """Check a maximum. Raises ``InvalidDocument``: when ``member`` has more than ``most`` entries."""
    if count > most:
        raise InvalidDocument(
            f"{member} has too many entries.", details={"member": member, "count": count, "max": most}
        )


def _unique(member: str, values: tuple[str, ...] | list[str]) -> None:
    if len(set(values)) != len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise InvalidDocument(f"{member} is there twice.", details={"member": member, "value": twice[:640]})


def _object(value: JsonValue, allowed: frozenset[str]) -> dict[str, JsonValue]:
    if type(value) is not dict:
        raise InvalidDocument("The document, or a part of it, is not an object.")
    unknown = sorted(value.keys() - allowed)
    if unknown:
        raise InvalidDocument("The document has a member that is unknown.", details={"member": unknown[0][:128]})
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    if type(value) is not list:
        raise InvalidDocument("A member of the document is not a list.")
    return value


_LOADED: Final = frozenset({"did", "methods", "relationships", "services", "also_known_as", "contexts"})


def _fields(members: dict[str, Any]) -> dict[str, Any]:
    read_time: Callable[[str], datetime] = times.parse
    return {
        "did": members["id"],
        "methods": tuple(
            VerificationMethod(
                method["id"],
                method["type"],
                method["publicKeyMultibase"],
                read_time(method["revoked"]) if "revoked" in method else None,
            )
            for method in members.get("verificationMethod", ())
        ),
        "relationships": tuple((name, tuple(members[name])) for name in keys.RELATIONSHIPS if name in members),
        "services": tuple(
            ServiceEntry(service["id"], service["type"], service["serviceEndpoint"])
            for service in members.get("service", ())
        ),
        "also_known_as": tuple(members.get("alsoKnownAs", ())),
        "contexts": tuple(context for context in SERVICE_CONTEXTS if context in members.get("@context", ())),
    }
