"""The seal on what a credential says: attribute values and signature, closed before they reach the store (contract.md §5).

The box belongs to one credential: id, issuer, holder, schema and key are associated data, so that a box which somebody moved
to another row, or a row whose holder somebody changed, does not open. Status and version are not, because they change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from identity_core.codec import multibase
from identity_core.crypto import sealing
from identity_core.domain.credential import Credential
from identity_core.domain.proof import Witness
from identity_core.errors import InternalError


@dataclass(frozen=True, slots=True)
class CredentialSeal:
    """``key`` has 32 octets and is never printed; ``random`` is the operating system's random source."""

    key: bytes
    random: Callable[[int], bytes]

    def __repr__(self) -> str:
        return "CredentialSeal(…)"

    def close(self, credential: Credential, witness: Witness) -> bytes:
        """The box for the store."""
        plain = orjson.dumps(
            {"signature": multibase.base64url_encode(witness.signature), "attributes": dict(witness.attributes)}
        )
        return sealing.seal(self.key, plain, _bound(credential), random=self.random)

    def open(self, credential: Credential, box: bytes) -> Witness:
        """What is in the box. Raises ``InternalError`` for a box that is not this credential's."""
        try:
            plain = orjson.loads(sealing.unseal(self.key, box, _bound(credential)))
        except sealing.BoxInvalid as error:
            raise InternalError("The sealed credential cannot be opened.") from error
        return Witness(multibase.base64url_decode(plain["signature"]), plain["attributes"])


def _bound(credential: Credential) -> bytes:
    """The texts with their lengths before them, so that no two lists of texts give the same octets."""
    texts = (
        "identity credential v1",
        credential.id,
        str(credential.issuer),
        str(credential.holder),
        credential.schema.id,
        credential.verification_method,
    )
    parts = [text.encode() for text in texts] + [credential.issuer_public_key]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
