"""The handlers of the tag ``credentials``: parse, call, render."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.api import credential_parse, credential_render, did_parse
from identity_core.api.request import Answer, Request
from identity_core.use_cases.credentials.create_schema import CreateCredentialSchema
from identity_core.use_cases.credentials.get import GetCredential
from identity_core.use_cases.credentials.get_schema import GetCredentialSchema
from identity_core.use_cases.credentials.get_status_list import GetStatusList
from identity_core.use_cases.credentials.import_signed import ImportCredential
from identity_core.use_cases.credentials.issue import IssueCredential
from identity_core.use_cases.credentials.list import ListCredentials
from identity_core.use_cases.credentials.list_schemas import ListCredentialSchemas
from identity_core.use_cases.credentials.set_status import SetCredentialStatus
from identity_core.use_cases.credentials.verify import VerifyCredential
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class CredentialHandlers:
    """createCredentialSchema, listCredentialSchemas, getCredentialSchema, issueCredential, importCredential, listCredentials,
    getCredential, setCredentialStatus, verifyCredential, getStatusList."""

    reader: DidReader
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
        body = request.body
        registered = await self.create_schema(body.get("id"), body["attributes"], did_parse.occasion(request))
        return credential_render.created_schema(registered, request.authenticated)

    async def list_credential_schemas(self, request: Request) -> Answer:
        limit = request.query.get("limit", 50)
        after = did_parse.cursor(request.query.get("cursor"))
        return credential_render.schemas(await self.list_schemas(after=after, limit=limit))

    async def get_credential_schema(self, request: Request) -> Answer:
        return credential_render.shown_schema(await self.get_schema(request.path["schemaId"]))

    async def issue_credential(self, request: Request) -> Answer:
        new = credential_parse.new_credential(request.body, self.reader.parse)
        return credential_render.stored(
            await self.issue(new, did_parse.occasion(request)), self.base_url, request.authenticated
        )

    async def import_credential(self, request: Request) -> Answer:
        new = credential_parse.new_credential(request.body, self.reader.parse)
        shown = await self.import_signed(new, request.body["signature"], did_parse.occasion(request))
        return credential_render.stored(shown, self.base_url, request.authenticated)

    async def list_credentials(self, request: Request) -> Answer:
        limit = request.query.get("limit", 50)
        wanted = credential_parse.wanted(request.query, self.reader.parse)
        after = credential_parse.position(request.query.get("cursor"))
        rows = await self.list(wanted, did_parse.occasion(request), after=after, limit=limit + 1)
        return credential_render.credentials(rows, limit, request.authenticated)

    async def get_credential(self, request: Request) -> Answer:
        seen = await self.get(request.path["credentialId"], did_parse.occasion(request))
        return credential_render.found(seen, self.base_url, request.authenticated)

    async def set_credential_status(self, request: Request) -> Answer:
        body = request.body
        purpose = credential_parse.purpose(body["purpose"])
        changed = await self.set_status(
            request.path["credentialId"], purpose, body["value"], body.get("reason"), did_parse.occasion(request)
        )
        return credential_render.changed(changed, request.authenticated)

    async def verify_credential(self, request: Request) -> Answer:
        return credential_render.verdict(await self.verify(request.body["credential"]))

    async def get_status_list(self, request: Request) -> Answer:
        made = await self.status_list(request.path["statusListId"])
        if did_parse.etag_matches(request.header("if-none-match"), credential_render.etag(made)):
            return credential_render.status_list_holds(made)
        return credential_render.status_list(made)
