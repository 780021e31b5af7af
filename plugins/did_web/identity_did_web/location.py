"""From a did:web DID to where its document is published (did:web Method Specification, "Read (Resolve)").

``did:web:example.com%3A8443:users:hana`` is ``https://example.com:8443/users/hana/did.json``. Stricter than the specification,
so that a DID means one place: the host is a domain name of two labels at least, in lower case, never an address; ``%3A`` has one
spelling; a path climbs nowhere.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import Final

from msgspec import Struct

from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(rf"(?P<name>(?:{_LABEL}\.)+(?P<top>{_LABEL}))(?:%3A(?P<port>[1-9][0-9]{{0,4}}))?", re.ASCII)
# An address has a number for its last label (WHATWG URL, "ends in a number"), and no domain does.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_HTTPS: Final = 443


class Location(Struct, frozen=True):
    """``target`` is the path of the document, percent-encoded."""

    host: str
    port: int
    target: str


def locate(did: Did) -> Location:
    """Return the location of the document. Raises ``InvalidDid``."""
    host, *path = did.identifier.split(":")
    match = _HOST.fullmatch(host)
    port = int(match["port"] or _HTTPS) if match else 0
    if did.method != "web" or match is None or port > 65535 or len(match["name"]) > 253:
        raise InvalidDid("The host is not a domain name in lower case.", details={"did": did.safe_text})
    if _NUMBER.fullmatch(match["top"]) is not None:
        raise InvalidDid("The host is an address.", details={"did": did.safe_text})
    for segment in path:
        plain = urllib.parse.unquote(segment, errors="replace")
        if plain in ("", ".", "..") or not plain.isprintable() or set("/\\?#%\ufffd") & set(plain):
            raise InvalidDid("The path leaves its place.", details={"did": did.safe_text})
    return Location(match["name"], port, f"/{'/'.join(path or ('.well-known',))}/did.json")
