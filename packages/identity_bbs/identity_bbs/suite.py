"""The suite BLS12-381-SHA-256 of the draft: its constants, and its generators on a curve.

The generators are made once for each curve and grow as longer message vectors come; the first ones get tables for
multiplication (``Curve.fixed_bases``), so their number bounds the memory.

Then the values that pass between the operations of the draft, and the refusals of its verifiers. Points belong to the curve of the
ciphersuite that made them; scalars are integers from 0 to r - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from identity_bbs.bls12381 import G1, G2, Curve
from identity_bbs.bls12381.keys import EXPAND_OCTETS, expand_message_xmd

CIPHERSUITE_ID: Final = b"BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_"
API_ID: Final = CIPHERSUITE_ID + b"H2G_HM2S_"
HASH_TO_SCALAR_DST: Final = API_ID + b"H2S_"
MAP_MESSAGE_DST: Final = API_ID + b"MAP_MSG_TO_SCALAR_AS_HASH_"
P1: Final = bytes.fromhex(
    "a8ce256102840821a3e94ea9025e4662b205762f9776b3a766c872b948f1fd225e7c59698588e70d11406d161b4e28c9"
)

MAX_MESSAGES: Final = 256
MAX_OCTETS: Final = 1 << 16
"""The longest header, presentation header or message. The draft allows 2^64 - 1; no caller needs it."""

TABLED_MESSAGES: Final = 16
"""How many message generators get tables; with P1 and Q1 they fill 28 MB at most, and only as they are used."""

_SEED: Final = API_ID + b"MESSAGE_GENERATOR_SEED"
_SEED_DST: Final = API_ID + b"SIG_GENERATOR_SEED_"
_GENERATOR_DST: Final = API_ID + b"SIG_GENERATOR_DST_"


class _Chain(NamedTuple):
    """Q1, H1, H2 … so far: points, their bytes, and the chain value that the next one is hashed from."""

    points: tuple[G1, ...]
    encoded: tuple[bytes, ...]
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
        return b"".join(self._grown(1 + count).encoded[: 1 + count])

    def combine(
        self, p1: int, q1: int, indexes: Sequence[int], scalars: Sequence[int], also: Sequence[tuple[G1, int]] = ()
    ) -> G1:
        """P1·p1 + Q1·q1 + the sum of H_(i+1)·scalar over the 0-based ``indexes``, plus the products of ``also``.

        A zero ``p1`` or ``q1`` leaves its term out; those of the messages are always there.
        """
        pairs = [pair for pair in ((0, p1), (1, q1)) if pair[1] != 0]
        rest = list(also)
        for index, scalar in zip(indexes, scalars, strict=True):
            if index < TABLED_MESSAGES:
                pairs.append((index + 2, scalar))
            else:
                rest.append((self.generator(index), scalar))
        return self._bases.msm([scalar for _, scalar in pairs], [base for base, _ in pairs], also=rest)

    def commitment(self, domain: int, messages: Sequence[int], base: G1 | None = None) -> G1:
        """Return the draft's B = P1 + Q1·domain + H1·msg_1 + …; ``base`` stands for P1."""
        sum_of_messages = self.combine(0, domain, range(len(messages)), messages)
        return self.curve.g1_add(self._p1 if base is None else base, sum_of_messages)

    def generator(self, index: int) -> G1:
        """H_(index+1), as a point."""
        return self._grown(index + 2).points[index + 1]

    def _grown(self, count: int) -> _Chain:
        """create_generators of the draft, continued from what is there; replaced in one step, as threads may read it."""
        if count > 1 + MAX_MESSAGES:
            raise ValueError(f"a suite has at most {MAX_MESSAGES} message generators")
        chain = self._chain
        if len(chain.points) < count:
            points, data, value = list(chain.points), list(chain.encoded), chain.value
            for number in range(len(points) + 1, count + 1):
                value = expand_message_xmd(value + number.to_bytes(8, "big"), _SEED_DST, EXPAND_OCTETS)
                points.append(self.curve.hash_to_g1(value, _GENERATOR_DST))
                data.append(self.curve.g1_to_octets(points[-1]))
            chain = self._chain = _Chain(tuple(points), tuple(data), value)
        return chain


@cache
def ciphersuite(curve: Curve) -> Ciphersuite:
    """Return the suite on this curve, one for the whole process."""
    return Ciphersuite(curve)


class BbsSignatureInvalid(Exception):
    """The bytes are not a signature, or it does not sign this header and these messages under this key."""


class BbsProofInvalid(Exception):
    """The bytes are not a proof, or it does not prove this statement under this key."""


class BbsPublicKey(NamedTuple):
    """A checked public key: its 96 bytes and its point W."""

    encoded: bytes
    point: G2


class Signature(NamedTuple):
    """(A, e). Unlinkable proofs are made of it; it is not for the eyes of others."""

    a: G1
    e: int

    def __repr__(self) -> str:
        return "Signature(…)"


class RandomScalars(NamedTuple):
    """The random scalars of one proof; ``m_tildes`` are the masks of the undisclosed messages in ascending order of index.

    Never to be used for two challenges: the difference of two responses gives the signature and the messages away.
    """

    r1: int
    r2: int
    e_tilde: int
    r1_tilde: int
    r3_tilde: int
    m_tildes: tuple[int, ...]

    def __repr__(self) -> str:
        return "RandomScalars(…)"


class InitResult(NamedTuple):
    """The output of ProofInit and ProofVerifyInit: all that the challenge depends on but messages and presentation
    header.

    ``points_octets`` is Abar || Bbar || D || T1 || T2, 48 bytes each.
    """

    a_bar: G1
    b_bar: G1
    d: G1
    t1: G1
    t2: G1
    domain: int
    points_octets: bytes


class Proof(NamedTuple):
    """(Abar, Bbar, D, e^, r1^, r3^, (m^_j), c). ``points_octets`` is Abar || Bbar || D, 48 bytes each."""

    a_bar: G1
    b_bar: G1
    d: G1
    e_hat: int
    r1_hat: int
    r3_hat: int
    m_hats: tuple[int, ...]
    challenge: int
    points_octets: bytes
