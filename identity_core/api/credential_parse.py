"""From the wire to what the credential use cases take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from identity_core.api.did_parse import cursor, time_of
from identity_core.domain import times
from identity_core.domain.credential import CredentialStatus, StatusPurpose
from identity_core.domain.did import Did
from identity_core.errors import InvalidRequest
from identity_core.ports.credentials import CredentialFilter, CredentialPosition
from identity_core.use_cases.credentials.intake import NewCredential


def new_credential(body: Mapping[str, Any], did: Callable[[str], Did]) -> NewCredential:
    """The body of issueCredential and importCredential. ``did`` parses."""
    valid_from, valid_until = body.get("validFrom"), body.get("validUntil")
    return NewCredential(
        issuer=did(body["issuerDid"]),
        holder=did(body["holderDid"]),
        schema_id=body["schemaId"],
        attributes=body["attributes"],
        valid_from=None if valid_from is None else time_of(valid_from, "validFrom"),
        valid_until=None if valid_until is None else time_of(valid_until, "validUntil"),
        verification_method=body.get("verificationMethod"),
    )


def purpose(text: str) -> StatusPurpose:
    """What is set or lifted. Raises ``InvalidRequest``."""
    try:
        return StatusPurpose(text)
    except ValueError:
        raise InvalidRequest("The purpose is revocation or suspension.", details={"member": "purpose"}) from None


def wanted(query: Mapping[str, Any], did: Callable[[str], Did]) -> CredentialFilter:
    """The filter of listCredentials."""
    holder, issuer, status = query.get("holderDid"), query.get("issuerDid"), query.get("status")
    return CredentialFilter(
        holder=None if holder is None else str(did(holder)),
        issuer=None if issuer is None else str(did(issuer)),
        status=None if status is None else CredentialStatus(status),
    )


def position(text: str | None) -> CredentialPosition | None:
    """Where the last page ended. Raises ``InvalidRequest`` for a cursor that is none of ours."""
    inner = cursor(text)
    if inner is None:
        return None
    at, _, credential_id = inner.partition(" ")
    try:
        return CredentialPosition(times.parse(at), credential_id)
    except ValueError as error:
        raise InvalidRequest("The cursor is not one of ours.", details={"parameter": "cursor"}) from error
