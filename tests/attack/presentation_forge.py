"""A prover of suite 2 who knows the protocol and cheats: messages, digits, inverses and polynomials of his own choice.

He stops at nothing: where an honest prover finds no digits, he takes those that come nearest, and drops the coefficient that tells.
"""

from __future__ import annotations

from identity_bound_credentials.domain.presentation import PresentationWitness
from identity_prover_bbs.plan import decompose
from identity_prover_bbs.range_argument import check_value
from identity_prover_bbs.set_argument import SetProver
from identity_prover_bbs.set_argument import check_value as set_value
from identity_prover_bbs.suite2 import PresentationProver, prover, relation
from identity_prover_bbs.suite2.argument import VectorArgumentProver

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.backend import G1_OCTETS
from identity_bbs.encoding import calculate_domain, octets_to_public_key, octets_to_signature
from identity_bbs.holders import HolderConsent
from identity_codec.values import replace
from tests.attack.prover_forge import interpolated
from tests.presenting import Scene, seeded


def points_of(suite, data, count):
    """K' of ``count`` credentials in a consent, unchecked."""
    starts = range(0, count * G1_OCTETS, G1_OCTETS)
    return tuple(suite.curve.octets_to_g1(data[start : start + G1_OCTETS]) for start in starts)


def _top(digits):
    return sum(digit.weight * (digit.radix - 1) for digit in digits)


CHEATS = {
    "zeros": lambda digits, value: [0] * len(digits),
    "tops": lambda digits, value: [digit.radix - 1 for digit in digits],
    "modulo the width": lambda digits, value: decompose(digits, value % (1 + _top(digits))),
    "modulo the order": lambda digits, value: decompose(digits, value % ORDER % (1 + _top(digits))),
    "the negative": lambda digits, value: decompose(digits, min(-value, _top(digits)) if value < 0 else 0),
    "one digit takes all": lambda digits, value: [*[0] * (len(digits) - 1), value % ORDER],
}


class CheatingVector(VectorArgumentProver):
    """Digits by a cheat where there are no honest ones; ``inverses`` instead of those of the inequalities."""

    cheat = staticmethod(CHEATS["zeros"])
    inverses: tuple[int, ...] = ()
    selectors: tuple[int, ...] | None = None
    forgets_rows = False

    def __init__(self, generators, layout, messages, masks, selected, hedged):
        super().__init__(generators, layout, messages, masks, selected, hedged)
        if self.inverses:
            count = len(layout.digits)
            self._free = list(self.inverses)
            self._vector.digits[count:] = self._free
            self._values.update(enumerate(self._vector.digits))

    def _digits(self, messages, selected):
        digits = []
        for interval in self._layout.intervals:
            distance = sum(sign * messages[slot] for sign, slot in interval.form) - interval.low
            if interval.side is not None and selected[interval.side.group] != interval.side.place:
                distance = 0
            try:
                digits += decompose(interval.digits, distance)
            except ValueError:
                digits += self.cheat(interval.digits, distance) if interval.digits else []
        honest = [int(selected[side.group] == side.place) for side in self._layout.selectors]
        return digits + (honest if self.selectors is None else list(self.selectors))

    def first(self):
        vector, encode = self._vector, self._generators.curve.g1_to_octets
        a = encode(self._generators.commit_masks([value % ORDER for value in vector.digits], vector.alpha))
        self._sent_points = [a]
        return a, encode(self._generators.commit_masks(vector.masks, vector.beta))

    def second(self, y):
        """The true polynomial by interpolation, without its top coefficient."""
        layout, values = self._layout, []
        for c in range(5):
            responses = {key: value * c + self._mask_of.get(key, 0) for key, value in self._values.items()}
            f = [responses[index] for index in range(len(layout.digits))]
            total, power = check_value(layout.digits, f, y, c), pow(y, layout.elements, ORDER)
            for row in () if self.forgets_rows else layout.rows:
                power = power * y % ORDER
                total += power * c * c * (row.a.evaluate(c, responses) * row.b.evaluate(c, responses) - row.d * c * c)
            values.append(total % ORDER)
        commitments = self._vector.second(interpolated(values)[:4])
        self._sent_points += commitments[1:]
        return commitments


