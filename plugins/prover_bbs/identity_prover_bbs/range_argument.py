"""low <= m <= high, exactly, for the hidden messages of several slots at once (PROTOCOL.md §4).

Each slot's distance m - low is written in the mixed-weight digits of ``plan``; all digits stand in one committed vector. The
check polynomial has no c^4 term exactly when every digit is below its radix. That the digits are those of the message that
BBS signed needs no commitment of its own: the last response of each slot is derived from the BBS response of the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from msgspec import Struct

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_core.domain.proofs.predicate import InRange
from identity_prover_bbs.committed_vector import ProverVector, VectorProver, VerifierVector, octets_of_vector_proof
from identity_prover_bbs.generators import Generators
from identity_prover_bbs.plan import RADIX, Digit, decompose, plan

POINTS: Final = RADIX
"""A and T_1 … T_3 are sent; the coefficients are T_0 … T_3."""


class RangeLayout(Struct, frozen=True):
    """The public shape: goals in the order of slots, their digits one after another."""

    goals: tuple[InRange, ...]
    plans: tuple[tuple[Digit, ...], ...]

    @classmethod
    def from_goals(cls, goals: Sequence[InRange]) -> RangeLayout:
        """Return the layout that prover and verifier both compute."""
        return cls(tuple(goals), tuple(plan(goal.high - goal.low) for goal in goals))

    @property
    def digits(self) -> list[Digit]:
        """All digits of all slots."""
        return [digit for digits in self.plans for digit in digits]

    @property
    def sent(self) -> list[int]:
        """Return the responses that are sent: all but the last of each slot."""
        bounds = self.bounds
        return [index for start, end in pairwise(bounds) for index in range(start, end - 1)]

    @property
    def bounds(self) -> list[int]:
        """Return the first position of each slot's digits, and the end of the last one."""
        bounds = [0]
        for digits in self.plans:
            bounds.append(bounds[-1] + len(digits))
        return bounds

    @property
    def byte_count(self) -> int:
        """The length of a proof: 192 + 32 (N - P + 2) for N digits of P slots."""
        return octets_of_vector_proof(POINTS, len(self.digits) - len(self.goals))


class RangeProver(VectorProver):
    """The prover's side. ``values`` and ``message_masks`` are the slots' scalars and their BBS masks m~."""

    def __init__(
        self,
        generators: Generators,
        layout: RangeLayout,
        values: Sequence[int],
        message_masks: Sequence[int],
        dice: HedgedScalars,
    ) -> None:
        digits: list[int] = []
        masks: list[int] = []
        for goal, slot_plan, value, message_mask in zip(layout.goals, layout.plans, values, message_masks, strict=True):
            digits += decompose(slot_plan, value - goal.low)
            free = dice.scalars(len(slot_plan) - 1)
            # The last weight is 1, so that its mask can be what makes the weighted masks add up to m~. Equation (4.4).
            weighted = sum(digit.weight * mask for digit, mask in zip(slot_plan, free, strict=False))
            masks += [*free, (message_mask - weighted) % ORDER]
        alpha, beta, *taus = dice.scalars(2 + RADIX)
        self._layout = layout
        super().__init__(ProverVector(generators, digits, masks, alpha, beta, taus), layout.sent)

    def _coefficients(self, y: int) -> list[int]:
        return check_coefficients(self._layout.digits, self._vector.digits, self._vector.masks, y)


class RangeVerifier:
    """The verifier's side of one received proof; ``c`` and ``message_responses`` are the BBS challenge and the slots' m^.

    Raises ``ProofInvalid`` where the bytes cannot be a proof.
    """

    def __init__(
        self, generators: Generators, layout: RangeLayout, data: bytes, c: int, message_responses: Sequence[int]
    ) -> None:
        self._vector = VerifierVector.decode(generators, data, points=POINTS, responses=len(layout.sent))
        self._digits = layout.digits
        self._responses = all_responses(layout, self._vector.responses, message_responses, c)
        self._c = c

    def first(self) -> tuple[bytes, bytes]:
        """Return A and B."""
        return self._vector.first(self._c, self._responses)

    def second(self, y: int) -> list[bytes]:
        """T_0 … T_3."""
        return self._vector.second(self._c, check_value(self._digits, self._responses, y, self._c))


def all_responses(layout: RangeLayout, sent: Sequence[int], message_responses: Sequence[int], c: int) -> list[int]:
    """Return the sent responses with each slot's derived one: (m^ - low c) - sum w_i f_i. Equation (4.5)."""
    responses: list[int] = []
    position = 0
    for goal, slot_plan, m_hat in zip(layout.goals, layout.plans, message_responses, strict=True):
        part = sent[position : position + len(slot_plan) - 1]
        position += len(part)
        weighted = sum(digit.weight * response for digit, response in zip(slot_plan, part, strict=False))
        responses += [*part, (m_hat - goal.low * c - weighted) % ORDER]
    return responses


def check_value(digits: Sequence[Digit], responses: Sequence[int], y: int, c: int) -> int:
    """F(c) = sum y^(i+1) c^(4-u_i) prod_(k<u_i) (f_i - k c). Equation (4.12)."""
    by_radix = [0] * (RADIX + 1)
    double = 2 * c * c
    power = 1
    for (_, radix), response in zip(digits, responses, strict=True):
        power = power * y % ORDER
        # The first factor times the last; the second times the third is 2 c^2 more.
        product = response * (response - (radix - 1) * c) % ORDER
        if radix == 3:
            product *= response - c
        elif radix == RADIX:
            product *= product + double
        by_radix[radix] += power * product
    return sum(total * pow(c, RADIX - radix, ORDER) for radix, total in enumerate(by_radix)) % ORDER


def check_coefficients(digits: Sequence[Digit], values: Sequence[int], masks: Sequence[int], y: int) -> list[int]:
    """Return the coefficients t_0 … t_3 of F when f_i = e_i c + a_i and every e_i is a digit. Equation (4.13)."""
    t0 = t1 = t2 = t3 = 0
    power = 1
    for (_, radix), value, mask in zip(digits, values, masks, strict=True):
        power = power * y % ORDER
        square = mask * mask % ORDER
        once, twice = power * mask, power * square
        # prod_k ((e - k) c + a): the symmetric function of degree j goes with c^j and a^(u-j), and then with c^(4-u).
        s3, s2, s1, s0 = _symmetric(radix, value)
        t3 += s3 * once
        t2 += s2 * twice
        t1 += s1 * (once * square)
        t0 += s0 * (twice * square)
    return [total % ORDER for total in (t0, t1, t2, t3)]


@lru_cache(maxsize=64)
def _symmetric(radix: int, value: int) -> tuple[int, ...]:
    """Return the elementary symmetric functions of value - 0 … value - (radix - 1), of degree ``radix`` - 1 down to 0, and zeros up
    to four."""
    functions = [1] + [0] * radix
    for k in range(radix):
        for degree in range(k + 1, 0, -1):
            functions[degree] += functions[degree - 1] * (value - k)
    if functions[radix] != 0:
        raise ValueError("not a digit of this radix")
    return (*reversed(functions[:radix]), *[0] * (RADIX - radix))
