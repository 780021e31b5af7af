"""The handlers of the tag ``credentials``: parse, call, render."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core import wire
from identity_core.api import credential_render
from identity_core.api.caching import etag_matches
from identity_core.api.request import Answer, Request, position
from identity_core.codec import times
from identity_core.errors import InvalidRequest
from identity_core.ports.credentials import CredentialPosition
from identity_core.use_cases.credentials.issue import ImportCredential, IssueCredential
from identity_core.use_cases.credentials.read import GetCredential, ListCredentials
from identity_core.use_cases.credentials.schemas import (
    CreateCredentialSchema,
    GetCredentialSchema,
    ListCredentialSchemas,
)
from identity_core.use_cases.credentials.status import GetStatusList, SetCredentialStatus
from identity_core.use_cases.credentials.verify import VerifyCredential


@dataclass(frozen=True, slots=True)
class CredentialHandlers:
    """createCredentialSchema, listCredentialSchemas, getCredentialSchema, issueCredential, importCredential, listCredentials,
    getCredential, setCredentialStatus, verifyCredential, getStatusList."""

    create_schema: CreateCredentialSchema
    list_schemas: ListCredentialSchemas
    get_schema: GetCredentialSchema
    issue: IssueCredential
    import_signed: ImportCredential
    list: ListCredentials
    get: GetCredential
    set_status: SetCredentialStatus
    verify: VerifyCredential
    status_list: GetStatusList
    base_url: str

    async def create_credential_schema(self, request: Request) -> Answer:
        registered = await self.create_schema(request.body, request.context)
        return credential_render.created_schema(registered, request.authenticated)

    async def list_credential_schemas(self, request: Request) -> Answer:
        query: wire.ListCredentialSchemasQuery = request.query
        page = await self.list_schemas(after=position(query.cursor), limit=query.limit)
        return credential_render.schemas(page)

    async def get_credential_schema(self, request: Request) -> Answer:
        return credential_render.shown_schema(await self.get_schema(request.path["schemaId"]))

    async def issue_credential(self, request: Request) -> Answer:
        shown = await self.issue(request.body, request.context)
        return credential_render.stored(shown, self.base_url, request.authenticated)

    async def import_credential(self, request: Request) -> Answer:
        shown = await self.import_signed(request.body, request.context)
        return credential_render.stored(shown, self.base_url, request.authenticated)

    async def list_credentials(self, request: Request) -> Answer:
        query: wire.ListCredentialsQuery = request.query
        rows = await self.list(query, request.context, after=credential_position(query.cursor))
        return credential_render.credentials(rows, query.limit, request.authenticated)

    async def get_credential(self, request: Request) -> Answer:
        seen = await self.get(request.path["credentialId"], request.context)
        return credential_render.found(seen, self.base_url, request.authenticated)

    async def set_credential_status(self, request: Request) -> Answer:
        changed = await self.set_status(request.path["credentialId"], request.body, request.context)
        return credential_render.changed(changed, request.authenticated)

    async def verify_credential(self, request: Request) -> Answer:
        return credential_render.verdict(await self.verify(request.body))

    async def get_status_list(self, request: Request) -> Answer:
        made = await self.status_list(request.path["statusListId"])
        if etag_matches(request.header("if-none-match"), credential_render.etag(made)):
            return credential_render.status_list_holds(made)
        return credential_render.status_list(made)


def credential_position(cursor: str | None) -> CredentialPosition | None:
    """Where the last page ended. Raises ``InvalidRequest`` for a cursor that is none of ours."""
    text = position(cursor)
    if text is None:
        return None
    at, _, credential_id = text.partition(" ")
    try:
        return CredentialPosition(times.parse(at), credential_id)
    except ValueError as error:
        raise InvalidRequest("The cursor is not one of ours.", details={"parameter": "cursor"}) from error
