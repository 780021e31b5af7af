"""The proof of possession that a ``Bls12381G2Key2020`` key comes with, made by the holder of its private half.

The key and its DID are all that it says (``domain/dids/changes.py`` has the octets), so it can be made anywhere and sent by anybody::

    method = {"type": "Bls12381G2Key2020", "publicKeyMultibase": public, "proofOfPossession": proof_of_possession(did, secret)}
"""

from __future__ import annotations

from identity_codec import multibase, multikey
from identity_core.domain.dids import evidence


def proof_of_possession(did: str, secret_multikey: str) -> str:
    """The member ``proofOfPossession`` for the key of this private multikey in the document of ``did``. Raises ``ValueError`` for a key
    that is no BBS key."""
    kind, secret = multikey.decode_secret(secret_multikey)
    if kind != multikey.BLS12381G2:
        raise ValueError("only a Bls12381G2Key2020 key has a proof of possession")
    from identity_bbs.bls12381 import keys as bls

    public = multikey.encode_public(kind, bls.public_key(secret))
    return multibase.base64url_encode(evidence.prove_possession(did, public, secret))
