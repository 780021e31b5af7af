"""DID URLs (DID Core §3.2) and what they lead to in a document (DID Resolution §5), in ASCII, full match.

Left out on purpose: DID parameters other than those of a version or a service, and paths, to which no method here gives a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_to_bytes, urljoin

import orjson

from identity_core.domain.dids import keys
from identity_core.domain.dids.did import Did, check_uri
from identity_core.domain.echo import URI, echoed
from identity_core.errors import DidUrlNotFound, FeatureNotSupported, InvalidDidUrl, InvalidDocument, JsonValue

MAX_DID_URL: Final = 2048
_PCHAR: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_REST: Final = re.compile(
    rf"(?P<path>(?:/{_PCHAR}*)*)(?:\?(?P<query>(?:{_PCHAR}|[/?])*))?(?:#(?P<fragment>(?:{_PCHAR}|[/?])*))?", re.ASCII
)
_END_OF_DID: Final = re.compile(r"[/?#]")
_VERSION: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_KNOWN: Final = ("versionId", "versionTime", "service", "relativeRef")


@dataclass(frozen=True, slots=True, kw_only=True)
class DidUrl:
    """A DID, and what a DID URL says after it. ``version_time`` is text as it came."""

    did: Did
    version_id: int | None = None
    version_time: str | None = None
    service: str | None = None
    relative_ref: str | None = None
    fragment: str | None = None

    @classmethod
    def parse(cls, text: str) -> DidUrl:
        """Raises ``InvalidDid``; ``InvalidDidUrl`` for what follows it, and ``FeatureNotSupported`` for a path or another parameter."""
        end = _END_OF_DID.search(text)
        did = Did.parse(text if end is None else text[: end.start()])
        if end is None:
            return cls(did=did)
        match = _REST.fullmatch(text, end.start()) if len(text) <= MAX_DID_URL else None
        if match is None:
            raise _invalid(text)
        if match["path"]:
            raise FeatureNotSupported("No DID method here gives a meaning to a path.", details={"feature": "path"})
        said = _parameters(text, match["query"])
        version_id = said.get("versionId")
        if version_id is not None and _VERSION.fullmatch(version_id) is None:
            raise _invalid(text, parameter="versionId")
        return cls(
            did=did,
            version_id=None if version_id is None else int(version_id),
            version_time=said.get("versionTime"),
            service=said.get("service"),
            relative_ref=said.get("relativeRef"),
            fragment=match["fragment"] or None,
        )


def _parameters(text: str, query: str | None) -> Mapping[str, str]:
    said: dict[str, str] = {}
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        if name not in _KNOWN:
            parameter = echoed(name, URI)
            raise FeatureNotSupported(
                "The DID URL has a parameter that is not known here.", details={"feature": parameter}
            )
        if name in said:
            raise _invalid(text, parameter=name)
        try:
            said[name] = unquote_to_bytes(value).decode("ascii")
        except ValueError:
            raise _invalid(text, parameter=name) from None
    return said


def secondary_resource(did: Did, document: bytes, fragment: str) -> Mapping[str, JsonValue]:
    """The verification method or service of ``document`` (JSON octets) with this fragment. Raises ``DidUrlNotFound``."""
    for item in _identified(orjson.loads(document)):
        if item.get("id") in (f"{did}#{fragment}", f"#{fragment}"):
            return item
    raise DidUrlNotFound(details={"did": str(did), "fragment": echoed(fragment, URI)})


def _identified(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What has an id of its own in a document: also a method that stands where it is used (DID Core §5.3)."""
    for member in ("verificationMethod", "service", *keys.RELATIONSHIPS):
        yield from (item for item in document.get(member, ()) if isinstance(item, dict))


def endpoint(did: Did, document: bytes, url: DidUrl) -> str:
    """Where the service that ``url`` names is, with its relative reference resolved (RFC 3986 §5) and its fragment (DID Resolution §5.1).

    Raises ``DidUrlNotFound``, ``InvalidDidUrl`` for a reference that leads to another host, and for what is no absolute URI then."""
    services = orjson.loads(document).get("service", ())
    names = (f"{did}#{url.service}", f"#{url.service}")
    found = next((one for one in services if isinstance(one, dict) and one.get("id") in names), None)
    address = None if found is None else found.get("serviceEndpoint")
    if not isinstance(address, str):
        raise DidUrlNotFound(details={"did": str(did), "service": echoed(url.service or "", URI)})
    if url.relative_ref is not None:
        reference = url.relative_ref
        # One with a scheme or a host would lead wherever the sender likes, in the name of the DID.
        if reference.startswith(("//", "/\\", "\\")) or ":" in reference.partition("/")[0].partition("?")[0]:
            raise _invalid(reference, parameter="relativeRef")
        address = urljoin(address, reference)
    if url.fragment is not None and "#" not in address:
        address = f"{address}#{url.fragment}"
    try:
        check_uri(address, "serviceEndpoint")
    except InvalidDocument as error:
        raise InvalidDidUrl(str(error), details=error.details) from error
    return address


def _invalid(text: str, **details: JsonValue) -> InvalidDidUrl:
    return InvalidDidUrl(details={"didUrl": echoed(text, URI), **details})
