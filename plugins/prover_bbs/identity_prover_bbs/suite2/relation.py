"""A presentation in scalars: parts, what each discloses and hides, what is argued, and the bytes of it all (PROTOCOL-2.md §4.3, §7).

Prover and verifier both make it from the statement alone, so that nothing about the shape of a proof comes from the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

from identity_bound_credentials.domain.bound_credential import (
    FIRST_DAY_SLOT,
    HANDLE_SLOT,
    LAST_DAY_SLOT,
    NO_FIRST_DAY,
    NO_LAST_DAY,
)
from identity_bound_credentials.domain.normal_form import NormalForm, Slot, normal_form
from identity_bound_credentials.domain.presentation import PresentationContext, PresentationStatement
from identity_bound_credentials.domain.status_gaps import BITS
from msgspec import Struct

from identity_bbs.bls12381.keys import hash_to_scalar
from identity_bbs.encoding import mixed_messages_to_scalars
from identity_bbs.frames import frame, number, optional, scalar
from identity_bbs.openings import HOLDER_SLOT
from identity_core.domain.credentials.schema import Message
from identity_core.domain.proofs.predicate import Equals, InRange, MemberOf
from identity_prover_bbs.relation import set_scalars
from identity_prover_bbs.set_argument import SetLayout
from identity_prover_bbs.suite2 import labels
from identity_prover_bbs.suite2.layout import Interval, Side, Unequal, VectorLayout
from identity_prover_bbs.transcript import context_fields

GAP_MESSAGES: Final = 2
LOW_SLOT: Final = 0
HIGH_SLOT: Final = 1
_CONSENTED_SCALAR: Final = 1
"""What the holder's slot discloses where the holder consents: a constant, taken out of the base point again. One library refuses 0."""


class SignedPart(Struct, frozen=True):
    """One signature: a credential, or a gap of a status list."""

    is_credential: bool
    key: bytes
    method: str
    header: bytes
    count: int
    disclosed: Mapping[int, int]
    consented: bool

    @property
    def hidden(self) -> list[int]:
        """The slots that stay undisclosed, ascending."""
        return [slot for slot in range(self.count) if slot not in self.disclosed]

    @property
    def encoded(self) -> bytes:
        """Its frame in the statement."""
        kind = b"credential" if self.is_credential else b"status"
        base = b"consented" if self.consented else b"plain"
        fields = [kind, self.key, self.method.encode(), sha256(self.header).digest(), base]
        return frame(labels.PART, fields)


class PresentationRelation(Struct, frozen=True):
    """``owner`` maps each slot of a class to the first of it, whose response stands for all; ``equal`` has the public scalars of slots
    that stay undisclosed; ``shown`` the bytes that eq discloses; ``sets`` what is one of a set."""

    statement: PresentationStatement
    form: NormalForm
    parts: tuple[SignedPart, ...]
    shown: tuple[tuple[int, int, bytes], ...]
    owner: Mapping[Slot, Slot]
    equal: Mapping[Slot, int]
    layout: VectorLayout
    sets: tuple[tuple[Slot, SetLayout], ...]
    encoded: bytes

    @staticmethod
    @lru_cache(maxsize=16)
    def from_statement(statement: PresentationStatement) -> PresentationRelation:
        """Raise ``PredicateUnsupported``. A statement is public and often proved again, so the last ones are remembered."""
        form = normal_form(statement.question)
        shown = tuple(
            (part, goal.slot, goal.message)
            for part, goal in form.goals
            if isinstance(goal, Equals) and isinstance(goal.message, bytes)
        )
        equal = {
            Slot(part, goal.slot): goal.message
            for part, goal in form.goals
            if isinstance(goal, Equals) and isinstance(goal.message, int)
        }
        sets = tuple(
            (Slot(part, goal.slot), SetLayout(goal.slot, set_scalars(goal.messages)))
            for part, goal in form.goals
            if isinstance(goal, MemberOf)
        )
        parts, owner = _parts(statement, shown), _owners(statement, form)
        unequal = [Unequal(each.slot, _scalar(each.message)) for each in form.inequalities]
        layout = VectorLayout.from_intervals(_intervals(statement, form), unequal)
        data = _statement_octets(statement, form, parts, layout)
        return PresentationRelation(statement, form, parts, shown, owner, equal, layout, sets, data)

    def owned(self, part: int) -> list[Slot]:
        """Return the slots whose responses a part sends: all that the lead hides, of any other those that no earlier one stands for."""
        hidden = [Slot(part, slot) for slot in self.parts[part].hidden]
        return hidden if part == 0 else [slot for slot in hidden if self.owner.get(slot, slot) == slot]

    def first_message(
        self,
        bound: bytes,
        inits: Sequence[bytes],
        consent: bytes | None,
        pseudonym: Sequence[bytes],
        commitments: Sequence[bytes],
    ) -> bytes:
        """Return the transcript before y. Equation (7.1)."""
        shown = frame(labels.PSEUDONYM, pseudonym) if pseudonym else b""
        return frame(
            labels.FIRST_MESSAGE,
            [self.encoded, bound, optional(consent), number(len(inits)), *inits, optional(shown or None), *commitments],
        )

    def init_octets(self, part: int, points: bytes, domain: int) -> bytes:
        """Return the first message of a part."""
        signed = self.parts[part]
        shown = frame(
            labels.DISCLOSED, [number(slot) + scalar(signed.disclosed[slot]) for slot in sorted(signed.disclosed)]
        )
        counts = [number(part), number(len(signed.hidden)), number(signed.count)]
        return frame(labels.INIT, [*counts, shown, points, scalar(domain)])


