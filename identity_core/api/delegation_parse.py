"""From the wire to what the use cases on delegations take."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from identity_core.api import did_parse
from identity_core.domain.action import MAX_TEXT, Grant, pin_of
from identity_core.domain.delegation import MAX_GRANTS, DelegationState
from identity_core.domain.did import Did
from identity_core.domain.predicate import MAX_SET_SIZE, PredicateType
from identity_core.errors import InvalidRequest
from identity_core.ports.delegations import DelegationPosition, IbctMember
from identity_core.use_cases.delegations.create import UNSAID, Limit, Listed, NewDelegation
from identity_core.use_cases.delegations.list import DelegationQuery
from identity_core.use_cases.delegations.revoke_ibct import IbctToRevoke

Body = Mapping[str, Any]
ParseDid = Callable[[str], Did]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR: Final = re.compile(r"([0-9]{1,17}) ([0-9a-f-]{36})", re.ASCII)


def creation(body: Body, parse_did: ParseDid) -> NewDelegation:
    """The request for a delegation. Raises ``InvalidDid``, ``InvalidRequest``."""
    begins = body.get("notBefore")
    return NewDelegation(
        holder=parse_did(body["holderDid"]),
        agent=parse_did(body["agentDid"]),
        parent_id=body.get("parentId"),
        grants=_grants(body.get("actions", ()), body.get("predicates", ())),
        predicates=tuple(body.get("predicates", ())),
        credential_ids=_listed(body, "credentialIds"),
        schema_ids=_listed(body, "schemaIds"),
        verifiers=_listed(body, "verifiers"),
        autonomy_level=body["autonomyLevel"],
        max_uses=_limit(body, "maxUses"),
        max_refusals=_limit(body, "maxRefusals"),
        max_thresholds=_limit(body, "maxThresholds"),
        max_depth=body.get("maxDepth", 0),
        not_before=None if begins is None else did_parse.time_of(begins, "notBefore"),
        expires_at=did_parse.time_of(body["expiresAt"], "expiresAt"),
        purpose=body.get("purpose"),
        holder_proof=body.get("holderProof"),
        request={name: value for name, value in body.items() if name != "holderProof"},
    )


def query(given: Mapping[str, Any], parse_did: ParseDid) -> DelegationQuery:
    """The filters of a list."""
    return DelegationQuery(
        holder=parse_did(given["holderDid"]) if "holderDid" in given else None,
        agent=parse_did(given["agentDid"]) if "agentDid" in given else None,
        status=DelegationState(given["status"]) if "status" in given else None,
    )


def position(text: str | None) -> DelegationPosition | None:
    """A cursor of ``delegation_render.cursor``. Raises ``InvalidRequest``."""
    inner = did_parse.cursor(text)
    if inner is None:
        return None
    match = _CURSOR.fullmatch(inner)
    if match is None:
        raise InvalidRequest("The cursor is not one of ours.", details={"parameter": "cursor"})
    return DelegationPosition(_EPOCH + timedelta(microseconds=int(match[1])), match[2])


def ibct_revocation(body: Body, parse_did: ParseDid) -> IbctToRevoke:
    """Which token. Raises ``InvalidRequest`` unless it is named by exactly one of ``id`` and ``nonce``."""
    if ("id" in body) == ("nonce" in body):
        raise InvalidRequest("Name the IBCT by its id or by its nonce, one of the two.")
    member: IbctMember = "id" if "id" in body else "nonce"
    expires = body.get("expiresAt")
    return IbctToRevoke(
        invoker=parse_did(body["invoker"]),
        member=member,
        value=body[member],
        expires_at=None if expires is None else did_parse.time_of(expires, "expiresAt"),
    )


def _grants(actions: Sequence[str], predicates: Sequence[Body]) -> tuple[Grant, ...]:
    """The grants that are written out and those of the predicates, each once."""
    grants = dict.fromkeys(_grant(text, place) for place, text in enumerate(actions))
    if sum(len(value) for each in predicates for value in each["values"] if isinstance(value, list)) > MAX_SET_SIZE:
        says = f"The sets of a delegation have at most {MAX_SET_SIZE} elements in all."
        raise InvalidRequest(says, details={"member": "predicates"})
    for place, predicate in enumerate(predicates):
        grants |= dict.fromkeys(_compiled(predicate, place))
        # The rest would cost as much again, and there are too many already.
        if len(grants) > MAX_GRANTS:
            break
    return tuple(grants)


def _grant(text: str, place: int) -> Grant:
    try:
        return Grant.parse(text)
    except ValueError as error:
        raise _refused("actions", place, str(error)) from error


def _compiled(predicate: Body, place: int) -> list[Grant]:
    """One grant for each value."""
    try:
        kind = PredicateType(predicate["type"])
        room = MAX_TEXT - len(f"{Grant(predicate['attributeName'], kind, None)}.")
        grants = [Grant(predicate["attributeName"], kind, pin_of(value)) for value in predicate["values"]]
        if any(isinstance(value, list) is not (kind is PredicateType.SET_MEMBER) for value in predicate["values"]):
            raise ValueError("the values of set_member are arrays, those of the other types are none")
        if any(len(grant.pin or "") > room for grant in grants):
            raise ValueError("the name of the attribute is too long")
    except ValueError as error:
        raise _refused("predicates", place, str(error)) from error
    return grants


def _refused(member: str, place: int, reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"An entry of {member} is not one.", details={"member": member, "place": place, "reason": reason}
    )


def _listed(body: Body, member: str) -> Listed:
    if member not in body:
        return UNSAID
    names = body[member]
    return None if names is None else tuple(dict.fromkeys(names))


def _limit(body: Body, member: str) -> Limit:
    said: Limit = body.get(member, UNSAID)
    return said
