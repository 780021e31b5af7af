"""Jobs of DIF DID Registration (https://identity.foundation/did-registration/#jobid), of which nothing is stored.

A ``jobId`` is all that the next request would have to repeat, in base64url. Nothing of it is trusted: the challenge is known by its MAC
and binds the body, so whoever alters either has signed something else. The digest only tells a client that what it repeats
beside the ``jobId`` is not what it began with.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from identity_core.codec import multibase, strict_json
from identity_core.codec.structs import encode
from identity_core.domain.dids import challenge
from identity_core.errors import InvalidRequest
from identity_core.values import value_class

_MEMBERS: Final = {"body", "challenge", "digest"}
# 64 octets; the last character of base64 has four bits that nothing is in.
_SIGNATURE: Final = re.compile(r"[A-Za-z0-9+/_-]{85}[AQgw](?:==)?", re.ASCII)
_STANDARD: Final = str.maketrans("-_", "+/")


@value_class
class RegistrationJob:
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
        """Raises ``InvalidRequest`` for what is not of the form of a job; whether this service made it is not known."""
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
        """Raises ``InvalidRequest`` where a request says of ``documents``, which it need not repeat, something else than the first did."""
        if documents and digest(documents) != self.digest:
            raise InvalidRequest("The job was begun with another document: leave it out, or begin anew.")


def digest(documents: Mapping[str, Any]) -> str:
    """Of what a request says of documents, by its members. Raises ``InvalidRequest`` for JSON that has no canonical form."""
    try:
        return challenge.hash_body(dict(documents))
    except ValueError as error:
        raise InvalidRequest("The document has a number that JCS cannot write.") from error


def signature(text: str) -> bytes:
    """The 64 octets of a signature in base64 of either alphabet. Raises ``InvalidRequest``."""
    if _SIGNATURE.fullmatch(text) is None:
        raise InvalidRequest("A signature is base64 of 64 octets.", details={"member": "signature"})
    return base64.b64decode(text.translate(_STANDARD).rstrip("=") + "==")
