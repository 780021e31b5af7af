"""A working copy of a document, to which the operations of one version are applied.

Each operation refuses an invalid change of the current document, such as a service id that exists or an unknown key.
``document.check`` checks the finished document as a whole. Authorization is checked in ``evidence``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from identity_codec.values import replace
from identity_core.domain.dids import did as endpoint
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import NewService
from identity_core.domain.dids.did import SERVICE_CONTEXTS
from identity_core.domain.dids.document import DidDocument, ServiceEntry, VerificationMethod
from identity_core.domain.dids.keys import Key
from identity_core.errors import InvalidDocument


class Revision(Struct):
    """The working copy. Keys and services keep their order; new ones come last, and a successor comes before its predecessor."""

    did: str
    methods: list[VerificationMethod]
    relationships: dict[str, list[str]]
    services: list[ServiceEntry]
    also_known_as: tuple[str, ...]
    contexts: Collection[str]

    @classmethod
    def from_document(cls, document: DidDocument, contexts: Collection[str] = SERVICE_CONTEXTS) -> Revision:
        """Return a working copy, which lists the service contexts that the document listed, and ``contexts``."""
        related = {name: list(key_ids) for name, key_ids in document.relationships}
        listed = (*document.contexts, *contexts)
        methods, services = list(document.methods), list(document.services)
        return cls(document.did, methods, related, services, document.also_known_as, listed)

    def document(self) -> DidDocument:
        """Return the current document, without empty relationships."""
        found = self.relationships
        related = tuple([(name, tuple(found[name])) for name in keys.RELATIONSHIPS if found.get(name)])
        services = tuple(self.services)
        return DidDocument(self.did, tuple(self.methods), related, services, self.also_known_as, self.contexts)

    def key(self, key_id: str) -> VerificationMethod:
        """Return the key with this absolute id. Raises ``InvalidDocument``."""
        for method in self.methods:
            if method.id == key_id:
                return method
        raise InvalidDocument("The document has no such key.", details={"keyId": key_id[:640], "reason": "key"})

    def add_key(self, key: Key, *, before: str | None = None) -> None:
        """Add a key under its purposes, last or in front of the key ``before``."""
        kind = keys.key_type(key.type).name
        keys.check_purposes(kind, key.purposes)
        method = VerificationMethod(f"{self.did}#{key.public}", kind, key.public)
        if any(known.id == method.id for known in self.methods):
            raise InvalidDocument("The document has this key already.", details={"keyId": method.id[:640]})
        places = [known.id for known in self.methods]
        self.methods.insert(places.index(before) if before in places else len(places), method)
        for purpose in key.purposes:
            related = self.relationships.setdefault(purpose, [])
            related.insert(related.index(before) if before in related else len(related), method.id)

    def remove_key(self, key_id: str) -> None:
        """Remove a key from the document and from every relationship."""
        self.methods.remove(self.key(key_id))
        for related in self.relationships.values():
            if key_id in related:
                related.remove(key_id)

    def revoke_key(self, key_id: str, at: datetime) -> None:
        """Revoke a key from ``at`` on. It stays in its relationships until then."""
        method = self.key(key_id)
        self.methods[self.methods.index(method)] = replace(method, revoked=at)

    def purposes(self, key_id: str) -> tuple[str, ...]:
        """Return the relationships of a key."""
        return tuple(name for name in keys.RELATIONSHIPS if key_id in self.relationships.get(name, ()))

    def add_service(self, service: NewService) -> None:
        """Add a service; without a fragment it is named after its type."""
        taken = {known.fragment for known in self.services}
        fragment = service.fragment
        if fragment is None:
            endpoint.check_type(service.type)
            fragment = derive_fragment(service.type, taken)
        endpoint.check_fragment(fragment)
        if fragment in taken:
            raise InvalidDocument("The document has this service already.", details={"id": fragment})
        self.services.append(ServiceEntry(f"{self.did}#{fragment}", service.type, service.endpoint))

    def update_service(self, service: NewService) -> None:
        """Give an existing service another type and endpoint."""
        place = self._place(service.fragment)
        self.services[place] = ServiceEntry(self.services[place].id, service.type, service.endpoint)

    def remove_service(self, fragment: str) -> None:
        """Remove a service."""
        del self.services[self._place(fragment)]

    def _place(self, fragment: str | None) -> int:
        for place, service in enumerate(self.services):
            if service.fragment == fragment:
                return place
        raise InvalidDocument("The document has no such service.", details={"id": (fragment or "")[:80]})


def derive_fragment(type_name: str, taken: Collection[str]) -> str:
    """Return a free fragment: ``didcommmessaging-1`` for a first service of type DIDCommMessaging, ``-2`` for the second."""
    stem = re.sub(r"[^a-z0-9]+", "-", type_name.lower()).strip("-")[:56] or "service"
    ordinal = 1
    while f"{stem}-{ordinal}" in taken:
        ordinal += 1
    return f"{stem}-{ordinal}"
