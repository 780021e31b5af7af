"""Token Status List (draft-ietf-oauth-status-list): shows a verifier of a wallet's copy whether its credential is still in force.

It has the places of the issuer's Bitstring Status Lists (``domain/credentials/status_list.py``), with two bits each. Other kinds of
status that a credential may name are refused. All errors are ``ValueError``, whose text quotes nothing.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from identity_client.status_list import ENTRIES
from identity_codec import multibase
from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.credential import Credential, CredentialStatus
from identity_core.domain.credentials.status_list import list_id

TYPE: Final = "statuslist+jwt"
PATH: Final = "/openid/status/"
BITS: Final = 2
LIFE: Final = timedelta(days=1)
"""How long a list may be believed at most."""
SERVED: Final = timedelta(hours=1)
"""How long it is served before it is signed anew, so that what is fetched may be believed for some time."""
FRESH: Final = timedelta(minutes=5)
"""How long a verifier need not ask again (``ttl``)."""
VALUES: Final = {CredentialStatus.REVOKED: 1, CredentialStatus.SUSPENDED: 2}
"""The values that are not 0 (draft-ietf-oauth-status-list §7.1)."""

_PLACE: Final = re.compile(rf"{re.escape(PATH)}([A-Za-z0-9_-]{{22}})", re.ASCII)


class StatusReference(Struct, frozen=True):
    """The place of a copy's status: the place ``index`` of the list ``list_id`` of this service."""

    list_id: str
    index: int


def reference(credential: Credential, origin: str) -> dict[str, JsonValue]:
    """Return the claim ``status`` of a copy (§6.1)."""
    number, place = divmod(credential.status_index, ENTRIES)
    return {"status_list": {"idx": place, "uri": origin + PATH + list_id(credential.issuer, number)}}


def referred(claims: Mapping[str, Any], origin: str) -> StatusReference | None:
    """Return what the claim ``status`` names; None where there is none. Raises for a status that is kept elsewhere, or of another
    kind."""
    if "status" not in claims:
        return None
    status = claims["status"]
    listed = status.get("status_list") if isinstance(status, dict) else None
    if not isinstance(listed, dict):
        raise ValueError("its status is of a kind that is not read here")
    index, uri = listed.get("idx"), listed.get("uri")
    # bool is an int.
    if type(index) is not int or not isinstance(uri, str):
        raise ValueError("its status names no place of a list")
    found = _PLACE.fullmatch(uri.removeprefix(origin)) if uri.startswith(origin) else None
    if found is None:
        raise ValueError("its status is not stored here, nor requested elsewhere")
    if not 0 <= index < ENTRIES:
        raise ValueError("its status names no place of a list")
    return StatusReference(found[1], index)


def encoded(places: Mapping[CredentialStatus, Iterable[int]]) -> str:
    """``lst``: two bits a place, the first in the lowest bits, compressed by zlib, in base64url (§4.1)."""
    data = bytearray(ENTRIES * BITS // 8)
    for status, listed in places.items():
        for place in listed:
            data[place * BITS // 8] |= VALUES[status] << place * BITS % 8
    return multibase.base64url_encode(zlib.compress(bytes(data), level=9))


def claims(issuer: str, address: str, listed: str, made: datetime) -> dict[str, JsonValue]:
    """Return the claims of the Status List Token (§5.1). ``listed`` is what ``encoded`` gives."""
    return {
        "iss": issuer,
        "sub": address,
        "iat": int(made.timestamp()),
        "exp": int((made + LIFE).timestamp()),
        "ttl": int(FRESH.total_seconds()),
        "status_list": {"bits": BITS, "lst": listed},
    }
