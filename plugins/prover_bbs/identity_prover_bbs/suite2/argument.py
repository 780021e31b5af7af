"""All intervals and rows of a presentation in one committed vector (PROTOCOL-2.md §6).

As the range argument of suite 1, with forms for messages and rows in the check polynomial:
F(c) = sum y^(i+1) c^(4-u_i) prod (f_i - k c) + sum y^(N+1+t) c² (a^ b^ - d c²) has no c^4 term exactly if every digit is one and every row
holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from identity_bound_credentials.domain.normal_form import Slot

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_codec.values import replace
from identity_prover_bbs.committed_vector import ProverVector, VectorProver, VerifierVector
from identity_prover_bbs.plan import RADIX, decompose
from identity_prover_bbs.range_argument import check_coefficients, check_value
from identity_prover_bbs.suite2.generators import PresentationGenerators
from identity_prover_bbs.suite2.layout import POINTS, Key, Row, VectorLayout


class VectorArgumentProver(VectorProver):
    """The prover's side. ``messages`` and ``message_masks`` by slot; ``selected`` names the alternative of each group that holds."""

    def __init__(
        self,
        generators: PresentationGenerators,
        layout: VectorLayout,
        messages: Mapping[Slot, int],
        message_masks: Mapping[Slot, int],
        selected: Sequence[int],
        hedged: HedgedScalars,
    ) -> None:
        self._generators = generators
        self._layout = layout
        digits = self._digits(messages, selected)
        free = [inverse(messages[slot] - scalar, hedged) for slot, scalar in layout.unequal]
        masks = self._masks(message_masks, hedged)
        alpha, beta, *taus = hedged.scalars(2 + RADIX)
        self._free = free
        super().__init__(ProverVector(generators, [*digits, *free], masks, alpha, beta, taus), layout.sent)
        self._values: dict[Key, int] = dict(enumerate(self._vector.digits))
        self._mask_of: dict[Key, int] = dict(enumerate(masks))
        self._values.update(messages)
        self._mask_of.update(message_masks)

    def _digits(self, messages: Mapping[Slot, int], selected: Sequence[int]) -> list[int]:
        digits: list[int] = []
        for interval in self._layout.intervals:
            distance = sum([sign * messages[slot] for sign, slot in interval.form]) - interval.low
            if interval.side is not None:
                # An alternative that is not chosen has digits of zero, found as those of any other.
                distance *= selected[interval.side.group] == interval.side.place
            digits += decompose(interval.digits, distance)
        return [*digits, *(int(selected[side.group] == side.place) for side in self._layout.selectors)]

    def _masks(self, message_masks: Mapping[Slot, int], hedged: HedgedScalars) -> list[int]:
        drawn = dict(zip(self._layout.sent, hedged.scalars(len(self._layout.sent)), strict=True))
        for interval, span in zip(self._layout.intervals, self._layout.spans, strict=True):
            if interval.side is None:
                # The last weight is 1, so that its mask can be what makes the weighted masks add up to the form's. Equation (6.3).
                form = sum([sign * message_masks[slot] for sign, slot in interval.form])
                weighted = sum([digit.weight * drawn[i] for digit, i in zip(interval.digits, span[:-1], strict=False)])
                drawn[span[-1]] = (form - weighted) % ORDER
        return [drawn[index] for index in range(self._layout.elements)]

    def first(self) -> tuple[bytes, bytes]:
        """Return A and B. Equations (6.1), (6.2)."""
        vector, generators = self._vector, self._generators
        count = len(self._layout.digits)
        committed = generators.commit_elements(vector.digits[:count], self._free, vector.alpha)
        a, b = generators.curve.g1s_to_octets([committed, generators.commit_masks(vector.masks, vector.beta)])
        self._sent_points = [a]
        return a, b

    def _coefficients(self, y: int) -> list[int]:
        """Return the coefficients of c⁰ … c³. Equation (6.7)."""
        vector, digits = self._vector, self._layout.digits
        count = len(digits)
        coefficients = check_coefficients(digits, vector.digits[:count], vector.masks[:count], y)
        power = pow(y, self._layout.elements, ORDER)
        for row in self._layout.rows:
            power = power * y % ORDER
            cubic, square = self._row(row)
            coefficients[3] = (coefficients[3] + power * cubic) % ORDER
            coefficients[2] = (coefficients[2] + power * square) % ORDER
        return coefficients

    def _row(self, row: Row) -> tuple[int, int]:
        """Return the coefficients of c³ and c² of a row: a·b~ + a~·b and a~·b~. A value of 0 is as large a number as any other."""
        a, b = (ORDER + form.evaluate(1, self._values) for form in (row.a, row.b))
        a_mask, b_mask = (form.evaluate(0, self._mask_of) for form in (row.a, row.b))
        return (a * b_mask + a_mask * b) % ORDER, a_mask * b_mask % ORDER


class VectorArgumentVerifier:
    """The verifier's side of one received argument; ``message_responses`` are the parts' m^. Raises ``ProofInvalid``."""

    def __init__(
        self,
        generators: PresentationGenerators,
        layout: VectorLayout,
        data: bytes,
        c: int,
        message_responses: Mapping[Slot, int],
    ) -> None:
        vector = VerifierVector.decode(generators, data, points=POINTS, responses=len(layout.sent))
        values: dict[Key, int] = dict(zip(layout.sent, vector.responses, strict=True))
        values.update(message_responses)
        for interval, span, gap in zip(layout.intervals, layout.spans, layout.gaps, strict=True):
            if interval.side is None:
                # Equation (6.4): what is left of the form once the other digits are taken away.
                derived = span[-1]
                values[derived] = replace_last(gap.constant * c, gap.terms, derived, values)
        responses = tuple(values[index] for index in range(layout.elements))
        self._vector = replace(vector, responses=responses)
        self._layout = layout
        self._values = values
        self._c = c

    def first(self) -> tuple[bytes, bytes]:
        """Return A and B. Equation (6.5)."""
        return self._vector.first(self._c, self._vector.responses)

    def second(self, y: int) -> list[bytes]:
        """T_0 … T_3. Equation (6.6)."""
        layout, c = self._layout, self._c
        total = check_value(layout.digits, self._vector.responses[: len(layout.digits)], y, c)
        power, square = pow(y, layout.elements, ORDER), c * c % ORDER
        for row in layout.rows:
            power = power * y % ORDER
            product = row.a.evaluate(c, self._values) * row.b.evaluate(c, self._values) - row.d * square
            total += power * (square * (product % ORDER) % ORDER)
        return self._vector.second(c, total % ORDER)


def replace_last(constant: int, terms: Sequence[tuple[int, Key]], derived: int, values: Mapping[Key, int]) -> int:
    """Return the response of an element whose coefficient is -1, from those of all other terms of its gap."""
    return (constant + sum([factor * values[key] for factor, key in terms if key != derived])) % ORDER


def inverse(value: int, hedged: HedgedScalars) -> int:
    """1/value, or 0 for 0. Euclid's steps depend on their input, so they see it times a mask."""
    (mask,) = hedged.scalars(1)
    product = value * mask % ORDER
    return pow(product, -1, ORDER) * mask % ORDER if product else 0
