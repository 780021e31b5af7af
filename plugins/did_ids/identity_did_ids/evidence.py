"""Permissions to change a DID, the evidence of a requested change, and the possession of a listed BBS key.

A change under DIDAuth or RecoveryKey carries the challenge and the signature over it. The checks run when a change is drafted and
when a log is read years later. So they need only the state before the change and the time of the entry. The challenge's origin is
not checked, because a log does not contain where it was served.

``require_possession`` demands the proof of possession of each new BBS key (``identity_client.possession``). Without it, a DID could
list the public key of an issuer. Credentials of that issuer would then verify as issued by this DID.

No other header of this service begins with that tag, and no custodian signs one that does. Exempt are keys of foreign methods,
whose documents have no place for the proof, and did:key, where the DID is the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from identity_client import challenge
from identity_client.challenge import DID_AUTH, RECOVERY_KEY, Challenge
from identity_client.possession import possession_header
from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.domain.dids.changes import (
    AddVerificationMethod,
    Authorization,
    Change,
    Create,
    Deactivate,
    Recover,
    RemoveVerificationMethod,
    Rotate,
    SetStrictEvidence,
    SetWitnesses,
    Update,
    has_step,
)
from identity_core.domain.dids.document import DidDocument
from identity_core.domain.dids.keys import Key
from identity_core.domain.dids.state import DidState, SpentChallenge, authentication_keys, digest
from identity_core.errors import AuthFailed, Forbidden, InvalidDocument
from identity_did_ids import change_json

MAX_LIFETIME: Final = timedelta(days=1)
"""A challenge that lives longer would have to be remembered as spent for as long."""

UNBOUND: Final = (
    "This change needs strictEvidence: sign a challenge that names the purpose and the hash of the body"
    " (purpose and bodyHash of getDidAuthChallenge)."
)

Authorized = Update | Rotate | Recover | Deactivate
"""The changes that need a controller's signature."""


def purpose_of(change: Authorized) -> str:
    """Return the challenge purpose of a change."""
    match change:
        case Update():
            return challenge.UPDATE
        case Rotate():
            return challenge.ROTATE
        case Recover():
            return challenge.RECOVER
        case Deactivate():
            return challenge.DEACTIVATE


def may(state: DidState, key: str, change: Change, at: datetime, *, strict: bool) -> None:
    """Require that the multikey ``key`` may make this change at ``at``.

    A key in grace may authenticate and change services and names. If ``strict``, it must not deactivate, rotate, remove or add
    keys, because a stolen key would outlive its own rotation. Nor may it replace the witnesses.

    Raises ``AuthFailed``: when the key does not control the DID. Raises ``Forbidden``: when the key is in grace and the change is
    withheld from such keys.
    """
    if isinstance(change, Recover):
        if state.recovery_key is None or key != state.recovery_key:
            raise AuthFailed
        return
    if key not in authentication_keys(state, at):
        raise AuthFailed
    method = state.document.method(f"{state.document.did}#{key}")
    if strict and method is not None and method.revoked is not None and _touches_control(change):
        raise Forbidden("A key in its grace period cannot do this.", details={"keyId": method.id})


def _touches_control(change: Change) -> bool:
    if isinstance(change, Update):
        kept = AddVerificationMethod | RemoveVerificationMethod | SetWitnesses | SetStrictEvidence
        return any(isinstance(step, kept) for step in change.operations)
    return True


def admit(state: DidState, change: Authorized, at: datetime, *, strict: bool) -> SpentChallenge:
    """Check the authorization of a change except its signature. Return the challenge that it uses.

    Raises ``AuthFailed`` or ``Forbidden``.
    """
    authorization = change.authorization
    if authorization.scheme != (RECOVERY_KEY if isinstance(change, Recover) else DID_AUTH):
        raise AuthFailed
    may(state, authorization.key, change, at, strict=strict)
    try:
        offered = Challenge.parse(authorization.challenge)
    except ValueError as error:
        raise AuthFailed from error
    if offered.did != state.document.did or offered.purpose not in (None, purpose_of(change)):
        raise AuthFailed
    if not timedelta(0) < offered.expires_at - at <= MAX_LIFETIME:
        raise AuthFailed
    if is_strict(state, change):
        _require_bound(state.document.did, change, offered)
    spent = SpentChallenge(digest(authorization.challenge), offered.expires_at)
    if any(known.digest == spent.digest for known in state.spent_challenges):
        raise AuthFailed
    return spent


def is_strict(state: DidState, change: Authorized) -> bool:
    """Return whether the evidence of ``change`` must be bound to it: from the first entry on, or from the entry that begins the
    rule."""
    return state.strict_evidence or has_step(change, SetStrictEvidence)


def unbound_changes(state: DidState, change: Authorized) -> int | None:
    """Return how many changes up to this one the holder of the log key could have recorded with a signature for something else.

    None if the log holds no evidence. An entry without a body counts, because it cannot be compared with its challenge. A
    deactivation whose challenge names purpose and body does not count, because its body adds nothing to its purpose.
    """
    if state.unbound_changes is None or is_strict(state, change):
        return state.unbound_changes
    offered = Challenge.parse(change.authorization.challenge)
    is_bound = isinstance(change, Deactivate) and None not in (offered.purpose, offered.body_hash)
    return state.unbound_changes + (not is_bound)


