"""The reserved members of the data model (VC 2.0 §4), and the form that each must have."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from identity_codec import multibase, times
from identity_securing_bbs2023.contexts import VC_CONTEXT
from identity_securing_bbs2023.refused import malformed

_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|^`\\]+")
_SHA256: Final = b"\x12\x20"
PUBLISHED: Final = {VC_CONTEXT: bytes.fromhex("59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734")}
"""SHA-256 of what an address serves (VC 2.0, "Base Context")."""


def check_members(document: Mapping[str, Any]) -> None:
    """Check each reserved member, and that the required ones are present. Raises ``Malformed``."""
    for name in ("issuer", "credentialSubject"):
        if name not in document:
            malformed(f"{name} is missing")
    for name, check in _MEMBERS.items():
        if name in document and not check(document[name]):
            malformed(f"{name} has another form than the data model's")
    begins, ends = (document.get(name) for name in ("validFrom", "validUntil"))
    if begins is not None and ends is not None and times.parse(ends) < times.parse(begins):
        malformed("validUntil is before validFrom")
    for resource in _all(document.get("relatedResource", [])):
        _check_digests(resource)


def _all(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_iri(value: Any) -> bool:
    return isinstance(value, str) and _IRI.fullmatch(value) is not None


def _is_time(value: Any) -> bool:
    try:
        times.parse(value)
    except ValueError:
        return False
    return True


def _is_issuer(value: Any) -> bool:
    return _is_iri(value.get("id") if isinstance(value, dict) else value)


def _is_text(value: Any) -> bool:
    """Return a text, or texts with a language in VC 2.0."""
    return all(
        isinstance(one, str) or (isinstance(one, dict) and isinstance(one.get("@value"), str)) for one in _all(value)
    )


def _objects(*required: str) -> Callable[[Any], bool]:
    """Return one object or a set of them, each with something in it and with the ``required`` members; an ``id`` is an IRI."""

    def check(value: Any) -> bool:
        return value != [] and all(
            isinstance(one, dict)
            and one
            and all(_has(one, name) for name in (*required, *(("id",) if "id" in one else ())))
            for one in _all(value)
        )

    return check


def _has(value: Mapping[str, Any], name: str) -> bool:
    if name == "id":
        return _is_iri(value.get("id"))
    types = value.get(name)
    return bool(types) and all(isinstance(one, str) and one for one in _all(types))


_MEMBERS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "id": _is_iri,
    "issuer": _is_issuer,
    "name": _is_text,
    "description": _is_text,
    "validFrom": _is_time,
    "validUntil": _is_time,
    "credentialSubject": _objects(),
    "credentialStatus": _objects("type"),
    "credentialSchema": _objects("id", "type"),
    "refreshService": _objects("type"),
    "termsOfUse": _objects("type"),
    "evidence": _objects("type"),
    "relatedResource": _objects("id"),
}
"""VC 2.0 §4 and §5."""


def _check_digests(resource: Mapping[str, Any]) -> None:
    """Require a digest of each resource (VC 2.0 §5.3). Nothing is fetched: a digest is compared if the standard publishes it."""
    found = [*_all(resource.get("digestSRI", [])), *_all(resource.get("digestMultibase", []))]
    if not found or not all(isinstance(one, str) for one in found):
        malformed("a relatedResource has no digest")
    published = PUBLISHED.get(resource["id"])
    if published is not None and any(_sha256(one) not in (None, published) for one in found):
        malformed("the digest of a relatedResource is not the published one")


def _sha256(text: str) -> bytes | None:
    """Return the SHA-256 in a digest; None for another hash. What is not a digest is one that never matches."""
    try:
        if text.startswith("sha256-"):
            return base64.b64decode(text.removeprefix("sha256-"), validate=True)
        if text.startswith(("sha384-", "sha512-")):
            return None
        data = multibase.base64url_decode(text[1:]) if text.startswith("u") else multibase.base58btc_decode(text)
    except ValueError:
        return b""
    return data[2:] if data.startswith(_SHA256) else None
