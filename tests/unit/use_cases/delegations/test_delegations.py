"""The use cases on delegations on a real ledger and a real store: who may what, and what is written about it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_records.audit import audit_of
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline

from identity_codec.times import printed_exactly
from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.delegations.delegation import AutonomyTable, DelegationState
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.errors import (
    AutonomyTooLow,
    Conflict,
    DelegationExpired,
    DelegationInvalid,
    DelegationNotActive,
    DelegationNotFound,
    DelegationNotNarrower,
    DelegationRevoked,
    DidDeactivated,
    DidNotFound,
    Forbidden,
    IdentityError,
    InvalidRequest,
)
from identity_core.use_cases.background import CLOCK_SET_BACK
from identity_core.use_cases.delegations.change import (
    ResumeDelegation,
    RevokeDelegation,
    RevokeIbct,
    SuspendDelegation,
)
from identity_core.use_cases.delegations.create import CreateDelegation
from identity_core.use_cases.delegations.read import (
    DelegationAccess,
    GetDelegation,
    ListDelegations,
    ShownDelegation,
)
from identity_core.use_cases.record import Record
from identity_core.wire import (
    CreateDelegationRequest,
    DeactivateDidRequest,
    ListDelegationsQuery,
    PinnedPredicate,
    RevokeDelegationRequest,
    RevokeIbctRequest,
)
from tests.did_use_cases import START, Rooms, secret_of
from tests.events import audit_rows
from tests.store_contents import is_called_back

MONTH = timedelta(days=30)
LONGEST = timedelta(days=90)
ABSENT = Did.parse("did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS")
AGE = "zkp.prove.age.gte"
EVERYTHING = ListDelegationsQuery()


class Desk:
    """Hana the holder, the agents Aki, Ben and Cleo, Eve who has no part, and short ways to call the use cases."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        stored, clock = rooms.store.delegations, rooms.clock
        access = DelegationAccess(stored)
        record = Record(rooms.store.activity)
        self.create = CreateDelegation(rooms.reader, access, record, clock, os.urandom, AutonomyTable(), LONGEST)
        self.get = GetDelegation(access, clock)
        self.list = ListDelegations(rooms.reader, stored, clock)
        self.revoke = RevokeDelegation(access, record, clock)
        self.suspend = SuspendDelegation(access, record, clock)
        self.resume = ResumeDelegation(access, record, clock)
        self.revoke_ibct = RevokeIbct(rooms.reader, stored, record, clock, LONGEST, timedelta(seconds=60))
        self.created: dict[str, Any] = {}

    async def people(self) -> None:
        for name in ("hana", "aki", "ben", "cleo", "eve"):
            self.created[name] = await self.rooms.new_did()

    def did(self, name: str) -> Did:
        did: Did = self.created[name].version.state.did
        return did

    def as_(self, name: str) -> Caller:
        return Caller(did=self.did(name), authorization=Authorization("DIDAuth", "z", "c", b""))

    def operator(self, *targets: str, scopes: frozenset[str] | None = None) -> Caller:
        allowed = frozenset(str(self.did(name)) for name in targets) if targets else None
        return Caller(
            api_key=ApiKey("op", "op", "ab" * 32, scopes, allowed, None, None, START, fingerprint="0f1e2d3c4b5a")
        )

    def wish(self, agent: str = "aki", **change: Any) -> CreateDelegationRequest:
        wish = {
            "holder_did": str(self.did("hana")),
            "agent_did": str(self.did(agent)),
            "actions": (AGE,),
            "autonomy_level": 5,
            "max_depth": 2,
            "expires_at": printed_exactly(self.rooms.clock.now() + MONTH),
        }
        for name, value in change.items():
            wish[name] = printed_exactly(value) if isinstance(value, datetime) else value
        return CreateDelegationRequest(**wish)

    async def root(self, **change: Any) -> str:
        return (await self.create(self.wish(**change), context(self.as_("hana")))).delegation.id

    async def child(self, parent: str, by: str = "aki", agent: str = "ben", **change: Any) -> ShownDelegation:
        wish = self.wish(agent, **({"parent_id": parent, "max_depth": 1} | change))
        return await self.create(wish, context(self.as_(by)))

    async def kinds(self) -> list[str]:
        rows = await StoredTimeline(self.rooms.store.database).list(TimelineQuery(None))
        return [row.entry.kind for row in reversed(rows)]

    async def audited(self) -> list[Any]:
        rows = await audit_rows(audit_of(self.rooms.store), after=0, limit=100)
        return [row for _, row in rows if row.operation == "test"]


