"""The holder's agreement to a proof that another party makes (PROTOCOL-2.md §5).

The keeper of the secret signs a message with fresh points K' = s·H_0 + b'·H_1, one for each credential. The prover gets ρ = b - b' and
proves possession of a signature relative to K', without s and b. K' of two consents have nothing in common; with a pseudonym the same
signature shows P = s·OP for the context that the verifier names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from identity_bbs.bls12381 import G1, ORDER
from identity_bbs.bls12381.backend import G1_OCTETS
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_bbs.bls12381.keys import hash_to_scalar
from identity_bbs.frames import frame, number, optional, scalar
from identity_bbs.openings import BLIND_SLOT, PSEUDONYM_DST, TAG, Challenge, HolderSecret, check_points, open_points
from identity_bbs.suite import Ciphersuite

CONSENT_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_CONSENT_"


class ConsentInvalid(ValueError):
    """The bytes are not a consent to this message by one holder of all the credentials."""


def pseudonym_message(context: str) -> bytes:
    """Return the message from which OP is hashed, for the context that a verifier names."""
    return frame(TAG + b"pseudonym", [context.encode()])


def consent(
    suite: Ciphersuite,
    secret: HolderSecret,
    blinds: Sequence[int],
    message: bytes,
    random: Callable[[int], bytes],
    pseudonym: str | None = None,
) -> tuple[bytes, tuple[int, ...]]:
    """Return the consent for a credential for each of the ``blinds``, and ρ = b - b' of each for the prover. Equations (5.1) – (5.3)."""
    about = frame(TAG + b"consent-masks", [*map(scalar, (secret.scalar, *blinds)), message])
    masks = HedgedScalars(TAG + b"masks", random, about)
    fresh = masks.scalars(len(blinds))
    base = None if pseudonym is None else suite.curve.hash_to_g1(pseudonym_message(pseudonym), PSEUDONYM_DST)
    data = open_points(suite, secret, fresh, base, _consent_challenge(message), masks)
    return data, tuple((blind - shown) % ORDER for blind, shown in zip(blinds, fresh, strict=True))


class CheckedConsent(NamedTuple):
    """K' of each credential, and P as bytes where there is a pseudonym."""

    points: tuple[G1, ...]
    pseudonym: bytes | None


def check_consent(
    suite: Ciphersuite, data: bytes, count: int, message: bytes, pseudonym: str | None = None
) -> CheckedConsent:
    """Raise ``ConsentInvalid`` unless one holder agrees to ``message`` with ``count`` points, and with P in the context ``pseudonym``."""
    base = None if pseudonym is None else suite.curve.hash_to_g1(pseudonym_message(pseudonym), PSEUDONYM_DST)
    try:
        points = check_points(suite, data, count, base, _consent_challenge(message))
    except ValueError as fault:
        raise ConsentInvalid(str(fault)) from None
    shown = None if base is None else data[count * G1_OCTETS : (count + 1) * G1_OCTETS]
    return CheckedConsent(tuple(points[:count]), shown)


def check_agreed(
    suite: Ciphersuite,
    data: bytes,
    rhos: Sequence[int],
    commitments: Sequence[bytes],
    message: bytes,
    pseudonym: str | None = None,
) -> None:
    """Check a consent for a prover that did not make it: it is to ``message``, and with ρ to exactly these commitments K.

    Each commitment has 48 bytes, and K = K' + ρ·H_1. Raises ``ConsentInvalid``.
    """
    curve = suite.curve
    points = check_consent(suite, data, len(commitments), message, pseudonym).points
    if len(rhos) != len(points):
        raise ConsentInvalid("there is not one difference of blinds for each credential")
    for point, rho, commitment in zip(points, rhos, commitments, strict=True):
        if curve.g1_to_octets(curve.g1_add(point, suite.combine(0, 0, (BLIND_SLOT,), (rho,)))) != commitment:
            raise ConsentInvalid("the consent is about another credential")


def _consent_challenge(message: bytes) -> Challenge:
    def challenge(
        points: Sequence[bytes], shown: bytes | None, masked: Sequence[bytes], masked_shown: bytes | None
    ) -> int:
        """Return the challenge of these points."""
        fields = [number(len(points)), *points, optional(shown), *masked, optional(masked_shown), message]
        return hash_to_scalar(frame(TAG + b"consent", fields), CONSENT_DST)

    return challenge
