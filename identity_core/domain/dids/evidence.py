"""Who may change a DID, and the evidence that they wanted to.

A change under DIDAuth or RecoveryKey carries the challenge and the signature over it. What is checked here holds when a change is
drafted and when a log is read years later, so it needs the state before the change and the time of the entry, and nothing else. The
challenge's origin is not checked: a log does not know where it was served.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.domain.dids import challenge
from identity_core.domain.dids.challenge import Challenge
from identity_core.domain.dids.changes import (
    AddVerificationMethod,
    Authorization,
    Change,
    Deactivate,
    Recover,
    RemoveVerificationMethod,
    Rotate,
    Update,
)
from identity_core.domain.dids.state import DidState, SpentChallenge, authentication_keys, digest
from identity_core.errors import AuthFailed, Forbidden

DID_AUTH: Final = "DIDAuth"
RECOVERY_KEY: Final = "RecoveryKey"

MAX_LIFETIME: Final = timedelta(days=1)
"""A challenge that lives longer would have to be remembered as spent for as long."""

Authorized = Update | Rotate | Recover | Deactivate
"""The changes that need a controller's signature."""


def purpose_of(change: Authorized) -> str:
    """The challenge purpose that stands for a change."""
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
    """Raises ``AuthFailed`` unless the multikey ``key`` is one that controls the DID at ``at``, ``Forbidden`` when it is in grace and the
    change is kept from such keys.

    A key in grace may authenticate and change services and names. Where ``strict`` holds it may not deactivate, rotate, remove
    or add keys, else a stolen key would outlive its own rotation.
    """
    if isinstance(change, Recover):
        if state.recovery_key is None or key != state.recovery_key:
            raise AuthFailed
        return
    if key not in authentication_keys(state, at):
        raise AuthFailed
    method = state.document.method(f"{state.document.did}#{key}")
    if strict and method is not None and method.revoked is not None and _touches_keys(change):
        raise Forbidden("A key in its grace period cannot do this.", details={"keyId": method.id})


def _touches_keys(change: Change) -> bool:
    if isinstance(change, Update):
        return any(isinstance(step, AddVerificationMethod | RemoveVerificationMethod) for step in change.operations)
    return True


def admit(state: DidState, change: Authorized, at: datetime, *, strict: bool) -> SpentChallenge:
    """Checks everything about a change's authorization but the signature, and returns the challenge that it spends.

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
    spent = SpentChallenge(digest(authorization.challenge), offered.expires_at)
    if any(known.digest == spent.digest for known in state.spent_challenges):
        raise AuthFailed
    return spent


def verify(authorization: Authorization) -> None:
    """Raises ``AuthFailed`` unless the signature is one of the challenge's UTF-8 bytes by the key."""
    try:
        name, raw = multikey.decode_public(authorization.key)
        if name != multikey.ED25519:
            raise AuthFailed
        ed25519.verify(raw, authorization.challenge.encode(), authorization.signature)
    except (ValueError, ed25519.Ed25519SignatureInvalid) as error:
        raise AuthFailed from error