def context(caller: Caller) -> RequestContext:
    return RequestContext("test", caller, "r-1")


def on_desk(test: Callable[[Desk], Awaitable[None]]) -> Callable[[Path], None]:
    def run(tmp_path: Path) -> None:
        async def story() -> None:
            rooms = Rooms(tmp_path)
            desk = Desk(rooms)
            try:
                await desk.people()
                await test(desk)
            finally:
                await rooms.close()

        asyncio.run(story())

    run.__name__ = test.__name__
    return run


async def refused(error: type[IdentityError], trying: Awaitable[Any]) -> dict[str, Any]:
    with pytest.raises(error) as refusal:
        await trying
    assert type(refusal.value) is error
    return refusal.value.details


@on_desk
async def test_a_holder_delegates_with_limits_that_nobody_had_to_say(desk: Desk) -> None:
    shown = await desk.create(desk.wish(), context(desk.as_("hana")))
    made = shown.delegation
    assert shown.status is DelegationState.ACTIVE
    assert (made.grantor, made.parent_id, made.created_by) == (made.holder, None, str(made.holder))
    assert (made.max_uses, made.max_refusals, made.max_thresholds) == (None, 1, 3)
    assert await desk.get(made.id, desk.as_("aki")) == shown
    assert await desk.kinds() == ["delegation.created"]
    (row,) = await desk.audited()
    assert (row.target, row.fingerprint, row.details["delegationId"]) == (str(made.holder), None, made.id)


@on_desk
async def test_limits_may_be_lifted_aloud(desk: Desk) -> None:
    name = await desk.root(max_refusals=None, max_thresholds=None)
    made = (await desk.get(name, desk.as_("hana"))).delegation
    assert (made.max_refusals, made.max_thresholds) == (None, None)


@on_desk
async def test_an_operator_delegates_for_those_of_its_list(desk: Desk) -> None:
    shown = await desk.create(desk.wish(), context(desk.operator("hana")))
    assert shown.delegation.created_by == "apiKey:0f1e2d3c4b5a"
    (row,) = await desk.audited()
    assert (row.fingerprint, row.target) == ("0f1e2d3c4b5a", str(desk.did("hana")))
    await refused(Forbidden, desk.create(desk.wish(), context(desk.operator("eve"))))
    scoped = desk.operator(scopes=frozenset({"delegations:read"}))
    assert (await refused(Forbidden, desk.create(desk.wish(), context(scoped))))["scope"] == "delegations:write"


@on_desk
async def test_nobody_else_delegates_for_a_holder(desk: Desk) -> None:
    for name in ("aki", "eve"):
        await refused(Forbidden, desk.create(desk.wish(), context(desk.as_(name))))
    narrowed = Caller(subject=desk.did("hana"), scopes=frozenset({"zkp:prove"}))
    await refused(Forbidden, desk.create(desk.wish(), context(narrowed)))
    await desk.create(desk.wish(), context(Caller(subject=desk.did("hana"))))


@on_desk
async def test_holder_and_agent_are_two_dids_in_use(desk: Desk) -> None:
    asked = context(desk.as_("hana"))
    await refused(InvalidRequest, desk.create(desk.wish("hana"), asked))
    await refused(DidNotFound, desk.create(desk.wish(agent_did=str(ABSENT)), asked))
    await deactivate(desk, "ben")
    await refused(DidDeactivated, desk.create(desk.wish("ben"), asked))
    await deactivate(desk, "hana")
    await refused(DidDeactivated, desk.create(desk.wish(), context(desk.operator())))


async def deactivate(desk: Desk, name: str) -> None:
    rooms, did = desk.rooms, desk.did(name)
    signed = await rooms.signed(did, secret_of(desk.created[name]), "deactivate")
    asked = rooms.context(did, signed)
    await rooms.deactivate(did, DeactivateDidRequest(confirm=True), authorization=signed, context=asked, if_match=None)


@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": START},
        {"expires_at": START - MONTH},
        {"not_before": START + MONTH, "expires_at": START + MONTH},
        {"expires_at": START + LONGEST + timedelta(seconds=1)},
        {"actions": ()},
        {"actions": tuple(f"zkp.prove.a{number}.*" for number in range(65))},
    ],
)
def test_contradictory_delegation_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    @on_desk
    async def story(desk: Desk) -> None:
        await refused(InvalidRequest, desk.create(desk.wish(**change), context(desk.as_("hana"))))

    story(tmp_path)


