"""The common part of range and set argument: a committed vector, its masks, and a polynomial that must lack its top
term.

The vector e is in A, its masks a in B, the responses are f = e c + a. A check polynomial F in the challenge c, of degree k,
lacks its c^k term exactly when e is what it must be; its coefficients are in T_0 … T_(k-1). B and T_0 are not sent: the
verifier computes them from the responses and the challenge hash decides (PROTOCOL.md §4.2, §4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from identity_bbs.bls12381 import G1, ORDER, InvalidPoint
from identity_bbs.bls12381.backend import G1_OCTETS, SCALAR_OCTETS
from identity_codec.values import Hidden
from identity_core.errors import ProofInvalid
from identity_prover_bbs.generators import CommitmentGenerators

_MISMATCH: Final = "the proof does not match"


def octets_of_vector_proof(points: int, responses: int) -> int:
    """A, T_1 … T_(points-1), that many responses, and the two openings z and zt. Equation (4.9)."""
    return G1_OCTETS * points + SCALAR_OCTETS * (responses + 2)


class ProverVector(Hidden, Struct, frozen=True):
    """The prover's side. All of it but the commitments is secret; ``taus`` has one blinding for each coefficient."""

    generators: CommitmentGenerators
    digits: Sequence[int]
    masks: Sequence[int]
    alpha: int
    beta: int
    taus: Sequence[int]

    def first(self) -> tuple[bytes, bytes]:
        """Return A and B. Equations (4.2), (4.3)."""
        a = self.generators.commit_digits(self.digits, self.alpha)
        b = self.generators.commit_masks(self.masks, self.beta)
        octets_of_a, octets_of_b = self.generators.curve.g1s_to_octets([a, b])
        return octets_of_a, octets_of_b

    def second(self, coefficients: Sequence[int]) -> list[bytes]:
        """T_0 … T_(k-1). Equation (4.6)."""
        pairs = zip(coefficients, self.taus, strict=True)
        commitments = [self.generators.commit_coefficient(coefficient, tau) for coefficient, tau in pairs]
        return self.generators.curve.g1s_to_octets(commitments)

    def responses(self, c: int, indexes: Sequence[int]) -> bytes:
        """f at these indexes, z and zt. Equations (4.7), (4.8)."""
        # ORDER + a digit is a number of full size, which a digit of zero is not.
        scalars = [((ORDER + self.digits[i]) * c + self.masks[i]) % ORDER for i in indexes]
        scalars.append((self.alpha * c + self.beta) % ORDER)
        scalars.append(evaluate(self.taus, c))
        return b"".join(scalar.to_bytes(SCALAR_OCTETS, "big") for scalar in scalars)


class VectorProver:
    """The prover of an argument about one vector. A subclass brings the coefficients of its check polynomial.

    ``sent`` has the indexes of the responses that are sent.
    """

    def __init__(self, vector: ProverVector, sent: Sequence[int]) -> None:
        self._vector, self._sent = vector, sent
        self._sent_points: list[bytes] = []

    def first(self) -> tuple[bytes, bytes]:
        """Return A and B."""
        a, b = self._vector.first()
        self._sent_points = [a]
        return a, b

    def second(self, y: int) -> list[bytes]:
        """Return T_0 … T_(k-1) for the first challenge."""
        commitments = self._vector.second(self._coefficients(y))
        self._sent_points += commitments[1:]
        return commitments

    def _coefficients(self, y: int) -> list[int]:
        raise NotImplementedError

    def proof(self, c: int) -> bytes:
        """Return A, T_1 … T_(k-1), the responses that are sent, z, zt."""
        return b"".join(self._sent_points) + self._vector.responses(c, self._sent)


class VerifierVector(Struct, frozen=True):
    """The decoded vector that the verifier received: every point in the subgroup and not the identity, every scalar
    below r."""

    generators: CommitmentGenerators
    raw: bytes
    a: G1
    coefficients: tuple[G1, ...]
    responses: tuple[int, ...]
    z: int
    zt: int

    @classmethod
    def decode(cls, generators: CommitmentGenerators, data: bytes, *, points: int, responses: int) -> VerifierVector:
        """Raise ``ProofInvalid`` unless the bytes are exactly these points and responses, each canonical."""
        if len(data) != octets_of_vector_proof(points, responses):
            raise ProofInvalid(details={"reason": "a sub-proof has the wrong length"})
        end = G1_OCTETS * points
        starts = range(end, len(data), SCALAR_OCTETS)
        scalars = [int.from_bytes(data[start : start + SCALAR_OCTETS], "big") for start in starts]
        if max(scalars) >= ORDER:
            raise ProofInvalid(details={"reason": "a scalar of a sub-proof is not below the group order"})
        decode = generators.curve.octets_to_g1
        try:
            a, *coefficients = [decode(data[start : start + G1_OCTETS]) for start in range(0, end, G1_OCTETS)]
        except InvalidPoint:
            raise ProofInvalid(details={"reason": "a point of a sub-proof is not valid"}) from None
        *sent, z, zt = scalars
        return cls(generators, data, a, tuple(coefficients), tuple(sent), z, zt)

    def first(self, c: int, responses: Sequence[int]) -> tuple[bytes, bytes]:
        """Return A as received, and B = sum f_i G_i + z H - c A from all the responses. Equation (4.10)."""
        curve, b = self.generators.curve, self.generators.commit_masks(responses, self.z)
        return self.raw[:G1_OCTETS], self._encoded(curve.g1_add(b, curve.g1_public_msm([self.a], [-c])))

    def second(self, c: int, value: int) -> list[bytes]:
        """T_0 = F g + zt h - sum c^k T_k for F = ``value``, and T_1 … as received. Equation (4.11)."""
        curve, powers = self.generators.curve, [-c]
        while len(powers) < len(self.coefficients):
            powers.append(powers[-1] * c % ORDER)
        committed = self.generators.commit_coefficient(value, self.zt)
        t0 = curve.g1_add(committed, curve.g1_public_msm(self.coefficients, powers))
        received = [self.raw[G1_OCTETS * k : G1_OCTETS * (k + 1)] for k in range(1, len(self.coefficients) + 1)]
        return [self._encoded(t0), *received]

    def _encoded(self, point: G1) -> bytes:
        # No honest prover makes the identity here, and refusing it keeps all backends alike.
        if self.generators.curve.g1_is_identity(point):
            raise ProofInvalid(_MISMATCH)
        return self.generators.curve.g1_to_octets(point)


def evaluate(coefficients: Sequence[int], c: int) -> int:
    """Return the polynomial with these coefficients, lowest first, at c."""
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * c + coefficient) % ORDER
    return value
