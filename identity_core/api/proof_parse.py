"""From the wire to a ``ProofRequest``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from identity_core.codec import jcs
from identity_core.domain.dids.did import Did
from identity_core.domain.proofs.stored import MAX_SYNC_WAIT_MS, ProofRequest, RequestedPredicate, read_value
from identity_core.errors import InvalidRequest

MAX_CHALLENGE_OCTETS: Final = 256


def proof_request(body: Mapping[str, Any], parse_did: Callable[[str], Did]) -> ProofRequest:
    """A ``DelegatedProofRequest`` that the document's schema has passed. Raises ``InvalidRequest``, ``InvalidDid``."""
    predicate = body["predicate"]
    has_value = "value" in predicate
    asked = RequestedPredicate(
        predicate["attributeName"],
        predicate["type"],
        read_value(predicate["value"]) if has_value else None,
        has_value,
    )
    return ProofRequest(
        holder=parse_did(body["holderDid"]),
        agent=parse_did(body["agentDid"]),
        credential_id=body["credentialId"],
        asked=asked,
        ibct=body["ibct"],
        anchor=body.get("anchor", False),
        sync_wait_ms=_wait(body.get("syncWaitMs", 0)),
        challenge=_challenge(body.get("challenge")),
        domain=_domain(body.get("domain")),
        digest=_digest(body),
    )


def _digest(body: Mapping[str, Any]) -> bytes:
    """What nonce and id are bound to: the body as a JSON value, however it was written."""
    try:
        return hashlib.sha256(jcs.canonicalize(dict(body))).digest()
    except ValueError as error:
        # An integer past 2^53 - 1, which two readers may take for two; as a string it is one.
        raise InvalidRequest("The body has no canonical form: send integers past 2^53 - 1 as strings.") from error


def _wait(value: int | float) -> int:
    # JSON Schema calls 1.0 an integer.
    if isinstance(value, float):
        raise InvalidRequest("syncWaitMs is an integer.", details={"member": "syncWaitMs"})
    return min(value, MAX_SYNC_WAIT_MS)


def _challenge(text: str | None) -> str | None:
    if text is not None and len(text.encode()) > MAX_CHALLENGE_OCTETS:
        raise InvalidRequest(
            f"challenge has at most {MAX_CHALLENGE_OCTETS} octets in UTF-8.", details={"member": "challenge"}
        )
    return text


def _domain(text: str | None) -> str | None:
    if text is not None and not text.isprintable():
        raise InvalidRequest("domain is of printable characters.", details={"member": "domain"})
    return text
