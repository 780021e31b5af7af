"""Refusals as problem details (RFC 9457) of the types that W3C DID Resolution has for its errors, and as errors of DID Registration
(https://identity.foundation/did-registration/), which are of the same names.

Without imports of the wire types: the build of the document makes its examples with it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

W3C_TYPE: Final = "https://www.w3.org/ns/did#"
# Codes without a type of DID Resolution, such as RATE_LIMITED, are told by their status (RFC 9457 §4.2.1).
_TYPES: Final = {
    "INVALID_DID": "INVALID_DID",
    "INVALID_DID_URL": "INVALID_DID_URL",
    "INVALID_DOCUMENT": "INVALID_DID_DOCUMENT",
    "INVALID_REQUEST": "INVALID_OPTIONS",
    "DID_NOT_FOUND": "NOT_FOUND",
    "DID_URL_NOT_FOUND": "NOT_FOUND",
    "NOT_ACCEPTABLE": "REPRESENTATION_NOT_SUPPORTED",
    "DID_METHOD_NOT_SUPPORTED": "METHOD_NOT_SUPPORTED",
    "FEATURE_NOT_SUPPORTED": "FEATURE_NOT_SUPPORTED",
    "INTERNAL_ERROR": "INTERNAL_ERROR",
    "DID_QUARANTINED": "INTERNAL_ERROR",
    "PLUGIN_UNAVAILABLE": "INTERNAL_ERROR",
}


class Problem(NamedTuple):
    """``type`` is a URI, the others are for people."""

    type: str
    title: str
    detail: str


def problem(code: str, message: str) -> Problem:
    """Return the problem details of an error ``code`` in DID Resolution."""
    kind = _TYPES.get(code)
    title = (kind or code).replace("_", " ").capitalize()
    return Problem("about:blank" if kind is None else W3C_TYPE + kind, title, message)


def registration_error(code: str) -> str | None:
    """Return the error of DID Registration for ``code``, or None."""
    return _TYPES.get(code)
