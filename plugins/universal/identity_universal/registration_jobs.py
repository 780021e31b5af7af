"""Jobs of DIF DID Registration (https://identity.foundation/did-registration/#jobid), of which nothing is stored.

A ``jobId`` is all that the next request would have to repeat, in base64url. Nothing of it is trusted: the challenge is known by its MAC
and binds the body, so that a change of either invalidates the signature. The digest only detects that a client repeats other members
beside the ``jobId`` than it began with.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct

from identity_client import challenge
from identity_codec import multibase, strict_json
from identity_codec.structs import UnsetType, ValidationError, convert, encode, plain
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDocument, InvalidRequest
from identity_core.wire import CreateDidRequest
from identity_universal.wire import (
    RegisterDidDeactivationRequest,
    RegisterDidQuery,
    RegisterDidUpdateRequest,
    RegistrationChangeOptions,
    RegistrationSignatures,
)

T = TypeVar("T")

SIGNING_REQUEST: Final = "signingRequest0"

_MEMBERS: Final = {"body", "challenge", "digest"}
# 64 bytes; four bits of the last character of base64 are unused.
_SIGNATURE: Final = re.compile(r"[A-Za-z0-9+/_-]{85}[AQgw](?:==)?", re.ASCII)
_STANDARD: Final = str.maketrans("-_", "+/")


class RegistrationJob(Struct, frozen=True):
    """``body`` of our own operation that the job leads to; the ``challenge`` to sign, if there is one; and the digest of what was asked."""

    body: Mapping[str, Any]
    challenge: str | None
    digest: str

    @property
    def job_id(self) -> str:
        members = {"body": self.body, "challenge": self.challenge, "digest": self.digest}
        return multibase.base64url_encode(encode(members))

    @classmethod
    def parse(cls, job_id: str) -> RegistrationJob:
        """Raise ``InvalidRequest`` for what is not of the form of a job; whether this service made it is not known."""
        try:
            members = strict_json.loads(multibase.base64url_decode(job_id))
        except ValueError:
            members = None
        if (
            type(members) is not dict
            or members.keys() != _MEMBERS
            or type(members["body"]) is not dict
            or type(members["challenge"]) not in (str, type(None))
            or type(members["digest"]) is not str
        ):
            raise InvalidRequest("The jobId is not one of ours.", details={"member": "jobId"})
        return cls(**members)

    def require_same(self, documents: Mapping[str, Any]) -> None:
        """Raise ``InvalidRequest`` if a request repeats ``documents``, which it need not, with other content than the first."""
        if documents and digest(documents) != self.digest:
            raise InvalidRequest("The job was begun with another document: leave it out, or begin anew.")


def digest(documents: Mapping[str, Any]) -> str:
    """Return the digest of the documents of a request, by member. Raises ``InvalidRequest`` for JSON that has no canonical form."""
    try:
        return challenge.hash_body(dict(documents))
    except ValueError as error:
        raise InvalidRequest("The document has a number that JCS cannot write.") from error


def signature(text: str) -> bytes:
    """Return the 64 bytes of a signature in base64 of either alphabet. Raises ``InvalidRequest``."""
    if _SIGNATURE.fullmatch(text) is None:
        raise InvalidRequest("A signature is base64 of 64 bytes.", details={"member": "signature"})
    return base64.b64decode(text.translate(_STANDARD).rstrip("=") + "==")


class SignedChange(Struct, frozen=True):
    """``body`` of our own operation, and the value of ``DIDAuth`` that came for it; neither is judged yet."""

    did: Did
    body: Mapping[str, Any]
    signed: str


def present(member: T | UnsetType | None, otherwise: T) -> T:
    """Return the member of a request, or ``otherwise`` where it is missing or null: some clients write null for what they leave out."""
    return otherwise if member is None or isinstance(member, UnsetType) else member


def present_members(**members: Any) -> dict[str, Any]:
    """Return the members that the request has."""
    return {name: value for name, value in members.items() if present(value, None) is not None}


def begun_creation(job_id: str, documents: Mapping[str, Any], query: RegisterDidQuery) -> dict[str, Any]:
    """Return the body of createDid that the first request of a job made. Raises ``InvalidRequest``."""
    job = RegistrationJob.parse(job_id)
    job.require_same(documents)
    body: dict[str, Any] = plain(typed_body(job.body, CreateDidRequest))
    if query.method not in (None, body["method"]):
        raise InvalidRequest("The job was begun for another method.", details={"parameter": "method"})
    return {"options": {}} | body


def signed_change(
    did: Did, wish: RegisterDidUpdateRequest | RegisterDidDeactivationRequest, said: Mapping[str, Any]
) -> SignedChange | None:
    """Return the signed change of a request; None for the first request of a job.

    Raises ``InvalidRequest``: also when the service is asked to sign, because only the controller has the keys."""
    if not present(present(wish.options, RegistrationChangeOptions()).client_secret_mode, False):
        remedy = "Set options.clientSecretMode to true, and sign what the answer asks for."
        raise InvalidRequest("Only the controller of a DID signs its changes.", details={"remedy": remedy})
    job_id = present(wish.job_id, None)
    responses = present(present(wish.secret, RegistrationSignatures()).signing_response, {})
    if job_id is None and not responses:
        return None
    if job_id is None or responses.keys() != {SIGNING_REQUEST}:
        raise InvalidRequest(
            "A jobId comes with the one signature that it needs.", details={"signingResponse": [SIGNING_REQUEST]}
        )
    job = RegistrationJob.parse(job_id)
    job.require_same(said)
    if job.challenge is None:
        raise InvalidRequest("The jobId is of another operation.", details={"member": "jobId"})
    return SignedChange(
        did, job.body, challenge.build_header(job.challenge, signature(responses[SIGNING_REQUEST].signature))
    )


def typed_body(body: Mapping[str, Any], kind: type[T]) -> T:
    """Convert ``body`` by the schema of our own operation. Raises ``InvalidDocument``: when the document behind it does not fit."""
    try:
        return convert(body, kind)
    except ValidationError as error:
        raise InvalidDocument("Something in the document is longer than it may be, or has another type.") from error
