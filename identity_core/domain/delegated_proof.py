"""What ``POST /zkp/delegated-proofs`` asks and gives, free of HTTP.

``read_value`` is the one look at a predicate's value before its type is known: floats have no canonical pin and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from identity_core.domain.anchor import Anchor
from identity_core.domain.did import Did
from identity_core.domain.proof import ZkProof
from identity_core.errors import InvalidRequest, JsonValue

MAX_SYNC_WAIT_MS = 30_000


@dataclass(frozen=True, slots=True)
class RequestedPredicate:
    """The ``ZKPredicate`` of a request. ``value`` is None only where ``has_value`` is False: null is no target value."""

    attribute: str
    type: str
    value: JsonValue = field(repr=False)
    has_value: bool


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """A ``DelegatedProofRequest``. ``ibct`` is the object exactly as it was received, because its signature covers just that;
    ``digest`` is the SHA-256 of the JCS of the whole body, to which nonce and id of the IBCT are bound. ``sync_wait_ms`` is
    clamped already."""

    holder: Did
    agent: Did
    credential_id: str
    asked: RequestedPredicate
    ibct: Mapping[str, str] = field(repr=False)
    anchor: bool
    sync_wait_ms: int
    challenge: str | None
    domain: str | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class DelegatedProof:
    """The ``DelegatedProofResult``; its ``proofId`` is that of ``proof``."""

    delegation_id: str
    proof: ZkProof
    anchor: Anchor | None


def read_value(value: JsonValue) -> JsonValue:
    """``value`` when it may be a target: a string, an integer, a boolean, or an array of such. Floats are refused at every place,
    because 1.0 and 1 would share a pin. Raises ``InvalidRequest``."""
    for element in value if isinstance(value, list) else (value,):
        if not isinstance(element, (str, int)):
            raise InvalidRequest(
                "A predicate's value is a string, an integer, a boolean, or an array of these.",
                details={"member": "predicate.value"},
            )
    return value
