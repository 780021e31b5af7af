"""createCredentialSchema: an ordered list of typed attributes, for good."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from identity_core.domain import schema_json
from identity_core.domain.errors import Conflict, InvalidSchema
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CredentialSchemas, RegisteredSchema
from identity_core.use_cases.credentials.access import WRITE
from identity_core.use_cases.credentials.journal import CredentialJournal
from identity_core.use_cases.dids.writer import Occasion

# A schema is named by a URI, because the credential's data model wants one (VC 2.0 §4.11).
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]{1,31}:[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]{1,220}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CreateCredentialSchema:
    """Any DID may register one, and an API key with the scope. Raises ``InvalidSchema``, ``Conflict`` for an id that is taken,
    also by the same schema: nobody can tell whose it would then be."""

    schemas: CredentialSchemas
    journal: CredentialJournal
    clock: Clock
    random: Callable[[int], bytes]

    async def __call__(
        self, schema_id: str | None, attributes: Sequence[Mapping[str, Any]], occasion: Occasion
    ) -> RegisteredSchema:
        occasion.caller.require_scope(WRITE)
        if schema_id is None:
            schema_id = f"urn:uuid:{uuid.UUID(bytes=self.random(16), version=4)}"
        elif _URI.fullmatch(schema_id) is None:
            raise InvalidSchema(details={"reason": "the id of a schema is an absolute URI of at most 252 characters"})
        schema_json.check_size(attributes)
        now = self.clock.now()
        registered = RegisteredSchema(schema_json.read(schema_id, attributes), now, occasion.caller.author)
        if not await self.schemas.add(registered):
            raise Conflict("A schema has this id already; schemas do not change.", details={"id": schema_id})
        await self.journal.line(occasion, schema_id, now, {"attributes": len(attributes)})
        return registered
