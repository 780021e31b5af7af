"""The status of a credential, read without the service from a list that anybody may have handed on (Bitstring Status List 1.0)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Mapping
from typing import Any, Final

from identity_codec import multibase
from identity_core.domain.credentials.status_list import ENTRIES, GZIP, StatusListRefused
from identity_core.domain.dids.log.entry import check_proof
from identity_core.domain.dids.state import LogInvalid

_OCTETS: Final = ENTRIES // 8
_PLACE: Final = re.compile(r"0|[1-9][0-9]{0,5}", re.ASCII)


def read_status(status_list: Mapping[str, Any], entry: Mapping[str, Any], signers: Collection[str]) -> bool:
    """Whether the credential with the ``entry`` in its ``credentialStatus`` is revoked, or suspended, by the answer of getStatusList.

    ``signers`` are multikeys that may sign the list: ``updateKeys`` of a log that was verified. A list tells nothing of what was changed
    after it was made. Raises ``StatusListRefused`` unless it is the list that the entry names, and by one of them (§3.2).
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
    except (LogInvalid, KeyError, TypeError, AttributeError, ValueError, zlib.error) as error:
        raise StatusListRefused(f"the list proves nothing: {error}") from error
    return bool(bits[int(place) // 8] & 0x80 >> int(place) % 8)


def _unpacked(encoded: str) -> bytes:
    """The bits; no more of them are unpacked than a list has."""
    if not encoded.startswith("u"):
        raise ValueError("the bits are not multibase base64url")
    unpacking = zlib.decompressobj(wbits=GZIP)
    bits = unpacking.decompress(multibase.base64url_decode(encoded[1:]), _OCTETS + 1)
    if len(bits) != _OCTETS or not unpacking.eof or unpacking.unused_data:
        raise ValueError("the list has another number of bits")
    return bits