def _require_bound(did: str, change: Authorized, offered: Challenge) -> None:
    """Require a challenge that names the purpose and the hash of the body, and a body that requests exactly this change.

    For a deactivation the hash is enough: its body adds only a reason, which no log may contain. Raises ``AuthFailed``.
    """
    if offered.purpose is None or offered.body_hash is None:
        raise AuthFailed(UNBOUND, details={"purpose": purpose_of(change)})
    if isinstance(change, Deactivate):
        return
    body, hashed = change.authorization.body, change.authorization.body_hash
    if not isinstance(body, dict) or (hashed or challenge.hash_body(body)) != offered.body_hash:
        raise AuthFailed
    try:
        if not change_json.asks_for(body, change, did):
            raise AuthFailed
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AuthFailed from error


def strip_body(state: DidState | None, change: Change) -> Change:
    """Return the change as its entry stores it: with the body if the log requires bodies, but never with that of a deactivation."""
    if not isinstance(change, Authorized) or change.authorization.body is None:
        return change
    if state is not None and is_strict(state, change) and not isinstance(change, Deactivate):
        return change
    return replace(change, authorization=replace(change.authorization, body=None, body_hash=None))


def verify(authorization: Authorization) -> None:
    """Verify the signature of the challenge's UTF-8 bytes by the key. Raises ``AuthFailed``."""
    try:
        name, raw = multikey.decode_public(authorization.key)
        if name != multikey.ED25519:
            raise AuthFailed
        ed25519.verify(raw, authorization.challenge.encode(), authorization.signature)
    except (ValueError, ed25519.Ed25519SignatureInvalid) as error:
        raise AuthFailed from error


MOST_BBS_KEYS_AT_ONCE: Final = 3
"""Maximum number of keys that one version may add. A pairing is expensive, so this limits the work of a single request."""

Possession = bytes | Key
"""The 80 bytes of a proof, or the key that makes them when the DID is known, which is after its first entry is drafted."""


def require_possession(
    did: str, before: DidDocument | None, after: DidDocument, offered: Mapping[str, Possession]
) -> dict[str, bytes]:
    """Return the proofs of the BBS keys that ``after`` has and ``before`` lacks, by multikey. Raises ``InvalidDocument``: when a
    proof is missing, superfluous or invalid, or more than ``MOST_BBS_KEYS_AT_ONCE`` keys are new."""
    fresh = [method.multibase for method in after.methods if method.type == multikey.BLS12381G2]
    if before is not None and fresh:
        known = {method.multibase for method in before.methods}
        fresh = [multibase for multibase in fresh if multibase not in known]
    if not fresh and not offered:
        return {}
    if not offered.keys() <= set(fresh):
        raise InvalidDocument("A proof of possession belongs to a Bls12381G2Key2020 key that is new; leave it out.")
    if len(fresh) > MOST_BBS_KEYS_AT_ONCE:
        raise InvalidDocument(
            "Too many Bls12381G2Key2020 keys join at once; add the others in further versions.",
            details={"count": len(fresh), "max": MOST_BBS_KEYS_AT_ONCE},
        )
    proofs: dict[str, bytes] = {}
    for multibase in fresh:
        if multibase not in offered:
            raise InvalidDocument(
                _BY_UPDATE if before is None else "A Bls12381G2Key2020 key comes with its proofOfPossession.",
                details={"publicKeyMultibase": multibase, **_HOW_TO_PROVE},
            )
        offer = offered[multibase]
        proof = _prove(did, offer) if isinstance(offer, Key) else offer if _is_good(did, multibase, offer) else None
        if proof is None:
            raise InvalidDocument(
                "The proof of possession is not one of this key for this DID: sign the did, id and publicKeyMultibase as they"
                " will stand in the document.",
                details={"publicKeyMultibase": multibase, **_HOW_TO_PROVE},
            )
        proofs[multibase] = proof
    return proofs


_HOW_TO_PROVE: Final = {
    "remedy": "Sign with the key as docUrl describes, and send proofOfPossession; or let rotateDidKey make the key.",
    "docUrl": "/openapi.json#/components/schemas/ProofOfPossession",
}
_BY_UPDATE: Final = (
    "A Bls12381G2Key2020 key of your own names its DID in a proof of possession: create the DID without it, then add it with"
    " updateDid, addVerificationMethod and proofOfPossession."
)


# A draft is applied a moment later; a pairing is the dearest part of either.
@lru_cache(maxsize=1024)
def _is_good(did: str, multibase: str, proof: bytes) -> bool:
    from identity_bbs import interface
    from identity_bbs.bls12381 import select
    from identity_bbs.suite import BbsSignatureInvalid, ciphersuite

    public = multikey.decode_public(multibase)[1]
    try:
        interface.verify(ciphersuite(select()), public, proof, possession_header(did, multibase), ())
    except (BbsSignatureInvalid, ValueError):
        return False
    return True


def _prove(did: str, key: Key) -> bytes | None:
    """Make the proof of a key whose secret is here. None if a fault made it wrong, because no other reader would accept such a DID."""
    from identity_bbs import interface
    from identity_bbs.bls12381 import select
    from identity_bbs.suite import BbsSignatureInvalid, ciphersuite

    public, header = multikey.decode_public(key.public)[1], possession_header(did, key.public)
    try:
        return interface.sign_checked(ciphersuite(select()), key.secret_raw, public, header, ())
    except (BbsSignatureInvalid, ValueError):
        return None


def possessions(change: Change) -> dict[str, Possession]:
    """Return the proofs of possession that accompany the keys of a change, or the keys to make them with, by multikey."""
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