@pytest.mark.parametrize(
    "wish",
    [
        {"actions": ("zkp.prove.%E2%81%A9%E2%80%AEage.gte",)},
        {"predicates": (PinnedPredicate(attribute_name="age\u202e", type="gte", values=(18,)),)},
    ],
)
def test_a_grant_of_an_unprintable_attribute_is_refused(tmp_path: Path, wish: dict[str, Any]) -> None:
    """No schema has such an attribute, and a page shows its name in a sentence."""

    @on_desk
    async def story(desk: Desk) -> None:
        with pytest.raises(InvalidRequest, match="printable characters"):
            await desk.create(desk.wish(**wish), context(desk.as_("hana")))

    story(tmp_path)


@on_desk
async def test_a_child_has_from_its_parent_what_it_leaves_out(desk: Desk) -> None:
    limits = {"credential_ids": ("c1",), "verifiers": ("https://shop.example",), "max_uses": 4, "max_thresholds": None}
    root = await desk.root(**limits)
    made = (await desk.child(root)).delegation
    assert (made.credential_ids, made.verifiers, made.schema_ids) == (("c1",), ("https://shop.example",), None)
    assert (made.max_uses, made.max_refusals, made.max_thresholds) == (4, 1, None)
    assert (made.grantor, made.holder, made.parent_id) == (desk.did("aki"), desk.did("hana"), root)
    assert await refused(DelegationNotNarrower, desk.child(root, max_uses=None)) == {"member": "maxUses"}
    assert await refused(DelegationNotNarrower, desk.child(root, max_depth=2)) == {"member": "maxDepth"}
    wide = ("zkp.prove.*.gte",)
    assert await refused(DelegationNotNarrower, desk.child(root, actions=wide)) == {"member": "actions"}


@on_desk
async def test_only_the_agent_passes_on_and_only_to_the_end(desk: Desk) -> None:
    root = await desk.root(max_depth=1)
    child = (await desk.child(root, max_depth=0)).delegation.id
    await refused(Forbidden, desk.child(root, by="hana"))
    await refused(DelegationNotFound, desk.child(root, by="eve"))
    await refused(DelegationNotFound, desk.child("unknown"))
    await refused(Forbidden, desk.child(child, by="aki", agent="cleo"))
    await refused(DelegationInvalid, desk.child(child, by="ben", agent="cleo", max_depth=0))
    await refused(DelegationInvalid, desk.child(root, agent="hana", holder_did=str(desk.did("cleo")), max_depth=0))
    await refused(InvalidRequest, desk.child(root, agent="hana", max_depth=0))
    await refused(DelegationInvalid, desk.child(root, agent="aki", max_depth=0))


@on_desk
async def test_an_operator_passes_on_for_an_agent_of_its_list(desk: Desk) -> None:
    root = await desk.root()
    wish = desk.wish("ben", parent_id=root, max_depth=1)
    await refused(Forbidden, desk.create(wish, context(desk.operator("hana"))))
    await refused(DelegationNotFound, desk.create(wish, context(desk.operator("aki"))))
    made = (await desk.create(wish, context(desk.operator("hana", "aki")))).delegation
    assert (made.grantor, made.created_by) == (desk.did("aki"), "apiKey:0f1e2d3c4b5a")


@on_desk
async def test_passing_on_needs_the_highest_level_of_the_whole_chain(desk: Desk) -> None:
    low = await desk.root(autonomy_level=4)
    details = await refused(AutonomyTooLow, desk.child(low, autonomy_level=1))
    assert (details["required"], details["effective"]) == (5, 4)


@on_desk
async def test_passing_on_needs_a_parent_in_force(desk: Desk) -> None:
    hana, clock = context(desk.as_("hana")), desk.rooms.clock
    later = await desk.root(not_before=START + timedelta(days=1))
    await refused(DelegationNotActive, desk.child(later))
    paused, over, short = await desk.root(), await desk.root(), await desk.root(expires_at=START + timedelta(hours=1))
    await desk.suspend(paused, hana)
    await refused(DelegationNotActive, desk.child(paused))
    await desk.revoke(over, RevokeDelegationRequest(), hana)
    await refused(DelegationRevoked, desk.child(over))
    clock.move(hours=1)
    await refused(DelegationExpired, desk.child(short))


@on_desk
async def test_forged_wider_parent_is_refused(desk: Desk) -> None:
    root = await desk.root()
    child = (await desk.child(root, max_uses=1)).delegation.id
    sql = "UPDATE delegations SET expires_at = expires_at + 1 WHERE id = :id"
    desk.rooms.store.database.write_now(lambda transaction: transaction.execute(sql, {"id": child}).rowcount)
    assert await refused(DelegationInvalid, desk.child(child, by="ben", agent="cleo", max_depth=0)) == {
        "remedies": ["createDelegation; its id is the delegationRef"]
    }


