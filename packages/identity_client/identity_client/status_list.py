"""The status of a credential, read without the service from a list of any source (Bitstring Status List 1.0)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Mapping
from typing import Any, Final

from identity_client.data_integrity import check_proof
from identity_codec import multibase

ENTRIES: Final = 131_072
"""Places of a list (§6.1: the least that hides a credential)."""
GZIP: Final = 31
"""The name of the gzip format in zlib."""
_OCTETS: Final = ENTRIES // 8
_PLACE: Final = re.compile(r"0|[1-9][0-9]{0,5}", re.ASCII)


class StatusListRefused(ValueError):
    """The bytes, handles or times are not those of a valid status list; the text is the reason, and quotes nothing secret."""


def read_status(status_list: Mapping[str, Any], entry: Mapping[str, Any], signers: Collection[str]) -> bool:
    """Return whether the credential with ``entry`` in its ``credentialStatus`` is revoked, or suspended, by the answer of getStatusList.

    ``signers`` are multikeys that may sign the list: ``updateKeys`` of a log that was verified. A list contains no change that was made
    after it. Raises ``StatusListRefused`` unless it is the list that the entry names, and by one of them (§3.2).
    """
    try:
        body = {name: status_list[name] for name in status_list if name != "proof"}
        proof, subject, place = status_list["proof"], body["credentialSubject"], entry["statusListIndex"]
        named = (entry["type"], entry["statusListCredential"], entry["statusPurpose"])
        is_that_list = named == ("BitstringStatusListEntry", body["id"], subject["statusPurpose"])
        if not is_that_list or "BitstringStatusListCredential" not in list(body["type"]):
            raise ValueError("it is not the one of the entry")
        signer = check_proof(proof, body, signers)
        if body["issuer"] != f"did:key:{signer}" or proof["@context"] != body["@context"]:
            raise ValueError("the proof is not the issuer's, or of another context")
        bits = _unpacked(subject["encodedList"])
        if _PLACE.fullmatch(place) is None or int(place) >= ENTRIES:
            raise ValueError("it has no such place")
    except (KeyError, TypeError, AttributeError, ValueError, zlib.error) as error:
        raise StatusListRefused(f"the list proves nothing: {error}") from error
    return bool(bits[int(place) // 8] & 0x80 >> int(place) % 8)


def _unpacked(encoded: str) -> bytes:
    """Return the bits; no more of them are unpacked than a list has."""
    if not encoded.startswith("u"):
        raise ValueError("the bits are not multibase base64url")
    unpacking = zlib.decompressobj(wbits=GZIP)
    bits = unpacking.decompress(multibase.base64url_decode(encoded[1:]), _OCTETS + 1)
    if len(bits) != _OCTETS or not unpacking.eof or unpacking.unused_data:
        raise ValueError("the list has another number of bits")
    return bits
