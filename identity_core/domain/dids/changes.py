"""Proof of possession of a BBS key: the DID that lists the key has its private half (PROTOCOL.md §2.2).

Without it anybody may list the public key of an issuer, and that issuer's credentials then verify as issued by the DID that
copied it. What is signed names the DID, the key id and the key, and no messages::

    BBS.Sign(sk, header = "IDENTITY-SERVICE-BBS-POP-V1:" ‖ JCS{"did", "id", "publicKeyMultibase"}, messages = ())      (1.1)

No other header of this service begins with that tag, and no custodian signs one that does. Left out: keys of foreign methods,
whose documents have no place for the proof, and did:key, where the DID is the key.

What may happen to a DID: one frozen value a kind of change.

A change says what is wanted; ``evolution.evolve`` decides whether it is allowed and what the next state is. Keys are
given by their multikey, without the DID, because a self-certifying DID is known only after its first entry is drafted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from identity_core.codec import jcs, multikey
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import Key
from identity_core.errors import InvalidDocument

TAG: Final = b"IDENTITY-SERVICE-BBS-POP-V1:"
MOST_AT_ONCE: Final = 3
"""So many keys may join in one version. A pairing is dear, and no one needs more: what a single request costs stays small."""

Possession = bytes | Key
"""The 80 octets of a proof, or the key that makes them when the DID is known, which is after its first entry is drafted."""


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
        offer = offered[multibase]
        proofs[multibase] = offer if isinstance(offer, bytes) else prove(did, multibase, offer.secret_raw)
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


# A draft is applied a moment later; a pairing is the dearest part of either.
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


@dataclass(frozen=True, slots=True)
class NewService:
    """A service to be added. ``fragment`` is given without ``#``; None means "derive it from the type"."""

    type: str
    endpoint: str
    fragment: str | None = None


@dataclass(frozen=True, slots=True)
class Authorization:
    """Evidence that the controller wanted a change: the challenge text and the signature over its UTF-8 bytes.

    ``scheme`` is ``DIDAuth`` or ``RecoveryKey``; ``key`` the multikey that verifies ``signature`` (64 bytes).
    """

    scheme: str
    key: str
    challenge: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Create:
    """The first entry. ``keys`` are in document order, the primary key first; ``update_keys`` may sign entries."""

    keys: tuple[Key, ...]
    update_keys: tuple[str, ...]
    services: tuple[NewService, ...] = ()
    also_known_as: tuple[str, ...] = ()
    recovery_key: str | None = None


@dataclass(frozen=True, slots=True)
class AddService:
    """A service whose fragment is new to the document."""

    service: NewService


@dataclass(frozen=True, slots=True)
class UpdateService:
    """Replaces type and endpoint of the service named by its fragment."""

    service: NewService


@dataclass(frozen=True, slots=True)
class RemoveService:
    """The service goes."""

    fragment: str


@dataclass(frozen=True, slots=True)
class AddVerificationMethod:
    """A key that the DID has never had."""

    key: Key


@dataclass(frozen=True, slots=True)
class RemoveVerificationMethod:
    """``key_id`` is the absolute DID URL of the key."""

    key_id: str


@dataclass(frozen=True, slots=True)
class SetAlsoKnownAs:
    """Replaces the whole list."""

    also_known_as: tuple[str, ...]


Operation = (
    AddService | UpdateService | RemoveService | AddVerificationMethod | RemoveVerificationMethod | SetAlsoKnownAs
)


@dataclass(frozen=True, slots=True)
class Update:
    """Several operations in one atomic version."""

    operations: tuple[Operation, ...]
    authorization: Authorization


@dataclass(frozen=True, slots=True)
class Rotate:
    """Replaces ``old_key_id`` (absolute). ``revoke_at`` is None for "at once", else the end of the grace period."""

    old_key_id: str
    new_key: Key
    revoke_at: datetime | None
    authorization: Authorization


@dataclass(frozen=True, slots=True)
class Expire:
    """The end of one or several grace periods, due at the entry's own time. It follows from an earlier rotation."""


@dataclass(frozen=True, slots=True)
class Recover:
    """A new authentication key under the recovery key, which is spent; ``recovery_key`` is its successor."""

    new_key: Key
    revoke_all: bool
    recovery_key: str
    authorization: Authorization


@dataclass(frozen=True, slots=True)
class Deactivate:
    """The end of the DID, for good."""

    authorization: Authorization


Change = Create | Update | Rotate | Expire | Recover | Deactivate


def possessions(change: Change) -> dict[str, Possession]:
    """The proofs of possession that come with the keys of a change, or will be made of them, by multikey."""
    new_keys: tuple[Key, ...] = ()
    match change:
        case Create():
            new_keys = change.keys
        case Update():
            new_keys = tuple(step.key for step in change.operations if isinstance(step, AddVerificationMethod))
        case Rotate() | Recover():
            new_keys = (change.new_key,)
    offered: dict[str, Possession] = {}
    for key in new_keys:
        if key.possession is not None:
            offered[key.public] = key.possession
        elif key.secret is not None and key.type == multikey.BLS12381G2:
            offered[key.public] = key
    return offered
