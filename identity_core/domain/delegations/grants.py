"""The grants of a delegation, compiled from the actions and predicates of a request."""

from __future__ import annotations

from identity_core.domain.delegations.action import MAX_TEXT, Grant, pin_of
from identity_core.domain.delegations.delegation import MAX_GRANTS
from identity_core.domain.proofs.predicate import MAX_SET_SIZE, PREDICATE_NAMES, PredicateType
from identity_core.errors import InvalidRequest
from identity_core.wire import PinnedPredicate


def compile_grants(actions: tuple[str, ...], predicates: tuple[PinnedPredicate, ...]) -> tuple[Grant, ...]:
    """Return the grants of ``actions`` and of ``predicates``, each once.

    Raises ``InvalidRequest``: when an entry is malformed; ``details`` name the member and the place."""
    grants = dict.fromkeys(_grant(text, place) for place, text in enumerate(actions))
    if sum(len(value) for each in predicates for value in each.values if isinstance(value, list)) > MAX_SET_SIZE:
        says = f"The sets of a delegation have at most {MAX_SET_SIZE} elements in all."
        raise InvalidRequest(says, details={"member": "predicates"})
    for place, predicate in enumerate(predicates):
        grants |= dict.fromkeys(_compiled(predicate, place))
        # The rest would cost as much again, and there are too many already.
        if len(grants) > MAX_GRANTS:
            break
    if not all((grant.attribute or "").isprintable() for grant in grants):
        raise InvalidRequest("The name of an attribute is of printable characters.")
    return tuple(grants)


def _grant(text: str, place: int) -> Grant:
    try:
        return Grant.parse(text)
    except ValueError as error:
        raise _refused("actions", place, str(error)) from error


def _compiled(predicate: PinnedPredicate, place: int) -> list[Grant]:
    """Return one grant for each value of a predicate."""
    try:
        kind = predicate.type
        if kind not in PREDICATE_NAMES:
            raise ValueError(f"the type is none of {', '.join(PREDICATE_NAMES)}")
        takes_array = kind == PredicateType.SET_MEMBER
        room = MAX_TEXT - len(f"{Grant(predicate.attribute_name, kind, None)}.")
        grants = [Grant(predicate.attribute_name, kind, pin_of(value)) for value in predicate.values]
        if any(isinstance(value, list) is not takes_array for value in predicate.values):
            raise ValueError(f"the values of {kind} are {'' if takes_array else 'no '}arrays")
        if any(len(grant.pin or "") > room for grant in grants):
            raise ValueError("the name of the attribute is too long")
    except ValueError as error:
        raise _refused("predicates", place, str(error)) from error
    return grants


def _refused(member: str, place: int, reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"An entry of {member} is not one.", details={"member": member, "place": place, "reason": reason}
    )
