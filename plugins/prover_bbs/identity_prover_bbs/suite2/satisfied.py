"""The check that the messages satisfy a statement, before a proof is made."""

from __future__ import annotations

from collections.abc import Sequence

from identity_bbs.encoding import mixed_messages_to_scalars
from identity_core.domain.credentials.schema import Message
from identity_core.errors import PredicateNotSatisfied
from identity_prover_bbs.suite2.relation import PresentationRelation


def check_satisfied(relation: PresentationRelation, known: Sequence[tuple[Message, ...]]) -> list[int]:
    """Return the alternative of each group that holds. Raises ``PredicateNotSatisfied``, which does not name the failure;
    everything is checked."""
    form = relation.form
    scalars = [mixed_messages_to_scalars(messages) for messages in known]
    holds = [goal.admits(known[part][goal.slot]) for part, goal in form.goals]
    holds += [scalars[each.slot.part][each.slot.slot] != each.scalar for each in relation.layout.unequal]
    for interval in relation.layout.intervals:
        if interval.side is None:
            value = sum([sign * scalars[part][slot] for sign, (part, slot) in interval.form])
            holds.append((interval.low <= value) & (value <= interval.high))
    holds += [
        scalars[slot.part][slot.slot] == scalars[owner.part][owner.slot] for slot, owner in relation.owner.items()
    ]
    selected: list[int] = []
    for group in range(len(relation.statement.question.either)):
        sides = [goal.admits(known[part][goal.slot]) for number_, part, goal in form.alternatives if number_ == group]
        holds.append(sum(sides) > 0)
        selected.append(sum([place * (side & (sum(sides[:place]) == 0)) for place, side in enumerate(sides)]))
    if sum(holds) != len(holds):
        raise PredicateNotSatisfied()
    return selected
