"""The syntax of DID URLs (DID Core §3.2), in ASCII, and their dereferencing in a document (DID Resolution §5).

Left out on purpose: DID parameters other than those of a version or a service, and paths, to which no method here gives a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes

import orjson
from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.dids import keys
from identity_core.domain.dids.did import Did, check_uri
from identity_core.domain.inputs import URI, echoed
from identity_core.errors import DidUrlNotFound, FeatureNotSupported, InvalidDidUrl, InvalidDocument, InvalidRequest

MAX_DID_URL: Final = 2048
_PCHAR: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_TAIL: Final = rf"(?P<query>\?(?:{_PCHAR}|[/?])*)?(?P<fragment>#(?:{_PCHAR}|[/?])*)?"
_REST: Final = re.compile(rf"(?P<path>(?:/{_PCHAR}*)*){_TAIL}", re.ASCII)
# What an IRI may have beside a URI (RFC 3987 §2.2), without the formatting characters of RFC 3987 §4.1.
_NOT_ASCII: Final = re.compile(
    r"[\u00a0-\u200d\u2010-\u2029\u202f-\u2065\u206a-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U000effff]+"
)
# A relative reference without an authority: its first segment has no colon, and it does not begin with two slashes (RFC 3986 §4.2).
_RELATIVE: Final = re.compile(rf"(?!//)(?![^/?#]*:)(?P<path>(?:{_PCHAR}|/)*){_TAIL}", re.ASCII)
_BASE: Final = re.compile(r"(?P<origin>[^:/?#]+:(?://[^/?#]*)?)(?P<path>[^?#]*)(?P<query>\?[^#]*)?")
_END_OF_DID: Final = re.compile(r"[/?#]")
_VERSION: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_KNOWN: Final = ("versionId", "versionTime", "service", "relativeRef")


class DidUrl(Struct, frozen=True, kw_only=True):
    """A DID, and the parts of a DID URL after it. ``version_time`` is text as it came."""

    did: Did
    version_id: int | None = None
    version_time: str | None = None
    service: str | None = None
    relative_ref: str | None = None
    fragment: str | None = None

    @classmethod
    def parse(cls, text: str) -> DidUrl:
        """Raise ``InvalidDid``; ``InvalidDidUrl`` for what follows it, and ``FeatureNotSupported`` for a path or another parameter."""
        end = _END_OF_DID.search(text)
        did = Did.parse(text if end is None else text[: end.start()])
        if end is None:
            return cls(did=did)
        match = _REST.fullmatch(text, end.start()) if len(text) <= MAX_DID_URL else None
        if match is None:
            raise _invalid(text)
        if match["path"]:
            raise FeatureNotSupported("No DID method here gives a meaning to a path.", details={"feature": "path"})
        said = _parameters(text, (match["query"] or "")[1:])
        version_id = said.get("versionId")
        if version_id is not None and _VERSION.fullmatch(version_id) is None:
            raise _invalid(text, parameter="versionId")
        return cls(
            did=did,
            version_id=None if version_id is None else int(version_id),
            version_time=said.get("versionTime"),
            service=said.get("service"),
            relative_ref=said.get("relativeRef"),
            fragment=(match["fragment"] or "")[1:] or None,
        )

    def with_options(
        self, version_id: int | None, version_time: str | None, service: str | None, relative_ref: str | None
    ) -> DidUrl:
        """Return the DID URL with the options beside it. Raises ``InvalidRequest``: when one stands in both."""
        beside = (version_id, version_time, service, relative_ref)
        inside = (self.version_id, self.version_time, self.service, self.relative_ref)
        if any(one is not None and other is not None for one, other in zip(beside, inside, strict=True)):
            raise InvalidRequest("An option stands in the DID URL and beside it.")
        return replace(
            self,
            version_id=self.version_id or version_id,
            version_time=self.version_time or version_time,
            service=self.service or service,
            relative_ref=relative_ref if self.relative_ref is None else self.relative_ref,
        )


def _parameters(text: str, query: str) -> Mapping[str, str]:
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
            said[name] = unquote_to_bytes(value).decode()
        except ValueError:
            raise _invalid(text, parameter=name) from None
    return said


def secondary_resource(did: Did, document: bytes, fragment: str) -> Mapping[str, JsonValue]:
    """Return the verification method or service of ``document`` (JSON bytes) with this fragment. Raises ``DidUrlNotFound``."""
    for item in _identified(orjson.loads(document)):
        if item.get("id") in (f"{did}#{fragment}", f"#{fragment}"):
            return item
    raise DidUrlNotFound(details={"did": str(did), "fragment": echoed(fragment, URI)})


def _identified(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield each part of a document with an id, also a method inside a relationship (DID Core §5.3)."""
    for member in ("verificationMethod", "service", *keys.RELATIONSHIPS):
        yield from (item for item in document.get(member, ()) if isinstance(item, dict))