PLACES = {
    "the first": lambda layout, value: [0] * layout.bits,
    "the last": lambda layout, value: [1] * layout.bits,
    "the nearest": lambda layout, value: _bits(layout, min(layout.padded, key=lambda one: abs(one - value))),
    "between two": lambda layout, value: _between(layout, value),
    "no bits": lambda layout, value: [2, *[ORDER - 1] * (layout.bits - 1)],
}
"""Which place in the set a cheat claims for a value that is none of it."""


def _bits(layout, element):
    index = layout.padded.index(element)
    return [index >> level & 1 for level in range(layout.bits)]


def _between(layout, value):
    """The "bit" with which the fold of the first two elements is the value: all but the test of bits holds."""
    low, high = layout.padded[:2]
    return [(value - low) * pow(high - low, -1, ORDER) % ORDER, *[0] * (layout.bits - 1)]


class CheatingSet(SetProver):
    """Membership by a cheat where there is none."""

    place = staticmethod(PLACES["the first"])

    def __init__(self, generators, layout, value, message_mask, dice):
        claimed = value if value in layout.scalars else layout.scalars[0]
        super().__init__(generators, layout, claimed, message_mask, dice)
        self._value = value
        if claimed != value:
            self._vector.digits[:] = self.place(layout, value)

    def first(self):
        vector, encode = self._vector, self._vector.generators.curve.g1_to_octets
        a = encode(vector.generators.commit_masks([value % ORDER for value in vector.digits], vector.alpha))
        self._sent_points = [a]
        return a, encode(vector.generators.commit_masks(vector.masks, vector.beta))

    def second(self, y):
        """The true polynomial by interpolation, without its top coefficient."""
        layout, vector, values = self._layout, self._vector, []
        for c in range(layout.bits + 1):
            f = [bit * c + mask for bit, mask in zip(vector.digits, vector.masks, strict=True)]
            values.append(set_value(layout.padded, f, self._value * c + self._message_mask, y, c))
        commitments = vector.second(interpolated(values)[: layout.bits])
        self._sent_points += commitments[1:]
        return commitments


class PresentationForger(PresentationProver):
    """Proves whatever it is told, with whatever signatures. ``vector`` and ``member`` are the classes of its arguments."""

    def __init__(self, curve, seed=1, vector=CheatingVector, member=CheatingSet):
        super().__init__(curve, seeded(seed))
        self._classes = vector, member

    def forge(self, scene: Scene, messages, signatures, *, selected=(), consent=None, envelope=None, statement=None):
        """``messages`` are the scalars of every part, holder's slots first; ``envelope`` changes what comes out."""
        made = relation.PresentationRelation.from_statement(statement or scene.statement)
        suite = self._suite
        bases = [None] * len(made.parts)
        if consent is not None:
            count = len(scene.question.credentials)
            points = points_of(suite, consent, count)
            bases[:count] = [prover.consented_base(suite, point) for point in points]
        parts = []
        for signed, values, signature, base in zip(made.parts, messages, signatures, bases, strict=True):
            key, scalars = octets_to_public_key(suite, signed.key), tuple(value % ORDER for value in values)
            b = suite.commitment(calculate_domain(suite, key, signed.count, signed.header), scalars, self.base_of(base))
            parts.append(prover.ProvenPart(signed, key, octets_to_signature(suite, signature), scalars, b))
        agreed = None if consent is None else HolderConsent(consent, ())
        out = self._envelope(made, parts, PresentationWitness((), (), agreed), scene.bound, list(selected))
        return replace(out, **(envelope or {})).encode()

    def base_of(self, base):
        """The base point of a part; None for P1."""
        return base

    def _arguments(self, made, messages, masks, selected, hedged):
        honest = prover.VectorArgumentProver, prover.SetProver
        prover.VectorArgumentProver, prover.SetProver = self._classes
        try:
            return super()._arguments(made, messages, masks, selected, hedged)
        finally:
            prover.VectorArgumentProver, prover.SetProver = honest


def material(scene: Scene):
    """Messages and signatures of an honest scene, for a forger to change: holder's slots first."""
    witness = scene.witness
    honest = PresentationProver(scene.curve, seeded(1))
    known = honest._read_messages(relation.PresentationRelation.from_statement(scene.statement), witness, scene.bound)
    scalars = [list(prover.mixed_messages_to_scalars(messages)) for messages in known]
    signatures = [one.signature for one in witness.credentials] + [gap.signature for gap in witness.gaps]
    return scalars, signatures, None if witness.consent is None else witness.consent.encoded
