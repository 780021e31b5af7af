"""A question in its normal form: at most one goal per slot, alternatives, inequalities, classes of equal slots (PROTOCOL-2.md
§4.2).

Prover and verifier do the same public arithmetic. Alternative predicates get goals of their own; the others of one attribute of one
credential are merged as in suite 1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct

from identity_bound_credentials.domain.bound_credential import ATTRIBUTES_SLOT, NO_LAST_DAY, BoundHeader
from identity_bound_credentials.domain.question import AskedCredential, Question
from identity_bound_credentials.domain.status_gaps import BITS
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import NULL_OCTETS, NULL_SCALAR
from identity_core.domain.credentials.schema import Message
from identity_core.domain.proofs.asked import NotEqual
from identity_core.domain.proofs.predicate import Equals, Goal, InRange, MemberOf, Predicate, normalise, unsupported

MAX_ELEMENTS: Final = 384
MAX_ROWS: Final = 32


class Slot(NamedTuple):
    """A slot of a part: credentials count from 0 in the order of the question, followed by their status parts."""

    part: int
    slot: int


class PartGoal(NamedTuple):
    """A goal about a slot of a part."""

    part: int
    goal: Goal


class Alternative(NamedTuple):
    """One of a group of which at least one holds: an interval, or one value."""

    group: int
    part: int
    goal: InRange | Equals


class Inequality(NamedTuple):
    """The requirement that the slot's message differs from this one."""

    slot: Slot
    message: Message


class NormalForm(Struct, frozen=True):
    """The goals that a proof shows about attributes. ``classes`` hold slots that are equal."""

    goals: tuple[PartGoal, ...]
    alternatives: tuple[Alternative, ...]
    inequalities: tuple[Inequality, ...]
    classes: tuple[tuple[Slot, ...], ...]


@lru_cache(maxsize=64)
def normal_form(question: Question) -> NormalForm:
    """Return the normal form of a question. Raises ``PredicateUnsupported``: for a question that is empty, trivial or publicly
    contradictory."""
    first = 0
    group_of = {number: group for group, numbers in enumerate(question.either) for number in numbers}
    goals: list[PartGoal] = []
    alternatives: list[Alternative] = []
    inequalities: list[Inequality] = []
    for part, credential in enumerate(question.credentials):
        numbered = list(enumerate(credential.predicates, first))
        first += len(numbered)
        alternatives += [
            Alternative(group_of[number], part, _alternative(credential.header, predicate))
            for number, predicate in numbered
            if number in group_of
        ]
        asked = AskedCredential(
            credential.header, tuple(predicate for number, predicate in numbered if number not in group_of)
        )
        part_goals, part_inequalities = _of_part(part, asked)
        goals += part_goals
        inequalities += part_inequalities
    classes = tuple(tuple(_slot_of(question, *one) for one in group) for group in question.same)
    equal = ((part, goal) for part, goal in goals if isinstance(goal, Equals))
    shown = {Slot(part, goal.slot) for part, goal in equal if isinstance(goal.message, bytes)}
    if any(Slot(part, goal.slot) in shown for _, part, goal in alternatives):
        raise unsupported("an alternative is about an attribute that eq discloses: leave it or the eq out")
    if any(slot in shown for group in classes for slot in group):
        raise unsupported("an attribute that eq discloses is in a class of same: ask eq of the others too")
    not_null = {Slot(part, goal.slot) for part, goal in goals} | {each.slot for each in inequalities}
    for group in classes:
        if not_null.isdisjoint(group):
            inequalities.append(Inequality(group[0], _null(question.credentials[group[0].part].header, group[0].slot)))
    return NormalForm(tuple(goals), tuple(sorted(alternatives, key=_group)), tuple(inequalities), classes)


