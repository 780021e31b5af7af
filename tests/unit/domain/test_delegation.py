"""Delegations and their chains: states over time, a child that is narrower in every dimension, and what a chain allows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_client.action import Action, Grant
from identity_codec.values import replace
from identity_core.domain.delegations import delegation
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import Delegation, DelegationState, Suspension
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    DelegationExpired,
    DelegationInvalid,
    DelegationNotActive,
    DelegationNotNarrower,
    DelegationRevoked,
    IdentityError,
    InvalidRequest,
    ScopeMismatch,
)

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
DAY = timedelta(days=1)
HANA, AKI, BEN = (Did.parse(f"did:ids:{name}") for name in ("hana", "aki", "ben"))
AGE = Action.parse("zkp.prove.age.gte")

ROOT = Delegation(
    id="root",
    holder=HANA,
    agent=AKI,
    grantor=HANA,
    parent_id=None,
    grants=(Grant.parse("zkp.prove.age.*"), Grant.parse("zkp.prove.city.eq")),
    credential_ids=("c1", "c2"),
    schema_ids=("s1",),
    verifiers=("https://shop.example",),
    autonomy_level=5,
    max_uses=10,
    max_refusals=2,
    max_thresholds=3,
    max_depth=2,
    not_before=START,
    expires_at=START + 30 * DAY,
    created_at=START,
    created_by=str(HANA),
)
CHILD = replace(ROOT, id="child", agent=BEN, grantor=AKI, parent_id="root", max_depth=1, created_by=str(AKI))
CHAIN = DelegationChain((CHILD, ROOT))

WIDER: list[tuple[str, dict[str, Any]]] = [
    ("actions", {"grants": (Grant.parse("zkp.prove.*.gte"),)}),
    ("actions", {"grants": (Grant.parse("zkp.prove.agency.gte"),)}),
    ("actions", {"grants": (Grant.parse("zkp.prove.age.gte"), Grant.parse("zkp.prove.city.*"))}),
    ("credentialIds", {"credential_ids": ("c1", "c3")}),
    ("credentialIds", {"credential_ids": None}),
    ("schemaIds", {"schema_ids": None}),
    ("schemaIds", {"schema_ids": ("s2",)}),
    ("verifiers", {"verifiers": None}),
    ("verifiers", {"verifiers": ("https://shop.example", "https://else.example")}),
    ("autonomyLevel", {"autonomy_level": 6}),
    ("maxUses", {"max_uses": 11}),
    ("maxUses", {"max_uses": None}),
    ("maxRefusals", {"max_refusals": 3}),
    ("maxRefusals", {"max_refusals": None}),
    ("maxThresholds", {"max_thresholds": 4}),
    ("maxThresholds", {"max_thresholds": None}),
    ("maxDepth", {"max_depth": 2}),
    ("notBefore", {"not_before": START - timedelta(microseconds=1)}),
    ("expiresAt", {"expires_at": START + 30 * DAY + timedelta(microseconds=1)}),
]


# The same for every cause, so that a reference to a delegation of others reveals nothing.
UNUSABLE = {"remedies": ["createDelegation; its id is the delegationRef"]}


@pytest.mark.parametrize(("member", "change"), WIDER)
def test_a_child_that_is_wider_in_one_dimension_is_refused(member: str, change: dict[str, Any]) -> None:
    wider = replace(CHILD, **change)
    with pytest.raises(DelegationNotNarrower) as refused:
        wider.check_narrower(ROOT)
    assert refused.value.details == {"member": member}
    with pytest.raises(DelegationInvalid) as used:
        DelegationChain((wider, ROOT)).check_sound(HANA, BEN)
    assert used.value.details == UNUSABLE


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"grants": (Grant.parse("zkp.prove.age.gte.18"),)},
        {"credential_ids": ()},
        {"max_uses": 0},
        {"autonomy_level": 0, "max_depth": 0},
        {"not_before": START + DAY, "expires_at": START + 2 * DAY},
    ],
)
def test_a_child_may_be_as_wide_or_narrower(change: dict[str, Any]) -> None:
    DelegationChain((replace(CHILD, **change), ROOT)).check_sound(HANA, BEN)


def test_under_a_parent_without_limits_everything_is_narrower() -> None:
    free = replace(
        ROOT,
        credential_ids=None,
        schema_ids=None,
        verifiers=None,
        max_uses=None,
        max_refusals=None,
        max_thresholds=None,
    )
    CHILD.check_narrower(free)
    replace(CHILD, max_uses=None, verifiers=None).check_narrower(free)


@pytest.mark.parametrize(
    "records",
    [
        (replace(CHILD, grantor=BEN), ROOT),
        (replace(CHILD, grantor=HANA), ROOT),
        (replace(CHILD, holder=AKI), ROOT),
        (replace(CHILD, parent_id="another"), ROOT),
        (CHILD, replace(ROOT, max_depth=0)),
        (CHILD, replace(ROOT, grantor=AKI)),
        (CHILD, replace(ROOT, parent_id="child", grantor=BEN)),
        (replace(CHILD, agent=AKI), ROOT),
        (replace(CHILD, agent=HANA), ROOT),
        (CHILD,),
        (CHILD, CHILD, ROOT),
    ],
    ids=[
        "granted by another holder",
        "granted by the holder",
        "of another holder",
        "of another parent",
        "too deep",
        "a root that the holder did not give",
        "a circle",
        "to the grantor itself",
        "back to the holder",
        "without its parent",
        "twice the same",
    ],
)
def test_a_broken_chain_is_no_chain(records: tuple[Delegation, ...]) -> None:
    leaf = records[0]
    with pytest.raises(DelegationInvalid) as refused:
        DelegationChain(records).check_sound(leaf.holder, leaf.agent)
    assert refused.value.details == UNUSABLE


def test_unused_record_has_default_version() -> None:
    assert (ROOT.version, ROOT.uses, ROOT.refusals, ROOT.thresholds, ROOT.predicates) == (1, 0, 0, 0, ())
    assert (delegation.MAX_GRANTS, delegation.DEFAULT_MAX_REFUSALS, delegation.DEFAULT_MAX_THRESHOLDS) == (64, 1, 3)


def test_the_pair_is_that_of_the_leaf() -> None:
    CHAIN.check_sound(HANA, BEN)
    for holder, agent in ((HANA, AKI), (AKI, BEN), (BEN, HANA)):
        with pytest.raises(DelegationInvalid) as refused:
            CHAIN.check_sound(holder, agent)
        assert refused.value.details == UNUSABLE


def test_a_chain_has_an_end() -> None:
    agents = [Did.parse(f"did:ids:agent{number}") for number in range(10)]
    chain = [replace(ROOT, id="0", agent=agents[0], max_depth=100)]
    for number, agent in enumerate(agents[1:], start=1):
        above = chain[0]
        chain.insert(
            0,
            replace(
                above,
                id=str(number),
                parent_id=above.id,
                agent=agent,
                grantor=above.agent,
                max_depth=above.max_depth - 1,
            ),
        )
    DelegationChain(tuple(chain[1:])).check_sound(HANA, agents[-2])
    with pytest.raises(DelegationInvalid):
        DelegationChain(tuple(chain)).check_sound(HANA, agents[-1])


@pytest.mark.parametrize(
    ("change", "at", "state"),
    [
        ({}, START - timedelta(microseconds=1), DelegationState.SCHEDULED),
        ({}, START, DelegationState.ACTIVE),
        ({}, START + 30 * DAY - timedelta(microseconds=1), DelegationState.ACTIVE),
        ({}, START + 30 * DAY, DelegationState.EXPIRED),
        ({"uses": 10}, START, DelegationState.EXHAUSTED),
        ({"suspended_reason": Suspension.REFUSALS}, START, DelegationState.SUSPENDED),
        ({"suspended_reason": Suspension.MANUAL, "uses": 10}, START, DelegationState.EXHAUSTED),
        ({"suspended_reason": Suspension.MANUAL}, START + 30 * DAY, DelegationState.EXPIRED),
        ({"revoked_at": START}, START + 30 * DAY, DelegationState.REVOKED),
        ({"max_uses": None, "uses": 10**9}, START, DelegationState.ACTIVE),
    ],
)
def test_states_over_time(change: dict[str, Any], at: datetime, state: DelegationState) -> None:
    assert replace(ROOT, **change).state(at) is state


@given(st.data())
def test_a_chain_is_as_its_worst_record(data: st.DataObject) -> None:
    order = list(DelegationState)
    changes = st.fixed_dictionaries(
        {
            "revoked_at": st.sampled_from([None, START]),
            "suspended_reason": st.sampled_from([None, *Suspension]),
            "uses": st.sampled_from([0, 10]),
            "expires_at": st.sampled_from([START + DAY, START + 30 * DAY]),
        }
    )
    records = tuple(replace(record, **data.draw(changes)) for record in (CHILD, ROOT))
    at = START + data.draw(st.sampled_from([-1, 0, 2])) * DAY
    worst = max((record.state(at) for record in records), key=_badness(order))
    assert DelegationChain(records).state(at) is worst


def _badness(order: list[DelegationState]) -> Any:
    ranks = {DelegationState.ACTIVE: 0, DelegationState.SCHEDULED: 1}
    return lambda state: ranks.get(state, 2 + order.index(state))


REVOKED = {"revoked_at": START}
MANUAL = {"suspended_reason": Suspension.MANUAL}
LIMITED = {"suspended_reason": Suspension.REFUSALS}


@pytest.mark.parametrize("place", [0, 1], ids=["the leaf", "its parent"])
@pytest.mark.parametrize(
    ("change", "at", "error"),
    [
        (REVOKED, START, DelegationRevoked),
        (REVOKED, START + 30 * DAY, DelegationRevoked),
        ({}, START + 30 * DAY, DelegationExpired),
        (MANUAL, START, DelegationNotActive),
        (MANUAL, START + 30 * DAY, DelegationExpired),
        ({"not_before": START + DAY}, START, DelegationNotActive),
        (LIMITED, START, None),
        ({"uses": 10}, START, None),
    ],
)
def test_status_refuses_use(
    place: int, change: dict[str, Any], at: datetime, error: type[IdentityError] | None
) -> None:
    records = [CHILD, ROOT]
    records[place] = replace(records[place], **change)
    chain = DelegationChain(tuple(records))
    if error is None:
        chain.check_state(at)
    else:
        with pytest.raises(error):
            chain.check_state(at)


def test_every_record_must_cover() -> None:
    CHAIN.check_covers(AGE, 18)
    CHAIN.check_credential("c1")
    narrow = DelegationChain((replace(CHILD, grants=(Grant.parse("zkp.prove.age.gte.18"),)), ROOT))
    narrow.check_covers(AGE, 18)
    with pytest.raises(ScopeMismatch):
        narrow.check_covers(AGE, 19)
    with pytest.raises(ScopeMismatch):
        CHAIN.check_credential("c3")
    for records in ((replace(CHILD, schema_ids=()), ROOT), (CHILD, replace(ROOT, schema_ids=()))):
        with pytest.raises(ScopeMismatch):
            DelegationChain(records).check_schema("s1")
    CHAIN.check_schema("s1")
    CHAIN.check_verifier("https://shop.example")
    for domain in ("https://else.example", "https://shop.example/", None):
        with pytest.raises(ScopeMismatch):
            CHAIN.check_verifier(domain)


def test_the_lowest_level_counts() -> None:
    assert CHAIN.effective_autonomy == 5
    assert DelegationChain((replace(CHILD, autonomy_level=2), ROOT)).effective_autonomy == 2
    assert DelegationChain((CHILD, replace(ROOT, autonomy_level=1))).effective_autonomy == 1


def test_only_the_holder_approves_a_value() -> None:
    pinned = (Grant.parse("zkp.prove.age.gte.18"),)
    assert not CHAIN.is_pinned(AGE)
    assert CHAIN.is_pinned(Action.parse("zkp.prove.age.gte.18"))
    assert DelegationChain((CHILD, replace(ROOT, grants=pinned))).is_pinned(AGE)
    # The agent pins what it likes in a delegation that it gives itself a friend.
    assert not DelegationChain((replace(CHILD, grants=pinned), ROOT)).is_pinned(AGE)


@pytest.mark.parametrize(
    ("grants", "is_pinned"),
    [
        (("age.gte.18",), True),
        (("age.gte.18", "age.gte.21"), False),
        (("age.gte.18", "age.gte"), False),
        (("age.gte.18", "age.*"), False),
        (("age.gte.18", "*.gte.21"), False),
        (("age.gte.18", "*.gte.18", "age.*.18"), True),
        # The IBCT names the type: the holder signs which of these is asked.
        (("age.gte.18", "age.lt.65", "city.eq"), True),
        (("city.eq",), False),
    ],
)
def test_agent_chooses_one_of_several_values(grants: tuple[str, ...], is_pinned: bool) -> None:
    compiled = tuple(Grant.parse(f"zkp.prove.{grant}") for grant in grants)
    narrowed = replace(CHILD, grants=compiled[:1])
    for records in ((replace(ROOT, grants=compiled),), (narrowed, replace(ROOT, grants=compiled))):
        assert DelegationChain(records).is_pinned(AGE) is is_pinned


def test_a_value_may_be_left_out_where_one_pin_tells_it() -> None:
    def only(*grants: str, action: Action = AGE) -> Any:
        return DelegationChain((replace(ROOT, grants=tuple(map(Grant.parse, grants))),)).only_value(action)

    assert only("zkp.prove.age.*", action=Action.parse("zkp.prove.age.gte.21")) == 21
    assert only("zkp.prove.age.gte.18", "zkp.prove.city.eq.7") == 18
    assert only("zkp.prove.age.gte.0") == 0
    for grants in (["zkp.prove.age.gte"], ["zkp.prove.age.gte.18", "zkp.prove.age.gte.21"], ["zkp.prove.age.eq.18"]):
        with pytest.raises(InvalidRequest):
            only(*grants)
    with pytest.raises(InvalidRequest):
        only("zkp.prove.age.*", action=Action.parse("zkp.prove.age.gte.hAAAAAAAAAAAAAAAAAAAAAA"))
