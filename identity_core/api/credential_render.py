"""From what the credential use cases return to the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from identity_core.api.authors import author
from identity_core.api.request import NO_STORE, Answer, cursor
from identity_core.codec.multibase import base64url_encode
from identity_core.codec.times import printed, printed_exactly
from identity_core.domain.callers import Caller
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials import verifiable_credential
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.credentials.schema import Schema
from identity_core.errors import JsonValue
from identity_core.ports.credentials import RegisteredSchema, SchemaPage
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.use_cases.credentials.status import SignedStatusList
from identity_core.use_cases.credentials.verify import CredentialVerification

PREFIX: Final = "/api/v1"
LIST_SECONDS: Final = 60
"""How long a cache may show a status list: what is revoked is seen everywhere a minute later."""

_FOR_GOOD: Final = ("Cache-Control", "public, max-age=86400, immutable")
_FOR_A_WHILE: Final = ("Cache-Control", "public, max-age=5")


def schema(registered: RegisteredSchema, reader: Caller | None) -> dict[str, Any]:
    """The JSON of a registered schema, for ``reader`` (None for everybody)."""
    return {
        **schema_json.to_json(registered.definition),
        "header": base64url_encode(registered.definition.schema.header),
        "messages": _messages(registered.definition.schema),
        "createdAt": printed(registered.created_at),
        "createdBy": author(registered.created_by, reader),
    }


def _messages(signed: Schema) -> list[JsonValue]:
    """What stands in each slot, in their order: the octets of every attribute, then the numbers of the ordered ones."""
    slots = [("hashed", attribute.name) for attribute in signed.attributes]
    slots += [("numeric", attribute.name) for attribute in signed.attributes if attribute.type.ordered]
    return [{"attributeName": name, "kind": kind} for kind, name in slots]


def created_schema(registered: RegisteredSchema, reader: Caller) -> Answer:
    """201."""
    location = f"{PREFIX}/credential-schemas/{quote(registered.definition.schema.id, safe=':')}"
    return Answer(201, schema(registered, reader), headers=[("Location", location)])


def shown_schema(registered: RegisteredSchema) -> Answer:
    """200; the schema never changes."""
    return Answer(200, schema(registered, None), headers=[_FOR_GOOD])


def schemas(page: SchemaPage) -> Answer:
    """A page of schemas."""
    following = None if page.is_last else cursor(page.items[-1].definition.schema.id)
    items = [schema(one, None) for one in page.items]
    return Answer(200, {"items": items, "nextCursor": following}, headers=[_FOR_A_WHILE])


def record(credential: Credential, shown: dict[str, JsonValue] | None, reader: Caller) -> dict[str, Any]:
    """The JSON of a record; ``shown`` is the credential itself, or None."""
    return {
        "id": credential.id,
        "issuerDid": str(credential.issuer),
        "holderDid": str(credential.holder),
        "schemaId": credential.schema.id,
        "attributeNames": [attribute.name for attribute in credential.schema.attributes],
        "verificationMethod": credential.verification_method,
        "validFrom": printed(credential.valid_from),
        "validUntil": None if credential.valid_until is None else printed(credential.valid_until),
        "status": credential.status.value,
        "statusReason": credential.status_reason,
        "version": credential.version,
        "createdAt": printed(credential.created_at),
        "createdBy": author(credential.created_by, reader),
        "credential": shown,
    }


def stored(found: ShownCredential, base_url: str, reader: Caller) -> Answer:
    """201 for a credential that has come in."""
    location = f"{PREFIX}/credentials/{quote(found.credential.id, safe=':')}"
    return Answer(201, _with_values(found, base_url, reader), headers=[NO_STORE, ("Location", location)])


def found(seen: ShownCredential, base_url: str, reader: Caller) -> Answer:
    """200, with the values for those who see them."""
    return Answer(200, _with_values(seen, base_url, reader), headers=[NO_STORE])


def changed(credential: Credential, reader: Caller) -> Answer:
    """200 after a change of the status."""
    return Answer(200, record(credential, None, reader), headers=[NO_STORE])


def credentials(rows: Sequence[Credential], limit: int, reader: Caller) -> Answer:
    """A page of records."""
    page = rows[:limit]
    following = None
    if len(rows) > limit:
        following = cursor(f"{printed_exactly(page[-1].created_at)} {page[-1].id}")
    items = [record(credential, None, reader) for credential in page]
    return Answer(200, {"items": items, "nextCursor": following}, headers=[NO_STORE])


def verdict(found: CredentialVerification) -> Answer:
    """200, whatever was found."""
    checks = [
        {"check": check.name, "ok": check.ok, "code": check.code, "reason": check.reason} for check in found.checks
    ]
    return Answer(200, {"verified": found.verified, "checks": checks}, headers=[NO_STORE])


def status_list(made: SignedStatusList) -> Answer:
    """200, for caches."""
    return Answer(200, made.octets, headers=_cached(made))


def status_list_holds(made: SignedStatusList) -> Answer:
    """304."""
    return Answer(304, headers=_cached(made))


def etag(made: SignedStatusList) -> str:
    """The entity tag of a status list."""
    return f'"{made.version}"'


def _cached(made: SignedStatusList) -> list[tuple[str, str]]:
    return [("ETag", etag(made)), ("Cache-Control", f"public, max-age={LIST_SECONDS}")]


def _with_values(seen: ShownCredential, base_url: str, reader: Caller) -> dict[str, Any]:
    shown = None
    if seen.witness is not None:
        shown = verifiable_credential.to_json(seen.credential, seen.witness, base_url)
        if not seen.to_holder:
            del shown["proof"]["proofValue"]
    return record(seen.credential, shown, reader)
