"""Proof of possession of a BBS key: whoever lists the key in a DID document has its private half (zk-suite-2.md §1, (1.1)).

Without it anybody may list the public key of an issuer, and that issuer's credentials then verify as issued by the DID that
copied it. What is signed names the DID, the key id and the key, and no messages::

    BBS.Sign(sk, header = "IDENTITY-SERVICE-BBS-POP-V1:" ‖ JCS{"did", "id", "publicKeyMultibase"}, messages = ())      (1.1)

No other header of this service begins with that tag, and no custodian signs one that does. Left out: keys of foreign methods,
whose documents have no place for the proof, and did:key, where the DID is the key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from identity_core.codec import jcs, multikey
from identity_core.domain.document import DidDocument
from identity_core.domain.keys import KeyPair
from identity_core.errors import InvalidDocument

TAG: Final = b"IDENTITY-SERVICE-BBS-POP-V1:"
MOST_AT_ONCE: Final = 3
"""So many keys may join in one version. A pairing is dear, and nobody needs more: what a single request costs stays small."""

Possession = bytes | Callable[[str], bytes]
"""The 80 octets of a proof, or what makes them from the DID: a self-certifying DID is known only after its first entry is drafted."""


def header(did: str, multibase: str) -> bytes:
    """What the key signs."""
    return TAG + jcs.canonicalize({"did": did, "id": f"{did}#{multibase}", "publicKeyMultibase": multibase})


def prove(did: str, multibase: str, secret: bytes) -> bytes:
    """The proof by the raw 32-octet secret of the key. Raises ``InvalidKey``."""
    from identity_core.crypto.bbs import interface
    from identity_core.crypto.bbs.suite import ciphersuite
    from identity_core.crypto.bls12381 import select

    public = multikey.decode_public(multibase)[1]
    return interface.sign(ciphersuite(select()), secret, public, header(did, multibase), ())


def of_pair(pair: KeyPair) -> Possession | None:
    """How a key that was made here proves itself; None for one that is no BBS key."""
    return None if pair.type != multikey.BLS12381G2 else lambda did: prove(did, pair.public, pair.secret_raw)


def require(
    did: str, before: DidDocument | None, after: DidDocument, offered: Mapping[str, Possession]
) -> dict[str, bytes]:
    """The proofs of exactly the BBS keys that ``after`` has and ``before`` has not, by multikey and each of them good. Raises
    ``InvalidDocument``."""
    known = set() if before is None else {method.multibase for method in before.methods}
    fresh = [
        method.multibase
        for method in after.methods
        if method.type == multikey.BLS12381G2 and method.multibase not in known
    ]
    if not offered.keys() <= set(fresh):
        raise InvalidDocument("A proof of possession belongs to a Bls12381G2Key2020 key that is new; leave it out.")
    if len(fresh) > MOST_AT_ONCE:
        raise InvalidDocument(
            "Too many Bls12381G2Key2020 keys join at once; add the others in further versions.",
            details={"count": len(fresh), "max": MOST_AT_ONCE},
        )
    proofs: dict[str, bytes] = {}
    for multibase in fresh:
        if multibase not in offered:
            raise InvalidDocument(
                _BY_UPDATE if before is None else "A Bls12381G2Key2020 key comes with its proofOfPossession.",
                details={"publicKeyMultibase": multibase},
            )
        possession = offered[multibase]
        proofs[multibase] = possession if isinstance(possession, bytes) else possession(did)
    for multibase, proof in proofs.items():
        if not _is_good(did, multibase, proof):
            raise InvalidDocument(
                "The proof of possession is not one of this key for this DID: sign the did, id and publicKeyMultibase as they"
                " will stand in the document.",
                details={"publicKeyMultibase": multibase},
            )
    return proofs


_BY_UPDATE: Final = (
    "A Bls12381G2Key2020 key of your own names its DID in a proof of possession: create the DID without it, then add it with"
    " updateDid, addVerificationMethod and proofOfPossession."
)


# Whoever drafts an entry applies it a moment later; a pairing is the dearest part of either.
@lru_cache(maxsize=1024)
def _is_good(did: str, multibase: str, proof: bytes) -> bool:
    from identity_core.crypto.bbs import interface
    from identity_core.crypto.bbs.suite import BbsSignatureInvalid, ciphersuite
    from identity_core.crypto.bls12381 import select

    public = multikey.decode_public(multibase)[1]
    try:
        interface.verify(ciphersuite(select()), public, proof, header(did, multibase), ())
    except (BbsSignatureInvalid, ValueError):
        return False
    return True
