"""Bitstring Status List 1.0: which list and bit say whether a credential is revoked or suspended.

Each issuer has lists of 131,072 places (§6.1: the least that hides a credential in a herd). A credential has one place, used
in two lists, one for each purpose. ``status_index`` counts through all lists of the issuer, so that list number and bit follow
from it. Left out on purpose: lists of several bits an entry, status messages, the time-to-live within the credential
(``Cache-Control`` has it).
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
"""A list takes half as many credentials as it has places, so that a random place is free at every second try."""

GZIP: Final = 31
"""What zlib calls the gzip format."""

VC_CONTEXT: Final = "https://www.w3.org/ns/credentials/v2"

_TAG: Final = "identity status list v1"
_LIST_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)


def list_id(issuer: Did, number: int) -> str:
    """The id of an issuer's list: 22 characters that follow from the issuer."""
    return multibase.base64url_encode(hashlib.sha256(f"{_TAG}\n{issuer}\n{number}".encode()).digest()[:16])


def public_id(list_: str, purpose: StatusPurpose) -> str:
    """How a list of one purpose is called in its address."""
    return f"{list_}-{purpose.value}"


def parse_public_id(text: str) -> tuple[str, StatusPurpose]:
    """List and purpose of a name in an address. Raises ``ValueError``."""
    list_, _, purpose = text.rpartition("-")
    if _LIST_ID.fullmatch(list_) is None or purpose not in {one.value for one in StatusPurpose}:
        raise ValueError("no status list is called so")
    return list_, StatusPurpose(purpose)


def entries(issuer: Did, status_index: int, base_url: str) -> list[dict[str, str]]:
    """The ``credentialStatus`` of a credential: where its two bits are."""
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
    """``encodedList``: the bits, first place leftmost, compressed, as multibase base64url (§3.1)."""
    bits = bytearray(ENTRIES // 8)
    for place in places:
        bits[place // 8] |= 0x80 >> place % 8
    # zlib writes no time into the head, so that the same bits are the same text.
    return "u" + multibase.base64url_encode(zlib.compress(bytes(bits), level=6, wbits=GZIP))


def unsigned(
    list_: str, purpose: StatusPurpose, places: Iterable[int], *, issuer: str, base_url: str, valid_from: datetime
) -> dict[str, Any]:
    """The ``BitstringStatusListCredential`` (§3.2) without its proof. ``issuer`` is its signer."""
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
    """The bytes, handles or times are not those of a list of signed gaps; the text says why, and is safe to show."""