def check_size(question: Question) -> None:
    """Check that a question fits a vector on any day (PROTOCOL-2.md §6). Raises ``PredicateUnsupported``: as ``normal_form``, and
    for a question that needs more elements or rows."""
    form = normal_form(question)
    intervals = [goal for _, goal in form.goals if isinstance(goal, InRange)]
    sides = [goal for _, _, goal in form.alternatives]
    digits = [_digits(goal.high - goal.low) for goal in (*intervals, *sides) if isinstance(goal, InRange)]
    each = 2 * _digits(NO_LAST_DAY) * question.validity + 2 * _digits((1 << BITS) - 1) * question.status
    selectors = len(sides) - len(question.either)
    elements = sum(digits) + len(question.credentials) * each + selectors + len(form.inequalities)
    if elements > MAX_ELEMENTS or len(sides) + len(form.inequalities) > MAX_ROWS:
        raise unsupported(f"the question needs {elements} elements; ask less at once")


def _digits(width: int) -> int:
    """Return the number of digits for 0 … width. PROTOCOL.md, equation (4.1)."""
    count = 0
    while width >= 3:
        width, count = width - 3 * ((width + 1) // 4), count + 1
    return count + (width > 0)


def _group(alternative: Alternative) -> int:
    return alternative.group


def _alternative(header: BoundHeader, predicate: Predicate | NotEqual) -> InRange | Equals:
    goal = _moved(normalise(header.schema, [predicate])[0]) if isinstance(predicate, Predicate) else None
    if not isinstance(goal, InRange | Equals):
        raise unsupported("an alternative is an interval or one value")
    return goal


def _of_part(part: int, credential: AskedCredential) -> tuple[list[PartGoal], list[Inequality]]:
    header = credential.header
    merged = [predicate for predicate in credential.predicates if isinstance(predicate, Predicate)]
    goals = {goal.slot: goal for goal in map(_moved, normalise(header.schema, merged) if merged else ())}
    rows: dict[int, set[Message]] = {}
    for predicate in credential.predicates:
        if isinstance(predicate, NotEqual):
            slot, message = _slot_and_message(header, predicate)
            goal = goals.get(slot)
            if isinstance(goal, MemberOf):
                goals[slot] = _without_message(goal, message)
            elif isinstance(goal, Equals) and goal.message == message:
                raise unsupported("no value can satisfy the predicates together")
            elif goal is None or goal.admits(message):
                rows.setdefault(slot, set()).add(message)
    for slot in rows.keys() - goals.keys():
        # A null is different from every value, but it has none.
        rows[slot].add(_null(header, slot))
    inequalities = [
        Inequality(Slot(part, slot), message) for slot in sorted(rows) for message in sorted(rows[slot], key=_order)
    ]
    return [PartGoal(part, goals[slot]) for slot in sorted(goals)], inequalities


def _order(message: Message) -> tuple[int, bytes]:
    return (message, b"") if isinstance(message, int) else (0, message)


def _without_message(goal: MemberOf, message: Message) -> Goal:
    left = tuple(each for each in goal.messages if each != message)
    return MemberOf(goal.slot, left) if len(left) > 1 else Equals(goal.slot, left[0])


def _moved(goal: Goal) -> Goal:
    """Return the goal at its slot in a credential of suite 2."""
    return replace(goal, slot=ATTRIBUTES_SLOT + goal.slot)


def _slot_and_message(header: BoundHeader, predicate: NotEqual) -> tuple[int, Message]:
    if predicate.operand.number is None:
        return header.hashed_slot(predicate.attribute), predicate.operand.encoded
    return header.numeric_slot(predicate.attribute), predicate.operand.scalar


def _slot_of(question: Question, part: int, name: str) -> Slot:
    header = question.credentials[part].header
    attribute = header.schema.attribute(name)
    is_ordered = attribute is not None and attribute.type.ordered
    return Slot(part, header.numeric_slot(name) if is_ordered else header.hashed_slot(name))


def _null(header: BoundHeader, slot: int) -> Message:
    return NULL_OCTETS if slot < ATTRIBUTES_SLOT + len(header.schema.attributes) else NULL_SCALAR
