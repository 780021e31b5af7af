"""m is one of s_0 … s_(n-1), for a hidden message and a public set (PROTOCOL.md §5).

The bits of the element's index are the committed vector. The check polynomial folds the set by the responses, subtracts the
BBS response of the message, and adds the test that each bit is a bit; it has no top term exactly when the bits are bits
and the element that they choose is the message.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_prover_bbs.committed_vector import ProverVector, VectorProver, VerifierVector, octets_of_vector_proof
from identity_prover_bbs.generators import CommitmentGenerators


class SetLayout(Struct, frozen=True):
    """The public shape: a slot and the set, strictly ascending as scalars; at least two of them."""

    slot: int
    scalars: tuple[int, ...]

    @property
    def bits(self) -> int:
        """Index bits m; two at least, since the bit test has degree two in c. Equation (5.1)."""
        return max(2, (len(self.scalars) - 1).bit_length())

    @property
    def padded(self) -> list[int]:
        """The set, its last element repeated up to 2^m."""
        return [*self.scalars, *[self.scalars[-1]] * ((1 << self.bits) - len(self.scalars))]

    @property
    def byte_count(self) -> int:
        """The length of a proof: 48 m + 32 (m + 2)."""
        return octets_of_vector_proof(self.bits, self.bits)


class SetProver(VectorProver):
    """The prover's side. ``value`` and ``message_mask`` are the slot's scalar, one of the set, and its BBS mask m~."""

    def __init__(
        self, generators: CommitmentGenerators, layout: SetLayout, value: int, message_mask: int, dice: HedgedScalars
    ) -> None:
        # All of the set is compared and each bit made alike, so that the time does not tell the place.
        index = sum([place * (scalar == value) for place, scalar in enumerate(layout.scalars)])
        if layout.scalars[index] != value:
            raise ValueError("the value is not in the set")
        bits = [index >> level & 1 for level in range(layout.bits)]
        masks = dice.scalars(layout.bits)
        alpha, beta, *taus = dice.scalars(2 + layout.bits)
        self._layout = layout
        self._message_mask = message_mask
        super().__init__(ProverVector(generators, bits, masks, alpha, beta, taus), range(layout.bits))

    def _coefficients(self, y: int) -> list[int]:
        return check_coefficients(self._layout.padded, self._vector.digits, self._vector.masks, self._message_mask, y)


class SetVerifier:
    """The verifier's side of one received proof; ``c`` and ``message_response`` are the BBS challenge and the slot's m^.

    Raises ``ProofInvalid`` where the bytes cannot be a proof.
    """

    def __init__(
        self, generators: CommitmentGenerators, layout: SetLayout, data: bytes, c: int, message_response: int
    ) -> None:
        self._vector = VerifierVector.decode(generators, data, points=layout.bits, responses=layout.bits)
        self._layout = layout
        self._message_response = message_response
        self._c = c

    def first(self) -> tuple[bytes, bytes]:
        """Return A and B."""
        return self._vector.first(self._c, self._vector.responses)

    def second(self, y: int) -> list[bytes]:
        """T_0 … T_(m-1)."""
        value = check_value(self._layout.padded, self._vector.responses, self._message_response, y, self._c)
        return self._vector.second(self._c, value)


def check_value(padded: Sequence[int], responses: Sequence[int], message_response: int, y: int, c: int) -> int:
    """W(c) = fold(s; f) - c^(m-1) m^ + c^(m-2) sum y^(j+1) f_j (c - f_j). Equation (5.2)."""
    level = padded
    bit_tests = 0
    power = 1
    for f in responses:
        unchosen = c - f
        level = [(low * unchosen + high * f) % ORDER for low, high in zip(level[::2], level[1::2], strict=True)]
        power = power * y % ORDER
        bit_tests += power * f % ORDER * unchosen
    lead = pow(c, len(responses) - 2, ORDER)
    return (level[0] + lead * (bit_tests - c * message_response)) % ORDER


def check_coefficients(
    padded: Sequence[int], bits: Sequence[int], masks: Sequence[int], message_mask: int, y: int
) -> list[int]:
    """Return the coefficients t_0 … t_(m-1) of W when f_j = b_j c + a_j and every b_j is a bit. Equation (5.3).

    ``by_degree[d]`` holds the coefficient of c^d of each folded pair, so that one pass over a list does a level.
    """
    by_degree = [list(padded)]
    linear = 0
    square = 0
    power = 1
    for bit, mask in zip(bits, masks, strict=True):
        chosen = [column[bit::2] for column in by_degree]
        shifted = [
            [(high - low) * mask % ORDER for low, high in zip(column[::2], column[1::2], strict=True)]
            for column in by_degree
        ]
        inner = [
            [a + b for a, b in zip(up, down, strict=True)] for up, down in zip(chosen[:-1], shifted[1:], strict=True)
        ]
        by_degree = [shifted[0], *inner, chosen[-1]]
        power = power * y % ORDER
        weighted = power * mask % ORDER
        # A number of full size for either bit.
        linear += weighted * (ORDER + 1 - 2 * bit)
        square += weighted * mask
    coefficients = [column[0] for column in by_degree[:-1]]
    coefficients[-1] += linear - message_mask
    coefficients[-2] -= square
    return [coefficient % ORDER for coefficient in coefficients]
