"""did:jwk (https://github.com/quartzjer/did-jwk/blob/main/spec.md) for public keys of every kind.

The identifier is base64url of the UTF-8 of a JWK, and ``expand`` is all there is: no DID of the method is created or recorded here, so
none signs in. The document is that of the specification to the letter, relationships that a key cannot serve included, because
everybody else who resolves the DID has it so.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

from identity_did_ids import foreign
from identity_did_ids.chain import DraftedEntry

from identity_codec import jwk, multibase, strict_json
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import Change
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import InvalidDid, InvalidDocument

EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Of a DID that is in no log: it is taken to have been there since the epoch."""

CONTEXTS: Final = ("https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1")
_SIGNING: Final = tuple(name for name in keys.RELATIONSHIPS if name != keys.KEY_AGREEMENT)
_PURPOSES: Final = {"sig": _SIGNING, "enc": (keys.KEY_AGREEMENT,)}
SUPPORTED: Final = ("Ed25519", "X25519", "P-256")
"""Curves of which a weak or malformed key is refused. Keys of other kinds are shown as they are."""

TRAITS: Final[dict[str, bool]] = json.loads(files(__package__).joinpath("traits.json").read_bytes())


class DidJwk:
    """``DescribedDidMethod``: pure, and only expands."""

    name = "jwk"
    mutable = False
    traits = TRAITS
    # RFC 8037 appendix A.2: a key that is public in both halves.
    test_identifiers = (
        "did:jwk:eyJrdHkiOiJPS1AiLCJjcnYiOiJFZDI1NTE5IiwieCI6IjExcVlBWUt4Q3JmVlNfN1R5V1FIT2c3aGN2UGFwaU1scndJYWFQY0hVUm8ifQ",
    )

    def check(self, did: Did) -> None:
        """Raise ``InvalidDid`` unless the identifier is a public JWK, and not a weak key of a supported curve."""
        self.expand(did)

    def expand(self, did: Did) -> DidState:
        """Return the whole state, from the identifier alone."""
        try:
            if did.method != self.name:
                raise ValueError("another method")
            key = strict_json.loads(multibase.base64url_decode(did.identifier))
            if not jwk.is_public(key):
                raise ValueError("no public JWK")
            if key.get("crv") in SUPPORTED:
                keys.PublicKey.from_jwk(key)
            return foreign.build_foreign_state(did, _members(str(did), key), EVER)
        except (ValueError, InvalidDocument) as error:
            # The identifier may be a private key, so that nothing of it comes back.
            raise InvalidDid("The DID is not a did:jwk of a public key.", details={"did": did.safe_text}) from error

    def draft(self, state: DidState | None, change: Change, at: datetime, *, signer: str) -> DraftedEntry:
        """Refuses."""
        raise InvalidDocument("A did:jwk is not created here and never changes: it is its key.")

    def apply(self, state: DidState | None, entry: bytes) -> DidState:
        """Refuses."""
        raise LogInvalid("A did:jwk has no entries.")


def _members(did: str, key: dict[str, Any]) -> dict[str, Any]:
    key_id = f"{did}#0"
    return {
        "@context": [*CONTEXTS],
        "id": did,
        "verificationMethod": [{"id": key_id, "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": key}],
        **{name: [key_id] for name in _PURPOSES.get(str(key.get("use")), keys.RELATIONSHIPS)},
    }