@on_desk
async def test_unrelated_caller_sees_nothing(desk: Desk) -> None:
    root = await desk.root()
    child = (await desk.child(root)).delegation.id
    seen_by = {"hana": {root, child}, "aki": {root, child}, "ben": {child}, "eve": set(), "cleo": set()}
    for name, visible in seen_by.items():
        for one in (root, child, "unknown"):
            if one in visible:
                assert (await desk.get(one, desk.as_(name))).delegation.id == one
            else:
                assert await refused(DelegationNotFound, desk.get(one, desk.as_(name))) == {}
    assert await refused(DelegationNotFound, desk.get(root, desk.operator("eve"))) == {}
    assert (await desk.get(root, desk.operator("hana"))).delegation.id == root


@on_desk
async def test_lists_are_ones_own(desk: Desk) -> None:
    root = await desk.root()
    child = (await desk.child(root)).delegation.id
    await desk.create(desk.wish(holder_did=str(desk.did("eve")), agent="cleo"), context(desk.as_("eve")))

    async def listed(caller: Caller, query: ListDelegationsQuery = EVERYTHING) -> list[str]:
        return [one.delegation.id for one in (await desk.list(query, caller, after=None)).items]

    assert await listed(desk.as_("hana")) == [child, root] or await listed(desk.as_("hana")) == [root, child]
    assert await listed(desk.as_("ben")) == [child]
    assert await listed(desk.as_("aki"), ListDelegationsQuery(agent_did=str(desk.did("ben")))) == []
    assert set(await listed(desk.operator("hana"))) == {root, child}
    assert len(await listed(desk.operator())) == 3
    assert await listed(desk.operator("cleo")) == []
    eves = ListDelegationsQuery(holder_did=str(desk.did("eve")))
    assert await listed(desk.as_("hana"), eves) == []
    await refused(Forbidden, listed(desk.operator("hana"), eves))
    await refused(Forbidden, listed(desk.operator(scopes=frozenset({"zkp:prove"}))))


@on_desk
async def test_a_list_by_status_looks_at_the_chain_and_goes_on(desk: Desk) -> None:
    names = []
    for number in range(5):
        desk.rooms.clock.move(seconds=1)
        names.append(await desk.root(purpose=str(number)))
    desk.rooms.clock.move(seconds=1)
    child = (await desk.child(names[1], expires_at=START + timedelta(days=20))).delegation.id
    for name in (names[1], names[3]):
        await desk.revoke(name, RevokeDelegationRequest(), context(desk.as_("hana")))

    async def paged(status: DelegationState, limit: int) -> list[str]:
        query, found, after = ListDelegationsQuery(status=status.value, limit=limit), [], None
        while True:
            page = await desk.list(query, desk.as_("hana"), after=after)
            found += [one.delegation.id for one in page.items]
            after = page.end
            if after is None:
                return found

    for limit in (1, 2, 9):
        assert await paged(DelegationState.REVOKED, limit) == [child, names[3], names[1]]
        assert await paged(DelegationState.ACTIVE, limit) == [names[4], names[2], names[0]]


@on_desk
async def test_a_list_by_status_stops_looking_and_says_where(desk: Desk) -> None:
    made = (await desk.create(desk.wish(), context(desk.as_("hana")))).delegation
    store = desk.rooms.store.delegations
    for number in range(1_001):
        await store.add(replace(made, id=f"{number:05}", created_at=START + timedelta(seconds=number)))
    query = ListDelegationsQuery(status="revoked", limit=5)
    first = await desk.list(query, desk.as_("hana"), after=None)
    assert (first.items, first.end is None) == ((), False)
    second = await desk.list(query, desk.as_("hana"), after=first.end)
    assert (second.items, second.end) == ((), None)


@pytest.mark.parametrize("who", ["hana", "aki", "ben"])
def test_every_party_may_revoke_and_everything_below_is_dead(tmp_path: Path, who: str) -> None:
    @on_desk
    async def story(desk: Desk) -> None:
        root = await desk.root()
        middle = (await desk.child(root)).delegation.id
        leaf = (await desk.child(middle, by="ben", agent="cleo", max_depth=0)).delegation.id
        shown = await desk.revoke(middle, RevokeDelegationRequest(reason="enough"), context(desk.as_(who)))
        assert (shown.delegation.revoked_by, shown.delegation.revocation_reason) == (str(desk.did(who)), "enough")
        states = {name: (await desk.get(name, desk.as_("hana"))).status for name in (root, middle, leaf)}
        assert states == {
            root: DelegationState.ACTIVE,
            middle: DelegationState.REVOKED,
            leaf: DelegationState.REVOKED,
        }
        again = await desk.revoke(middle, RevokeDelegationRequest(reason="again"), context(desk.as_("hana")))
        assert again.delegation == shown.delegation
        assert (await desk.kinds()).count("delegation.revoked") == 1

    story(tmp_path)


