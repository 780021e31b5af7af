"""The handlers of the tag ``credentials``, and the form of schemas and credentials in answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from identity_codec.multibase import base64url_encode
from identity_codec.structs import UNSET, convert
from identity_codec.times import printed, printed_or_none
from identity_core import wire
from identity_core.api.authors import author
from identity_core.api.caching import unless_known
from identity_core.api.decode import URI, cursor, page_of, position, row_position
from identity_core.api.errors import negotiate
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.callers import Caller
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.credentials.verifiable_credential import (
    BOUND_CRYPTOSUITE,
    CONTEXTS,
    CRYPTOSUITE,
    SCHEMA_TYPE,
    TYPES,
    BoundFormat,
    status_entries,
)
from identity_core.domain.proofs.proof import Witness
from identity_core.errors import NotAcceptable
from identity_core.ports.credentials import RegisteredSchema, SchemaPage
from identity_core.ports.repositories import RowPosition
from identity_core.use_cases.credentials.issue import ImportCredential, IssueCredential
from identity_core.use_cases.credentials.read import GetCredential, ListCredentials
from identity_core.use_cases.credentials.schemas import (
    CreateCredentialSchema,
    GetCredentialSchema,
    ListCredentialSchemas,
)
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.use_cases.credentials.status import GetStatusList, SetCredentialStatus

_PREFIX: Final = "/api/v1"
_JSON: Final = "application/json"
_VC: Final = "application/vc"
LIST_SECONDS: Final = 60
"""The seconds for which a cache may store a status list: a revocation is visible everywhere a minute later."""

_FOR_GOOD: Final = ("Cache-Control", "public, max-age=86400, immutable")
_FOR_A_WHILE: Final = ("Cache-Control", "public, max-age=5")


class CredentialHandlers(Struct, frozen=True):
    """Handlers of createCredentialSchema, listCredentialSchemas, getCredentialSchema, issueCredential,
    importCredential, listCredentials, getCredential, setCredentialStatus, getStatusList."""

    create_schema: CreateCredentialSchema
    list_schemas: ListCredentialSchemas
    get_schema: GetCredentialSchema
    issue: IssueCredential
    import_signed: ImportCredential
    list: ListCredentials
    get: GetCredential
    set_status: SetCredentialStatus
    status_list: GetStatusList
    base_url: str
    bound_format: BoundFormat | None

    async def create_credential_schema(self, request: Request) -> Answer:
        def show(registered: RegisteredSchema) -> Answer:
            location = f"{_PREFIX}/credential-schemas/{quote(registered.definition.schema.id, safe=':')}"
            return Answer(201, schema(registered, request.authenticated), headers=[("Location", location)])

        return show(await self.create_schema(request.body, request.showing(show)))

    async def list_credential_schemas(self, request: Request) -> Answer:
        query: wire.ListCredentialSchemasQuery = request.query
        page = await self.list_schemas(query, after=position(query.cursor, URI, "schemas "))
        return Answer(200, schemas(page), headers=[_FOR_A_WHILE])

    async def get_credential_schema(self, request: Request) -> Answer:
        registered = await self.get_schema(request.path["schemaId"])
        return Answer(200, schema(registered, None), headers=[_FOR_GOOD])

    async def issue_credential(self, request: Request) -> Answer:
        show = partial(self._stored, request)
        return show(await self.issue(request.body, request.showing(show)))

    async def import_credential(self, request: Request) -> Answer:
        show = partial(self._stored, request)
        return show(await self.import_signed(request.body, request.showing(show)))

    async def list_credentials(self, request: Request) -> Answer:
        query: wire.ListCredentialsQuery = request.query
        rows = await self.list(query, request.context, after=row_position(query.cursor, URI, "credentials "))
        return Answer(200, credentials(rows, query.limit, request.authenticated), headers=[NO_STORE])

    async def get_credential(self, request: Request) -> Answer:
        seen = await self.get(request.path["credentialId"], request.context)
        return Answer(200, describe(seen, self.base_url, self.bound_format, request.authenticated), headers=[NO_STORE])

    async def set_credential_status(self, request: Request) -> Answer:
        def show(changed: Credential) -> Answer:
            return Answer(200, record(changed, None, request.authenticated), headers=[NO_STORE])

        return show(await self.set_status(request.path["credentialId"], request.body, request.showing(show)))

    async def get_status_list(self, request: Request) -> Answer:
        made = await self.status_list(request.path["statusListId"])
        media = _list_media(request.header("accept"))
        etag = f'"{made.version}{".vc" if media == _VC else ""}"'
        headers = [("ETag", etag), ("Vary", "Accept"), ("Cache-Control", f"public, max-age={LIST_SECONDS}")]
        return unless_known(request, etag, Answer(200, made.encoded, media_type=media, headers=headers))

    def _stored(self, request: Request, found: ShownCredential) -> Answer:
        location = f"{_PREFIX}/credentials/{quote(found.credential.id, safe=':')}"
        body = describe(found, self.base_url, self.bound_format, request.authenticated)
        return Answer(201, body, headers=[NO_STORE, ("Location", location)])


def _list_media(accept: str | None) -> str:
    """Return the media type of a credential (VC Data Model 2.0, appendix C.1) if the caller accepts it."""
    try:
        return negotiate(accept, (_JSON, _VC))
    except NotAcceptable:
        # Clients that accept another type have always got JSON.
        return _JSON


def schema(registered: RegisteredSchema, reader: Caller | None) -> wire.CredentialSchema:
    """Return a registered schema for ``reader`` (None for any client)."""
    signed = registered.definition.schema
    # Schemas have one JSON form, here and in the store.
    titles = registered.titles or {}
    own = titles.get("", {})
    titled = [one | {**titles.get(str(one["name"]), {})} for one in schema_json.attributes_json(registered.definition)]
    attributes = convert(titled, tuple[wire.CredentialAttribute, ...])
    return wire.CredentialSchema(
        id=signed.id,
        title=own.get("title", UNSET),
        titles=own.get("titles", UNSET),
        attributes=attributes,
        header=base64url_encode(signed.header),
        messages=_messages(signed),
        created_at=printed(registered.created_at),
        created_by=author(registered.created_by, reader),
    )


def _messages(signed: Schema) -> tuple[wire.CredentialMessage, ...]:
    """Return the messages of all slots, in their order: the bytes of every attribute, then the numbers of the ordered
    ones."""
    slots = [("hashed", attribute.name) for attribute in signed.attributes]
    slots += [("numeric", attribute.name) for attribute in signed.attributes if attribute.type.ordered]
    return tuple(wire.CredentialMessage(attribute_name=name, kind=kind) for kind, name in slots)


def schemas(page: SchemaPage) -> wire.CredentialSchemaList:
    """Return a page of schemas."""
    following = None if page.is_last else cursor(page.items[-1].definition.schema.id, "schemas ")
    return wire.CredentialSchemaList(items=tuple(schema(one, None) for one in page.items), next_cursor=following)


def record(credential: Credential, signed: wire.VerifiableCredential | None, reader: Caller) -> wire.CredentialRecord:
    """Return a record for ``reader``. ``signed``: the credential itself, or None."""
    return wire.CredentialRecord(
        id=credential.id,
        issuer_did=str(credential.issuer),
        holder_did=str(credential.holder),
        schema_id=credential.schema.id,
        attribute_names=tuple(attribute.name for attribute in credential.schema.attributes),
        verification_method=credential.verification_method,
        valid_from=printed(credential.valid_from),
        valid_until=printed_or_none(credential.valid_until),
        status=credential.status.value,
        status_reason=credential.status_reason,
        version=credential.version,
        created_at=printed(credential.created_at),
        created_by=author(credential.created_by, reader),
        credential=signed,
        suite=credential.suite,
        holder_secret_replaced=UNSET if credential.binding is None else bool(credential.binding.secret_replaced),
    )


def describe(
    seen: ShownCredential, base_url: str, bound_format: BoundFormat | None, reader: Caller
) -> wire.CredentialRecord:
    """Return a record, with the values if ``reader`` may see them."""
    signed = None
    if seen.witness is not None:
        signed = verifiable_credential(
            *(seen.credential, seen.witness, base_url, bound_format), with_signature=seen.to_holder
        )
    return record(seen.credential, signed, reader)


def verifiable_credential(
    credential: Credential, witness: Witness, base_url: str, bound_format: BoundFormat | None, *, with_signature: bool
) -> wire.VerifiableCredential:
    """Return the input of ``domain/credentials/verifiable_credential.py``."""
    binding = credential.binding
    return wire.VerifiableCredential(
        context=CONTEXTS,
        id=credential.id,
        type=TYPES,
        issuer=str(credential.issuer),
        valid_from=printed(credential.valid_from),
        valid_until=UNSET if credential.valid_until is None else printed(credential.valid_until),
        credential_schema=wire.CredentialSchemaReference(id=credential.schema.id, type=SCHEMA_TYPE),
        credential_subject={"id": str(credential.holder), **witness.attributes},
        credential_status=convert(
            status_entries(credential, base_url, bound_format), tuple[wire.CredentialStatusEntry, ...]
        ),
        proof=wire.CredentialProof(
            type="DataIntegrityProof",
            cryptosuite=CRYPTOSUITE if binding is None else BOUND_CRYPTOSUITE,
            verification_method=credential.verification_method,
            created=printed(credential.created_at),
            proof_purpose="assertionMethod",
            proof_value="u" + base64url_encode(witness.signature) if with_signature else UNSET,
            header=UNSET if binding is None else base64url_encode(binding.header),
            commitment=UNSET if binding is None or not with_signature else base64url_encode(binding.commitment),
        ),
    )


def credentials(rows: Sequence[Credential], limit: int, reader: Caller) -> wire.CredentialList:
    """Return a page of records from ``rows``, which has at most ``limit`` + 1."""
    page, following = page_of(rows, limit, lambda one: RowPosition(one.created_at, one.id), "credentials ")
    return wire.CredentialList(items=tuple(record(one, None, reader) for one in page), next_cursor=following)