def first_challenge(first: bytes) -> int:
    """y. Equation (7.2)."""
    return hash_to_scalar(first, labels.CHALLENGE_DST)


def presentation_header(statement: bytes, bound: bytes, first: bytes, coefficients: Sequence[bytes]) -> bytes:
    """``ph`` of the lead. Equation (7.3)."""
    return frame(labels.PRESENTATION, [statement, bound, sha256(first).digest(), *coefficients])


def context_octets(bound: PresentationContext) -> bytes:
    """Return every field of the context, and the agent's key."""
    return frame(labels.CONTEXT, [*context_fields(bound.context), optional(bound.agent_key)])


def _parts(statement: PresentationStatement, shown: Sequence[tuple[int, int, bytes]]) -> tuple[SignedPart, ...]:
    consented = statement.question.consented
    parts = []
    for number_, (credential, key) in enumerate(zip(statement.question.credentials, statement.keys, strict=True)):
        header = credential.header
        disclosed = {HOLDER_SLOT: _CONSENTED_SCALAR} if consented else {}
        disclosed |= {slot: _scalar(data) for part, slot, data in shown if part == number_}
        parts.append(SignedPart(True, key, header.method, header.encoded, header.message_count, disclosed, consented))
    for status in statement.status:
        epoch = status.epoch
        parts.append(SignedPart(False, status.public_key, epoch.method, epoch.header, GAP_MESSAGES, {}, False))
    return tuple(parts)


def _owners(statement: PresentationStatement, form: NormalForm) -> dict[Slot, Slot]:
    count = len(statement.question.credentials)
    classes = list(form.classes)
    if count > 1 and not statement.question.consented:
        # One holder: in a consented proof the consent says it.
        classes.append(tuple(Slot(part, HOLDER_SLOT) for part in range(count)))
    return {slot: min(group) for group in classes for slot in group}


def _intervals(statement: PresentationStatement, form: NormalForm) -> list[Interval]:
    """Validity of each credential, status of each, then the attributes' intervals, then the alternatives by group."""
    count = len(statement.question.credentials)
    intervals: list[Interval] = []
    if statement.day is not None:
        for part in range(count):
            intervals.append(Interval(((1, Slot(part, FIRST_DAY_SLOT)),), NO_FIRST_DAY, statement.day))
            intervals.append(Interval(((1, Slot(part, LAST_DAY_SLOT)),), statement.day, NO_LAST_DAY))
    for part in range(len(statement.status)):
        handle, low, high = Slot(part, HANDLE_SLOT), *(Slot(count + part, end) for end in (LOW_SLOT, HIGH_SLOT))
        intervals.append(Interval(((1, handle), (-1, low)), 1, 1 << BITS))
        intervals.append(Interval(((1, high), (-1, handle)), 1, 1 << BITS))
    intervals += [
        Interval(((1, Slot(part, goal.slot)),), goal.low, goal.high)
        for part, goal in form.goals
        if isinstance(goal, InRange)
    ]
    places: dict[int, int] = {}
    for group, part, goal in form.alternatives:
        side = Side(group, places.get(group, 0))
        places[group] = side.place + 1
        bounds = (goal.low, goal.high) if isinstance(goal, InRange) else (_scalar(goal.message),) * 2
        intervals.append(Interval(((1, Slot(part, goal.slot)),), *bounds, side))
    return intervals


def _scalar(message: Message) -> int:
    return mixed_messages_to_scalars([message])[0]


def _statement_octets(
    statement: PresentationStatement, form: NormalForm, parts: Sequence[SignedPart], layout: VectorLayout
) -> bytes:
    goals = [_interval_octets(interval) for interval in layout.intervals]
    for part, goal in form.goals:
        place = _slot(Slot(part, goal.slot))
        if isinstance(goal, Equals):
            goals.append(frame(labels.EQUALS, [place, _kind(goal.message), scalar(_scalar(goal.message))]))
        elif isinstance(goal, MemberOf):
            goals.append(
                frame(labels.MEMBER_OF, [place, set_digest(_kind(goal.messages[0]), set_scalars(goal.messages))])
            )
    rows = [frame(labels.NOT_EQUAL, [_slot(each.slot), scalar(each.scalar)]) for each in layout.unequal]
    classes = [frame(labels.CLASS, map(_slot, group)) for group in form.classes]
    day = None if statement.day is None else number(statement.day)
    lists = [[part.encoded for part in parts], goals, rows, classes]
    counted = [field for fields in lists for field in (number(len(fields)), *fields)]
    return frame(labels.STATEMENT, [labels.SUITE.encode(), statement.question.digest, optional(day), *counted])


def _interval_octets(interval: Interval) -> bytes:
    form = frame(labels.FORM, [(b"+" if sign > 0 else b"-") + _slot(slot) for sign, slot in interval.form])
    side = None if interval.side is None else number(interval.side.group) + number(interval.side.place)
    return frame(labels.IN_RANGE, [form, scalar(interval.low), scalar(interval.high), optional(side)])


def _slot(slot: Slot) -> bytes:
    return number(slot.part) + number(slot.slot)


def _kind(message: Message) -> bytes:
    return b"octets" if isinstance(message, bytes) else b"scalar"


@lru_cache(maxsize=16)
def set_digest(kind: bytes, scalars: tuple[int, ...]) -> bytes:
    """SHA-256 of a set: the kind of its slot, count, and elements strictly ascending as scalars."""
    return sha256(frame(labels.SET, [kind, number(len(scalars)), b"".join(map(scalar, scalars))])).digest()
