"""getCredentialSchema: what the issuers who use a schema sign. Public, because verifiers need it."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.errors import SchemaNotFound
from identity_core.ports.credentials import CredentialSchemas, RegisteredSchema


@dataclass(frozen=True, slots=True)
class GetCredentialSchema:
    """Raises ``SchemaNotFound``."""

    schemas: CredentialSchemas

    async def __call__(self, schema_id: str) -> RegisteredSchema:
        registered = await self.schemas.get(schema_id)
        if registered is None:
            raise SchemaNotFound
        return registered
