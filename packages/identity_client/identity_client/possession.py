"""The proof of possession of a BBS key: the DID that lists the key has its private half (PROTOCOL.md §2.2).

The signature covers the DID, the key id and the key, and no messages::

    BBS.Sign(sk, header = "IDENTITY-SERVICE-BBS-POP-V1:" ‖ JCS{"did", "id", "publicKeyMultibase"}, messages = ())      (1.1)

The holder of the private key makes it without the service, and any client may send it::

    method = {"type": "Bls12381G2Key2020", "publicKeyMultibase": public, "proofOfPossession": proof_of_possession(did, secret)}
"""

from __future__ import annotations

from typing import Final

from identity_codec import jcs, multibase, multikey

POSSESSION_TAG: Final = b"IDENTITY-SERVICE-BBS-POP-V1:"


def possession_header(did: str, public: str) -> bytes:
    """Return the header that the key with the multikey ``public`` signs."""
    return POSSESSION_TAG + jcs.canonicalize({"did": did, "id": f"{did}#{public}", "publicKeyMultibase": public})


def prove_possession(did: str, public: str, secret: bytes) -> bytes:
    """Return the 80-byte proof by the 32-byte secret of the key ``public``. Needs the extra ``bbs``. Raises ``InvalidKey``."""
    from identity_bbs import interface
    from identity_bbs.bls12381 import select
    from identity_bbs.suite import ciphersuite

    raw = multikey.decode_public(public)[1]
    return interface.sign(ciphersuite(select()), secret, raw, possession_header(did, public), ())


def proof_of_possession(did: str, secret_multikey: str) -> str:
    """Return the member ``proofOfPossession`` for the key of this private multikey in the document of ``did``. Needs the extra ``bbs``.
    Raises ``ValueError`` for a key that is not a BBS key."""
    kind, secret = multikey.decode_secret(secret_multikey)
    if kind != multikey.BLS12381G2:
        raise ValueError("only a Bls12381G2Key2020 key has a proof of possession")
    from identity_bbs.bls12381 import keys as bls

    public = multikey.encode_public(kind, bls.public_key(secret))
    return multibase.base64url_encode(prove_possession(did, public, secret))