@on_desk
async def test_a_child_does_not_revoke_its_parent(desk: Desk) -> None:
    root = await desk.root()
    await desk.child(root)
    for name in ("ben", "eve"):
        await refused(DelegationNotFound, desk.revoke(root, RevokeDelegationRequest(), context(desk.as_(name))))
    await refused(DelegationNotFound, desk.revoke(root, RevokeDelegationRequest(), context(desk.operator("eve"))))
    reader = desk.operator(scopes=frozenset({"delegations:read"}))
    await refused(Forbidden, desk.revoke(root, RevokeDelegationRequest(), context(reader)))


@on_desk
async def test_the_holder_pauses_and_goes_on(desk: Desk) -> None:
    root, hana = await desk.root(), context(desk.as_("hana"))
    child = (await desk.child(root)).delegation.id
    assert (await desk.suspend(root, hana)).status is DelegationState.SUSPENDED
    assert (await desk.get(child, desk.as_("ben"))).status is DelegationState.SUSPENDED
    assert (await desk.suspend(root, hana)).delegation.version == 2
    assert (await desk.resume(root, context(desk.operator("hana")))).status is DelegationState.ACTIVE
    assert (await desk.resume(root, hana)).delegation.version == 3
    # Rows of one moment have no order: the clock stands still.
    assert sorted(await desk.kinds())[2:] == ["delegation.resumed", "delegation.suspended"]
    for act in (desk.suspend, desk.resume):
        await refused(Forbidden, act(root, context(desk.as_("aki"))))
        await refused(Forbidden, act(child, context(desk.as_("aki"))))
        await refused(DelegationNotFound, act(root, context(desk.as_("eve"))))


@on_desk
async def test_ended_delegation_is_neither_suspended_nor_resumed(desk: Desk) -> None:
    root, hana = await desk.root(), context(desk.as_("hana"))
    child = (await desk.child(root)).delegation.id
    await desk.suspend(root, hana)
    await desk.revoke(root, RevokeDelegationRequest(), hana)
    for act in (desk.suspend, desk.resume):
        for name in (root, child):
            assert await refused(Conflict, act(name, hana)) == {"status": "revoked"}


def ibct(desk: Desk, member: str = "id", value: str = "urn:1", expires: datetime | None = None) -> RevokeIbctRequest:
    named = {member: value} | ({} if expires is None else {"expires_at": printed_exactly(expires)})
    return RevokeIbctRequest(invoker=str(desk.did("hana")), **named)


@on_desk
async def test_the_invoker_calls_an_ibct_back(desk: Desk) -> None:
    store, clock = desk.rooms.store, desk.rooms.clock
    hana = context(desk.as_("hana"))
    first = await desk.revoke_ibct(ibct(desk), hana)
    assert first.keep_until == START + LONGEST + timedelta(seconds=60) + CLOCK_SET_BACK
    clock.move(seconds=5)
    assert (await desk.revoke_ibct(ibct(desk), hana)).revoked_at == START
    known = await desk.revoke_ibct(ibct(desk, "nonce", "n", START + timedelta(hours=1)), context(desk.operator("hana")))
    assert known.keep_until == START + timedelta(hours=1, seconds=60) + CLOCK_SET_BACK
    assert await is_called_back(store, str(desk.did("hana")), "urn:1", "-")
    assert await is_called_back(store, str(desk.did("hana")), "-", "n")
    assert not await is_called_back(store, str(desk.did("eve")), "urn:1", "n")
    assert await desk.kinds() == ["ibct.revoked"] * 2
    assert "urn:1" not in repr(await desk.audited())


@on_desk
async def test_nobody_else_calls_an_ibct_back(desk: Desk) -> None:
    for caller in (desk.as_("aki"), desk.operator("aki"), desk.operator(scopes=frozenset({"delegations:read"}))):
        await refused(Forbidden, desk.revoke_ibct(ibct(desk), context(caller)))
    assert not await is_called_back(desk.rooms.store, str(desk.did("hana")), "urn:1", "-")
