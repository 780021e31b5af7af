"""createCredentialSchema: an ordered list of typed attributes, for good."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from identity_core.domain import schema_json
from identity_core.domain.did import Did
from identity_core.errors import Conflict, Forbidden, InvalidSchema
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CredentialSchemas, RegisteredSchema
from identity_core.use_cases.credentials.access import WRITE
from identity_core.use_cases.credentials.journal import CredentialJournal
from identity_core.use_cases.dids.writer import RequestContext

# A schema is named by a URI, because the credential's data model wants one (VC 2.0 §4.11).
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]{1,31}:[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]{1,220}", re.ASCII)

_UUID: Final = re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CreateCredentialSchema:
    """An API key with the scope may register any id; a DID those that are its own: its DID URLs, addresses below its own place at
    this service (``places`` and the DID), and UUIDs, which are nobody's. Raises ``Forbidden`` for another, ``InvalidSchema``, and
    ``Conflict`` for an id that is taken, also by the same schema: nobody can tell whose it would then be."""

    schemas: CredentialSchemas
    journal: CredentialJournal
    clock: Clock
    random: Callable[[int], bytes]
    places: str

    async def __call__(
        self, schema_id: str | None, attributes: Sequence[Mapping[str, Any]], occasion: RequestContext
    ) -> RegisteredSchema:
        occasion.caller.require_scope(WRITE)
        if schema_id is None:
            schema_id = f"urn:uuid:{uuid.UUID(bytes=self.random(16), version=4)}"
        elif _URI.fullmatch(schema_id) is None:
            raise InvalidSchema(details={"reason": "the id of a schema is an absolute URI of at most 252 characters"})
        elif occasion.caller.person is not None and not self._is_of(occasion.caller.person, schema_id):
            own = [f"{occasion.caller.person}#…", f"{self.places}{occasion.caller.person}/…", "urn:uuid:…"]
            raise Forbidden(
                "The id of this schema is not the caller's to give.", details={"id": schema_id, "own": [*own]}
            )
        schema_json.check_size(attributes)
        now = self.clock.now()
        registered = RegisteredSchema(schema_json.read(schema_id, attributes), now, occasion.caller.author)
        if not await self.schemas.add(registered):
            raise Conflict("A schema has this id already; schemas do not change.", details={"id": schema_id})
        await self.journal.line(occasion, schema_id, now, {"attributes": len(attributes)})
        return registered

    def _is_of(self, did: Did, schema_id: str) -> bool:
        own = (f"{did}/", f"{did}?", f"{did}#", f"{self.places}{did}/")
        # Dots would lead out of the place again, for whoever resolves them.
        below = schema_id.startswith(own) and ".." not in schema_id and "%2e" not in schema_id.lower()
        return below or _UUID.fullmatch(schema_id) is not None
