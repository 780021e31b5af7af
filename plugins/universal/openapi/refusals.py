"""Examples of refusals in the forms of DID Resolution and DID Registration, for the build of the document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from identity_universal.problems import problem, registration_error

Json = dict[str, Any]


def refused_identifier(error: Json) -> Json:
    """Return a `RefusedIdentifier` with this error."""
    metadata = {"error": problem(error["code"], error["message"])._asdict()}
    resolution = {"didDocument": None, "didDocumentMetadata": {}, "didResolutionMetadata": metadata}
    content = {"content": None, "contentStream": None, "contentMetadata": {}, "dereferencingMetadata": metadata}
    return {"error": error, **resolution, **content}


def refused_registration(error: Json) -> Json:
    """Return a `RefusedRegistration` with this error."""
    kind = registration_error(error["code"])
    state = {"state": "failed", **({} if kind is None else {"error": kind}), "reason": error["message"]}
    metadata = {"code": error["code"], "requestId": error["details"]["requestId"]}
    return {
        "error": error,
        "jobId": None,
        "didState": state,
        "didRegistrationMetadata": metadata,
        "didDocumentMetadata": {},
    }


# The schemas of refusals that follow another standard: their media type, and what an error is in them.
REFUSALS: Final[dict[str, tuple[str, Callable[[Json], Json]]]] = {
    "RefusedIdentifier": ("application/did-resolution", refused_identifier),
    "RefusedRegistration": ("application/json", refused_registration),
}
