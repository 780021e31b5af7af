"""A statement in scalars: what is disclosed, what is hidden, and what is argued about which slot (PROTOCOL.md §3, §6).

Prover and verifier both make it from the statement alone, so that nothing about the shape of a proof comes from the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256

from msgspec import Struct

from identity_bbs.encoding import mixed_messages_to_scalars
from identity_bbs.frames import frame, number, scalar
from identity_bbs.suite import MAX_MESSAGES
from identity_core.domain.credentials.schema import Message
from identity_core.domain.proofs.predicate import Equals, Goal, InRange, MemberOf, normalise
from identity_core.domain.proofs.proof import Context, Statement
from identity_core.errors import PredicateUnsupported
from identity_prover_bbs import labels
from identity_prover_bbs.generators import MAX_DIGITS
from identity_prover_bbs.range_argument import RangeLayout
from identity_prover_bbs.set_argument import SetLayout
from identity_prover_bbs.transcript import context_octets, first_challenge, predicate_octets, set_digest


class Relation(Struct, frozen=True):
    """``equal`` are numeric slots whose scalar is public but stays undisclosed; ``shown`` hashed slots with their bytes."""

    statement: Statement
    header: bytes
    goals: tuple[Goal, ...]
    shown: Mapping[int, bytes]
    disclosed: Mapping[int, int]
    hidden: tuple[int, ...]
    equal: Mapping[int, int]
    ranges: RangeLayout
    sets: tuple[SetLayout, ...]
    encoded: bytes

    @staticmethod
    @lru_cache(maxsize=16)
    def from_statement(statement: Statement) -> Relation:
        """Raise ``PredicateUnsupported``. A statement is public and often proved again, so the last ones are remembered."""
        goals = normalise(statement.schema, statement.predicates)
        equalities = [goal for goal in goals if isinstance(goal, Equals)]
        shown = {goal.slot: goal.message for goal in equalities if isinstance(goal.message, bytes)}
        equal = {goal.slot: goal.message for goal in equalities if isinstance(goal.message, int)}
        ranges = RangeLayout.from_goals([goal for goal in goals if isinstance(goal, InRange)])
        sets = tuple(SetLayout(goal.slot, set_scalars(goal.messages)) for goal in goals if isinstance(goal, MemberOf))
        if ranges.bounds[-1] > MAX_DIGITS:
            raise PredicateUnsupported(details={"reason": f"the intervals need more than {MAX_DIGITS} digits in all"})
        disclosed = dict(zip(shown, mixed_messages_to_scalars(list(shown.values())), strict=True))
        hidden = tuple(slot for slot in range(statement.schema.message_count) if slot not in disclosed)
        data = _statement_octets(statement, goals)
        header = statement.schema.header
        return Relation(statement, header, goals, shown, disclosed, hidden, equal, ranges, sets, data)

    @property
    def argument_octets(self) -> tuple[int, ...]:
        """The exact lengths of the sub-proofs: that of all ranges if there is one, then of each set in order of slots."""
        return (*([self.ranges.byte_count] if self.ranges.goals else []), *(layout.byte_count for layout in self.sets))

    def first_challenge(self, context: Context, points: bytes, domain: int, commitments: list[bytes]) -> Transcript:
        """Return the first message hashed: everything sent so far, the BBS commitments and every A and B. Equation (6.1)."""
        bound = context_octets(context)
        shown = frame(labels.DISCLOSED, [number(slot) + scalar(value) for slot, value in self.disclosed.items()])
        counts = [number(len(self.hidden)), number(self.statement.schema.message_count)]
        first = frame(labels.FIRST_MESSAGE, [self.encoded, bound, *counts, shown, points, scalar(domain), *commitments])
        return Transcript(first_challenge(first), sha256(first).digest(), self.encoded, bound)


class Transcript(Struct, frozen=True):
    """The values that are known after y is drawn."""

    y: int
    digest: bytes
    statement: bytes
    context: bytes

    def presentation_header(self, coefficients: list[bytes]) -> bytes:
        """``ph``: what the BBS challenge c hashes beyond the BBS proof itself. Equation (6.2)."""
        return frame(labels.PRESENTATION, [self.statement, self.context, self.digest, *coefficients])


@lru_cache(maxsize=16)
def set_scalars(messages: tuple[Message, ...]) -> tuple[int, ...]:
    """Return the set's elements as they are signed, strictly ascending. Sets are public, so the hashes may be remembered."""
    return tuple(sorted(_hashed_in_parts(messages)))


def _hashed_in_parts(messages: tuple[Message, ...]) -> list[int]:
    """Return the hashes, computed in parts, because the mapping accepts at most as many messages as a credential has."""
    starts = range(0, len(messages), MAX_MESSAGES)
    return [scalar for start in starts for scalar in mixed_messages_to_scalars(messages[start : start + MAX_MESSAGES])]


def _statement_octets(statement: Statement, goals: tuple[Goal, ...]) -> bytes:
    """Issuer, header, the predicates as asked in their order, and what they come to."""
    asked = []
    for predicate in statement.predicates:
        operand = predicate.operands[0].encoded
        if predicate.type.takes_array:
            operand = _set(tuple(one.encoded if one.number is None else one.scalar for one in predicate.operands))
        asked.append(predicate_octets(predicate, operand))
    issuer = statement.issuer
    return frame(
        labels.STATEMENT,
        [
            labels.SUITE.encode(),
            issuer.public_key,
            issuer.verification_method.encode(),
            statement.schema.header,
            number(len(asked)),
            *asked,
            *map(_goal_octets, goals),
        ],
    )


def _goal_octets(goal: Goal) -> bytes:
    if isinstance(goal, InRange):
        return frame(labels.IN_RANGE, [number(goal.slot), scalar(goal.low), scalar(goal.high)])
    if isinstance(goal, MemberOf):
        return frame(labels.MEMBER_OF, [number(goal.slot), _set(goal.messages)])
    value = mixed_messages_to_scalars([goal.message])[0]
    return frame(labels.EQUALS, [number(goal.slot), _kind(goal.message), scalar(value)])


def _set(messages: tuple[Message, ...]) -> bytes:
    return set_digest(_kind(messages[0]), set_scalars(messages))


def _kind(message: Message) -> bytes:
    return b"octets" if isinstance(message, bytes) else b"scalar"
