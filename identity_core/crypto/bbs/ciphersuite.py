"""The suite BLS12-381-SHA-256 of the draft: its constants, and its generators on a curve.

The generators are made once for each curve and grow as longer message vectors come; the first ones get tables for
multiplication (``Curve.fixed_bases``), so their number bounds the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from identity_core.crypto.bls12381 import G1, Curve
from identity_core.crypto.bls12381.hashing import EXPAND_OCTETS, expand_message_xmd

CIPHERSUITE_ID: Final = b"BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_"
API_ID: Final = CIPHERSUITE_ID + b"H2G_HM2S_"
HASH_TO_SCALAR_DST: Final = API_ID + b"H2S_"
MAP_MESSAGE_DST: Final = API_ID + b"MAP_MSG_TO_SCALAR_AS_HASH_"
P1: Final = bytes.fromhex(
    "a8ce256102840821a3e94ea9025e4662b205762f9776b3a766c872b948f1fd225e7c59698588e70d11406d161b4e28c9"
)

MAX_MESSAGES: Final = 256
MAX_OCTETS: Final = 1 << 16
"""The longest header, presentation header or message. The draft allows 2^64 - 1; nobody has asked for it."""

TABLED_MESSAGES: Final = 16
"""How many message generators get tables; with P1 and Q1 they fill 28 MB at most, and only as they are used."""

_SEED: Final = API_ID + b"MESSAGE_GENERATOR_SEED"
_SEED_DST: Final = API_ID + b"SIG_GENERATOR_SEED_"
_GENERATOR_DST: Final = API_ID + b"SIG_GENERATOR_DST_"


class _Chain(NamedTuple):
    """Q1, H1, H2 … so far: points, their octets, and the chain value that the next one is hashed from."""

    points: tuple[G1, ...]
    octets: tuple[bytes, ...]
    value: bytes


class Ciphersuite:
    """The suite on one curve. Get it from ``ciphersuite``, so that generators and tables are shared."""

    def __init__(self, curve: Curve) -> None:
        self.curve: Final = curve
        self._p1 = curve.octets_to_g1(P1)
        self._chain = _Chain((), (), expand_message_xmd(_SEED, _SEED_DST, EXPAND_OCTETS))
        first = self._grown(1 + TABLED_MESSAGES)
        self._bases = curve.fixed_bases([self._p1, *first.points])

    def generator_octets(self, count: int) -> bytes:
        """Q1 || H1 || … || Hcount."""
        return b"".join(self._grown(1 + count).octets[: 1 + count])

    def message_generators(self, count: int) -> Sequence[G1]:
        """H1 … Hcount."""
        return self._grown(1 + count).points[1 : 1 + count]

    def combine(
        self, p1: int, q1: int, indexes: Sequence[int], scalars: Sequence[int], also: Sequence[tuple[G1, int]] = ()
    ) -> G1:
        """P1·p1 + Q1·q1 + the sum of H_(i+1)·scalar over the 0-based ``indexes``, plus the products of ``also``.

        A zero ``p1`` or ``q1`` leaves its term out; those of the messages are always there.
        """
        if len(indexes) != len(scalars):
            raise ValueError(f"{len(indexes)} indexes and {len(scalars)} scalars")
        pairs = [pair for pair in ((0, p1), (1, q1)) if pair[1] != 0]
        rest = list(also)
        for index, scalar in zip(indexes, scalars, strict=True):
            if index < TABLED_MESSAGES:
                pairs.append((index + 2, scalar))
            else:
                rest.append((self._grown(index + 2).points[index + 1], scalar))
        return self._bases.msm([scalar for _, scalar in pairs], [base for base, _ in pairs], also=rest)

    def commitment(self, domain: int, messages: Sequence[int]) -> G1:
        """The draft's B = P1 + Q1·domain + H1·msg_1 + …"""
        return self.curve.g1_add(self._p1, self.combine(0, domain, range(len(messages)), messages))

    def _grown(self, count: int) -> _Chain:
        """create_generators of the draft, continued from what is there; replaced in one step, as threads may read it."""
        if count > 1 + MAX_MESSAGES:
            raise ValueError(f"a suite has at most {MAX_MESSAGES} message generators")
        chain = self._chain
        if len(chain.points) < count:
            points, octets, value = list(chain.points), list(chain.octets), chain.value
            for number in range(len(points) + 1, count + 1):
                value = expand_message_xmd(value + number.to_bytes(8, "big"), _SEED_DST, EXPAND_OCTETS)
                points.append(self.curve.hash_to_g1(value, _GENERATOR_DST))
                octets.append(self.curve.g1_to_octets(points[-1]))
            chain = self._chain = _Chain(tuple(points), tuple(octets), value)
        return chain


@lru_cache(maxsize=8)
def ciphersuite(curve: Curve) -> Ciphersuite:
    """The suite on this curve, one for the whole process."""
    return Ciphersuite(curve)
