"""DID syntax (DID Core §3.1), in ASCII, full match, one form.

``did_url`` parses DID URLs.

The module also checks the references of a document: service endpoints, service types and fragments, other names (RFC 3986, DID Core §5.4).

The service never fetches them, so addresses of private networks are allowed. A URI that a careless client might execute, or that has a
password, is not allowed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final

from msgspec import Struct

from identity_client.did import split_did
from identity_core.domain.inputs import DID, TERM, URI, echoed
from identity_core.errors import InvalidDid, InvalidDocument

# The JSON-LD contexts of services, of each type whose specification publishes one. They are never fetched.
DIDCOMM: Final = "https://didcomm.org/messaging/contexts/v2"
# In the order in which a document lists them.
_BY_TYPE: Final = {
    "DIDCommMessaging": DIDCOMM,
    "LinkedDomains": "https://identity.foundation/.well-known/did-configuration/v1",
    "LinkedVerifiablePresentation": "https://identity.foundation/linked-vp/contexts/v1",
}
SERVICE_CONTEXTS: Final = tuple(_BY_TYPE.values())

# Characters of a path segment (RFC 3986 §3.3) that a DID has percent-encoded only.
_ENCODED = re.compile(r"[!$&'()*+,;=@~]")
_REMEDY: Final = "A DID has this character percent-encoded; in a path its percent sign is %25, such as %2540 for %40."


class Did(Struct, frozen=True):
    """A parsed DID. Its text is well-formed."""

    text: str
    method: str
    identifier: str

    @classmethod
    def parse(cls, text: str) -> Did:
        """Parse a DID. Raises ``InvalidDid``: when the text is malformed."""
        return _parsed(text)

    def __str__(self) -> str:
        return self.text

    @property
    def safe_text(self) -> str:
        """Return the part of an unknown DID that an error may repeat: its identifier may be a private key
        (``domain/inputs.py``)."""
        return echoed(self.text, DID)


# One request parses the same few DIDs repeatedly: from its body, its token, and each row that names them.
@lru_cache(maxsize=1024)
def _parsed(text: str) -> Did:
    try:
        return Did(text, *split_did(text))
    except ValueError as error:
        remedy = {"remedy": _REMEDY} if _ENCODED.search(text) else {}
        raise InvalidDid(details={"did": echoed(text, DID), **remedy}) from error


def controller_of(method_id: str) -> Did:
    """Return the DID whose document has the verification method. Raises ``InvalidDid``: when the id is not a DID URL with a fragment."""
    text, _, fragment = method_id.partition("#")
    did = Did.parse(text)
    if not fragment:
        raise InvalidDid(details={"did": did.safe_text})
    return did


MAX_URI: Final = 2048

_URI: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,31}):"
    r"(?://(?P<authority>[^/?#]*))?"
    r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*"
    r"(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
    r"(?:#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?",
    re.ASCII,
)
_AUTHORITY: Final = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
_WITH_HOST: Final = frozenset({"http", "https", "ws", "wss", "ftp", "ftps"})
# Schemes that a browser executes, or that refer to the reader's own machine.
_REFUSED: Final = frozenset(
    {"javascript", "vbscript", "livescript", "data", "blob", "file", "filesystem", "jar", "about", "view-source"}
)
_FRAGMENT: Final = re.compile(r"[A-Za-z0-9._~-]{1,64}", re.ASCII)
_TYPE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:/#?=&%+-]{0,255}", re.ASCII)


def check_uri(text: str, member: str) -> None:
    """Check a URI. Raises ``InvalidDocument``: unless ``text`` is an absolute ASCII URI of at most 2,048 characters, without credentials
    and without a scheme that runs code or reads local files."""
    why = f"is longer than {MAX_URI} characters" if len(text) > MAX_URI else _fault(_URI.fullmatch(text))
    if why is not None:
        raise InvalidDocument(
            f"{member} {why}.", details={"value": echoed(text, URI), "reason": "uri", "member": member}
        )


def _fault(match: re.Match[str] | None) -> str | None:
    if match is None:
        return "is not an absolute URI"
    scheme, authority = match["scheme"].lower(), match["authority"]
    if scheme in _REFUSED:
        return "has a scheme that is not allowed"
    if authority is None and scheme not in _WITH_HOST:
        return "is empty" if match.end() == match.end("scheme") + 1 else None
    if authority is not None and "@" in authority:
        return "must not carry credentials"
    if not authority:
        return "names no host" if scheme in _WITH_HOST else None
    named = _AUTHORITY.fullmatch(authority)
    if named is None or (named["port"] is not None and int(named["port"]) > 65535) or not _is_host(named["host"]):
        return "has a malformed host or port"
    return None


def _is_host(host: str) -> bool:
    """Return whether an IP literal in brackets is an IPv6 address; a name or an IPv4 address always is one (RFC 3986 §3.2.2)."""
    try:
        return not host.startswith("[") or bool(IPv6Address(host[1:-1]))
    except ValueError:
        return False


def check_fragment(fragment: str) -> None:
    """Check a service fragment. Raises ``InvalidDocument``: unless it has 1 to 64 unreserved characters."""
    if _FRAGMENT.fullmatch(fragment) is None:
        raise InvalidDocument("The service id is not a fragment.", details={"id": echoed(fragment, TERM)})


def check_type(type_name: str) -> None:
    """Check a service type. Raises ``InvalidDocument``: unless it is a term or a URI of at most 256 ASCII characters."""
    if _TYPE.fullmatch(type_name) is None:
        raise InvalidDocument("The service type is not a term.", details={"type": echoed(type_name, TERM)})


def contexts_of(types: Sequence[str], among: Collection[str]) -> tuple[str, ...]:
    """Return the contexts of a document with services of these ``types``: those of ``among`` that it uses, and DIDComm's, which existed
    before there were logs. JSON-LD in safe mode refuses a document that has a service of another type (``openapi/DECISIONS.md``)."""
    if not types:
        return ()
    known = [context for name, context in _BY_TYPE.items() if name in types]
    return tuple([context for context in known if context == DIDCOMM or context in among])
