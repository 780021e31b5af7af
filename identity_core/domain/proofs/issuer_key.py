"""The DID whose document has the key of a proof, and the names of version 1.0 of ``identity_client.issuer_key``."""

from __future__ import annotations

from identity_client.issuer_key import (
    MANY_KEYS,
    absolute,
    agent_key_of,
    assertion_key,
    assertion_multikey,
    has_many_keys,
    signing_keys,
)
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid

__all__ = [
    "MANY_KEYS", "absolute", "agent_key_of", "assertion_key", "assertion_multikey", "controller_of", "has_many_keys", "signing_keys"
]  # fmt: skip


def controller_of(method_id: str) -> Did:
    """Return the DID whose document has the verification method. Raises ``InvalidDid``: when the id is not a DID URL with a fragment."""
    text, _, fragment = method_id.partition("#")
    if not fragment:
        raise InvalidDid(details={"did": Did.parse(text).shown})
    return Did.parse(text)
