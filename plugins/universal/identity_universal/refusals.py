"""Refusals of the tags ``identifiers`` and ``registration``, in the forms of DID Resolution and of DID Registration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from identity_codec.strict_json import JsonValue
from identity_codec.structs import UNSET
from identity_core.api.request import Answer, ErrorShape, Headers
from identity_core.errors import IdentityError
from identity_core.wire import ErrorBody
from identity_universal import wire
from identity_universal.problems import problem, registration_error


def refused_identifier(error: IdentityError, details: dict[str, JsonValue], headers: Headers) -> Answer:
    """Return the results of DID Resolution and of dereferencing at once: a refusal does not know which of them was asked for."""
    found = problem(error.code, str(error))
    shown = wire.ResolutionProblem(type=found.type, title=found.title, detail=found.detail)
    body = wire.RefusedIdentifier(
        error=ErrorBody(code=error.code, message=str(error), details=details),
        did_document=None,
        did_document_metadata={},
        did_resolution_metadata=wire.ProblemMetadata(error=shown),
        content=None,
        content_stream=None,
        content_metadata={},
        dereferencing_metadata=wire.ProblemMetadata(error=shown),
    )
    return Answer(error.status, body, "application/did-resolution", headers)


def refused_registration(error: IdentityError, details: dict[str, JsonValue], headers: Headers) -> Answer:
    """Return a state of DID Registration that has failed (https://identity.foundation/did-registration/#didstatefailed)."""
    state = wire.FailedDidState(state="failed", error=registration_error(error.code) or UNSET, reason=str(error))
    body = wire.RefusedRegistration(
        error=ErrorBody(code=error.code, message=str(error), details=details),
        job_id=None,
        did_state=state,
        did_registration_metadata=wire.RefusalMetadata(code=error.code, request_id=str(details["requestId"])),
        did_document_metadata={},
    )
    return Answer(error.status, body, headers=headers)


REFUSALS: Final[Mapping[str, ErrorShape]] = {
    "RefusedIdentifier": refused_identifier,
    "RefusedRegistration": refused_registration,
}
