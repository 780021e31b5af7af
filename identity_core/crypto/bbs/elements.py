"""The values that pass between the operations of the draft, and the refusals of its verifiers.

Points belong to the curve of the ciphersuite that made them; scalars are integers from 0 to r - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from identity_core.crypto.bls12381 import G1, G2


class SignatureInvalid(Exception):
    """The octets are no signature, or it does not sign this header and these messages under this key."""


class ProofInvalid(Exception):
    """The octets are no proof, or it does not prove this statement under this key."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A checked public key: its 96 octets and its point W."""

    octets: bytes
    point: G2 = field(repr=False)


@dataclass(frozen=True, slots=True)
class Signature:
    """(A, e). Unlinkable proofs are made of it; it is not for the eyes of others."""

    a: G1 = field(repr=False)
    e: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class RandomScalars:
    """The dice of one proof; ``m_tildes`` are the masks of the undisclosed messages in ascending order of index.

    Never to be used for two challenges: the difference of two responses gives the signature and the messages away.
    """

    r1: int = field(repr=False)
    r2: int = field(repr=False)
    e_tilde: int = field(repr=False)
    r1_tilde: int = field(repr=False)
    r3_tilde: int = field(repr=False)
    m_tildes: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, scalars: Sequence[int]) -> RandomScalars:
        """From the draft's list of 5 + U scalars, in its order."""
        r1, r2, e_tilde, r1_tilde, r3_tilde, *m_tildes = scalars
        return cls(r1, r2, e_tilde, r1_tilde, r3_tilde, tuple(m_tildes))


@dataclass(frozen=True, slots=True)
class InitResult:
    """What ProofInit and ProofVerifyInit give: all that the challenge depends on but messages and presentation header.

    ``points_octets`` is Abar || Bbar || D || T1 || T2, 48 octets each.
    """

    a_bar: G1
    b_bar: G1
    d: G1
    t1: G1
    t2: G1
    domain: int
    points_octets: bytes


@dataclass(frozen=True, slots=True)
class Proof:
    """(Abar, Bbar, D, e^, r1^, r3^, (m^_j), c). ``points_octets`` is Abar || Bbar || D, 48 octets each."""

    a_bar: G1
    b_bar: G1
    d: G1
    e_hat: int
    r1_hat: int
    r3_hat: int
    m_hats: tuple[int, ...]
    challenge: int
    points_octets: bytes
