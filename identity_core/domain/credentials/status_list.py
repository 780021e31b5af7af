"""Bitstring Status List 1.0: the list and the bit of the status of a credential.

Each issuer has lists of 131,072 places (§6.1: the minimum for group privacy). A credential has one place, used in two lists, one for
each purpose. ``status_index`` counts through all lists of the issuer, so that it determines list number and bit. Left out on purpose:
lists of several bits an entry, status messages, the time-to-live within the credential (``Cache-Control`` has it).
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from identity_codec import multibase, times
from identity_core.domain.credentials.credential import StatusPurpose
from identity_core.domain.dids.did import Did

ENTRIES: Final = 131_072
FULL: Final = ENTRIES // 2
"""The maximum number of credentials of a list: half of its places, so that on average a random place is free at the second try."""

GZIP: Final = 31
"""The ``wbits`` argument of zlib for the gzip format."""

VC_CONTEXT: Final = "https://www.w3.org/ns/credentials/v2"

_TAG: Final = "identity status list v1"
_LIST_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)


def list_id(issuer: Did, number: int) -> str:
    """Return the id of an issuer's list: 22 characters that are derived from issuer and number."""
    return multibase.base64url_encode(hashlib.sha256(f"{_TAG}\n{issuer}\n{number}".encode()).digest()[:16])


def public_id(list_: str, purpose: StatusPurpose) -> str:
    """Return the name of a list of one purpose in its URL."""
    return f"{list_}-{purpose.value}"


def parse_public_id(text: str) -> tuple[str, StatusPurpose]:
    """Return list and purpose of a name in a URL. Raises ``ValueError``."""
    list_, _, purpose = text.rpartition("-")
    if _LIST_ID.fullmatch(list_) is None or purpose not in {one.value for one in StatusPurpose}:
        raise ValueError("no status list is called so")
    return list_, StatusPurpose(purpose)


def entries(issuer: Did, status_index: int, base_url: str) -> list[dict[str, str]]:
    """Return the ``credentialStatus`` of a credential: the places of its two bits."""
    number, place = divmod(status_index, ENTRIES)
    shown = []
    for purpose in StatusPurpose:
        address = f"{base_url}/status-lists/{public_id(list_id(issuer, number), purpose)}"
        shown.append(
            {
                "id": f"{address}#{place}",
                "type": "BitstringStatusListEntry",
                "statusPurpose": purpose.value,
                "statusListIndex": str(place),
                "statusListCredential": address,
            }
        )
    return shown


def encoded(places: Iterable[int]) -> str:
    """Return ``encodedList``: the bits, first place leftmost, compressed, as multibase base64url (§3.1)."""
    bits = bytearray(ENTRIES // 8)
    for place in places:
        bits[place // 8] |= 0x80 >> place % 8
    # zlib writes no time into the header, so that the same bits have the same text.
    return "u" + multibase.base64url_encode(zlib.compress(bytes(bits), level=6, wbits=GZIP))


def unsigned(
    list_: str, purpose: StatusPurpose, places: Iterable[int], *, issuer: str, base_url: str, valid_from: datetime
) -> dict[str, Any]:
    """Return the ``BitstringStatusListCredential`` (§3.2) without its proof. ``issuer`` is its signer."""
    address = f"{base_url}/status-lists/{public_id(list_, purpose)}"
    return {
        "@context": [VC_CONTEXT],
        "id": address,
        "type": ["VerifiableCredential", "BitstringStatusListCredential"],
        "issuer": issuer,
        "validFrom": times.printed(valid_from),
        "credentialSubject": {
            "id": f"{address}#list",
            "type": "BitstringStatusList",
            "statusPurpose": purpose.value,
            "encodedList": encoded(places),
        },
    }


class StatusListRefused(ValueError):
    """Error: the bytes, handles or times are not those of a list of signed gaps. The text states the cause, and is safe to show."""