def endpoint(did: Did, document: bytes, url: DidUrl) -> str:
    """Return the URI of the service that ``url`` names, with its relative reference and its fragment (DID Resolution §5.1).

    Of a set the first URI counts, and a map has none. Raises ``DidUrlNotFound``: when the document has no such service or URI.
    Raises ``InvalidDidUrl``: when the reference is not a relative
    reference without an authority, when the result has another origin or is not an absolute URI, or when both have a fragment."""
    services = orjson.loads(document).get("service", ())
    names = (f"{did}#{url.service}", f"#{url.service}")
    found = next((one for one in services if isinstance(one, dict) and one.get("id") in names), None)
    said = None if found is None else found.get("serviceEndpoint")
    address = next((one for one in (said if isinstance(said, list) else [said]) if isinstance(one, str)), None)
    if address is None:
        reason = (
            {}
            if said is None
            else {"reason": "Its endpoint is a map and no URI: dereference the service by its fragment."}
        )
        raise DidUrlNotFound(details={"did": str(did), "service": echoed(url.service or "", URI), **reason})
    if url.relative_ref is not None:
        address = resolve_reference(address, url.relative_ref)
    if url.fragment is not None:
        if "#" in address:
            raise _invalid(address, parameter="fragment")
        address = f"{address}#{url.fragment}"
    try:
        check_uri(address, "serviceEndpoint")
    except InvalidDocument as error:
        raise InvalidDidUrl(str(error), details=error.details) from error
    return address


def resolve_reference(base: str, reference: str) -> str:
    """Resolve ``reference`` against the absolute URI ``base`` (RFC 3986 §5.2.2).

    Characters outside of ASCII are percent-encoded as UTF-8 (RFC 3987 §3.1).
    Raises ``InvalidDidUrl``: when ``base`` has no authority, when ``reference`` has a scheme, an authority or a malformed character, or
    when the origin changes."""
    start = _BASE.match(base)
    match = _RELATIVE.fullmatch(_NOT_ASCII.sub(lambda found: quote(found[0]), reference))
    if start is None or match is None or "//" not in start["origin"]:
        raise _invalid(reference, parameter="relativeRef")
    path, query = match["path"], match["query"]
    if not path:
        path, query = start["path"], query or start["query"]
    else:
        folder, slash, _ = ("", "", "") if path.startswith("/") else start["path"].rpartition("/")
        root = "/" if "/" in start["origin"] and not path.startswith("/") else ""
        path = _without_dots(folder + (slash or root) + path)
    resolved = start["origin"] + path + (query or "") + (match["fragment"] or "")
    end = _BASE.match(resolved)
    if end is None or end["origin"] != start["origin"]:
        raise _invalid(reference, parameter="relativeRef")
    return resolved


def _without_dots(path: str) -> str:
    """Remove the dot segments of ``path`` (RFC 3986 §5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            kept = kept[:-1] or ([""] if kept else [])
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept if segments[-1] not in (".", "..") else [*kept, ""])


def _invalid(text: str, **details: JsonValue) -> InvalidDidUrl:
    return InvalidDidUrl(details={"didUrl": echoed(text, URI), **details})
