"""One secret in several points: what a commitment and a consent have in common (PROTOCOL-2.md §3.1).

Slot 0 of a credential is the holder's secret s, slot 1 a blind b. Who knows them shows points s·H_0 + b·H_1, and s·OP for another
base OP, and proves with one signature of Okamoto's that all can be opened with one s. The secret and what masks it meet the backend's own
multiplication (constant-time on pyblst) and never a table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from identity_bbs.bls12381 import G1, ORDER
from identity_bbs.bls12381.backend import G1_OCTETS, SCALAR_OCTETS
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_bbs.bls12381.keys import hash_to_scalar, secret_scalar
from identity_bbs.frames import scalar
from identity_bbs.suite import Ciphersuite

HOLDER_SLOT: Final = 0
BLIND_SLOT: Final = 1

TAG: Final = b"IDENTITY-SERVICE-ZKPRED-V2:"
"""What every tag of the suite begins with."""
PSEUDONYM_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V2_BLS12381G1_XMD:SHA-256_SSWU_RO_NYM_"
SECRET_DST: Final = b"IDENTITY-SERVICE-ZKPRED-V2_XMD:SHA-256_H2S_HOLDER_"


@dataclass(frozen=True, slots=True)
class HolderSecret:
    """s, 1 to r - 1, with s·H_0, which is as secret: it links every credential of the holder. Make it with ``from_bytes``."""

    scalar: int = field(repr=False)
    point: G1 = field(repr=False, compare=False)

    @classmethod
    def from_bytes(cls, suite: Ciphersuite, data: bytes) -> HolderSecret:
        """Return the secret of 32 bytes, big-endian. Raises ``InvalidBlsKey``."""
        secret = secret_scalar(data)
        return cls(secret, suite.curve.g1_mul(suite.generator(HOLDER_SLOT), secret))

    @classmethod
    def _from_bytes_by_old_name(cls, suite: Ciphersuite, data: bytes) -> HolderSecret:
        warnings.warn("HolderSecret.of leaves in 1.2: call from_bytes", DeprecationWarning, stacklevel=2)
        return cls.from_bytes(suite, data)

    of = _from_bytes_by_old_name

    @classmethod
    def derived(cls, suite: Ciphersuite, material: bytes) -> HolderSecret:
        """Return the secret that follows from at least 32 bytes of secret entropy. Raises ``ValueError``."""
        if len(material) < SCALAR_OCTETS:
            raise ValueError(f"a holder's secret is made of at least {SCALAR_OCTETS} bytes")
        return cls.from_bytes(suite, scalar(hash_to_scalar(material, SECRET_DST)))


Challenge = Callable[[Sequence[bytes], bytes | None, Sequence[bytes], bytes | None], int]
"""From the points, the pseudonym's point, and the masked ones."""


def octets_of_openings(count: int, *, pseudonym: bool) -> int:
    """Return a point for each credential, one for a pseudonym, z_0, z_1 of each credential, and c."""
    return G1_OCTETS * (count + pseudonym) + SCALAR_OCTETS * (count + 2)


def open_points(
    suite: Ciphersuite,
    secret: HolderSecret,
    blinds: Sequence[int],
    base: G1 | None,
    challenge: Challenge,
    masks: HedgedScalars,
) -> bytes:
    """Return the points s·H_0 + b·H_1, s·base, and one proof that s is in all of them: z_0, z_1 of each, c. Equation (3.1)."""
    curve = suite.curve
    first, second = suite.generator(HOLDER_SLOT), suite.generator(BLIND_SLOT)
    mask, *blind_masks = masks.scalars(1 + len(blinds))
    masked_secret = curve.g1_mul(first, mask)
    points = [curve.g1_add(secret.point, curve.g1_mul(second, blind)) for blind in blinds]
    masked = [curve.g1_add(masked_secret, curve.g1_mul(second, each)) for each in blind_masks]
    encode = curve.g1_to_octets
    shown = None if base is None else encode(curve.g1_mul(base, secret.scalar))
    masked_shown = None if base is None else encode(curve.g1_mul(base, mask))
    data = [encode(point) for point in points]
    c = challenge(data, shown, [encode(point) for point in masked], masked_shown)
    responses = [(each + c * blind) % ORDER for each, blind in zip(blind_masks, blinds, strict=True)]
    scalars = [(mask + c * secret.scalar) % ORDER, *responses, c]
    return b"".join([*data, shown or b"", *map(scalar, scalars)])


def check_points(suite: Ciphersuite, data: bytes, count: int, base: G1 | None, challenge: Challenge) -> list[G1]:
    """Return the decoded points, that of the pseudonym last. Raises ``ValueError`` unless the proof is one of ``challenge``."""
    curve = suite.curve
    if len(data) != octets_of_openings(count, pseudonym=base is not None):
        raise ValueError("the length is not that of so many credentials")
    end = len(data) - SCALAR_OCTETS * (count + 2)
    z0, *zs, c = _scalars(data[end:])
    encoded = [data[start : start + G1_OCTETS] for start in range(0, end, G1_OCTETS)]
    points = [curve.octets_to_g1(one) for one in encoded]
    masked = [
        suite.combine(0, 0, (HOLDER_SLOT, BLIND_SLOT), (z0, z), also=[(point, -c)])
        for z, point in zip(zs, points, strict=False)
    ]
    if base is not None:
        masked.append(curve.g1_msm([base, points[-1]], [z0, -c]))
    if any(curve.g1_is_identity(point) for point in masked):
        raise ValueError("the proof does not match")
    again = [curve.g1_to_octets(point) for point in masked]
    shown, masked_shown = (None, None) if base is None else (encoded[-1], again[-1])
    if challenge(encoded[:count], shown, again[:count], masked_shown) != c:
        raise ValueError("the proof does not match")
    return points


def _scalars(data: bytes) -> Iterable[int]:
    found = [int.from_bytes(data[at : at + SCALAR_OCTETS], "big") for at in range(0, len(data), SCALAR_OCTETS)]
    if max(found) >= ORDER:
        raise ValueError("a scalar is not below the group order")
    return found
