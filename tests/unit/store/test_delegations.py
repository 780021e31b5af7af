"""Delegations and called-back IBCTs in the store: what is written is read, and state changes happen once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_client.action import Grant
from identity_codec.values import replace
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import Delegation, Suspension
from identity_core.domain.dids.did import Did
from identity_core.errors import DelegationInvalid
from identity_core.ports.credentials import DelegationFilter
from identity_core.ports.repositories import RowPosition
from identity_core.store import Store
from tests.store_contents import is_called_back

START = datetime(2026, 1, 5, 9, 0, 0, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)
HANA, AKI, BEN, EVE = (Did.parse(f"did:ids:{name}") for name in ("hana", "aki", "ben", "eve"))

FULL = Delegation(
    id="root",
    holder=HANA,
    agent=AKI,
    grantor=HANA,
    parent_id=None,
    grants=(Grant.parse("zkp.prove.age.gte.18"), Grant.parse("zkp.prove.*.eq")),
    credential_ids=("c1",),
    schema_ids=(),
    verifiers=None,
    autonomy_level=5,
    max_uses=10,
    max_refusals=1,
    max_thresholds=None,
    max_depth=8,
    not_before=START,
    expires_at=START + 24 * HOUR,
    created_at=START,
    created_by=str(HANA),
    purpose="Tickets",
    predicates=({"attributeName": "age", "type": "gte", "values": [18]},),
    holder_proof={"proofValue": "z1"},
    signed_request={"holderDid": str(HANA)},
)

CHILD = replace(FULL, id="child", agent=BEN, grantor=AKI, parent_id="root", created_at=START + HOUR, max_depth=7)


def run_story(store: Store, *delegations: Delegation) -> None:
    async def scenario() -> None:
        for delegation in delegations:
            await store.delegations.add(delegation)

    asyncio.run(scenario())


def chain(store: Store, name: str) -> DelegationChain:
    found = asyncio.run(store.delegations.chain(name))
    assert found is not None
    return found


def run_sql(store: Store, sql: str, **parameters: object) -> None:
    store.database.write_now(lambda transaction: transaction.execute(sql, parameters).rowcount)


def test_written_delegation_is_read(store: Store) -> None:
    run_story(store, FULL, CHILD)
    assert chain(store, "root") == DelegationChain((FULL,))
    assert chain(store, "child") == DelegationChain((CHILD, FULL))
    assert asyncio.run(store.delegations.chain("absent")) is None


def test_a_circle_and_a_gap_are_read_and_are_no_chains(store: Store) -> None:
    run_story(store, FULL, CHILD, replace(CHILD, id="lost", parent_id="gone"))
    run_sql(store, "UPDATE delegations SET parent_id = 'child' WHERE id = 'root'")
    circle = chain(store, "child")
    assert len(circle.records) == 10
    for broken in (circle, chain(store, "lost")):
        with pytest.raises(DelegationInvalid):
            broken.check_sound(HANA, BEN)


def test_revocation_happens_once(store: Store) -> None:
    async def scenario() -> list[bool]:
        tries = [store.delegations.revoke("root", f"by {n}", "over", START + HOUR) for n in range(8)]
        return [found is not None for found in await asyncio.gather(*tries)]

    run_story(store, FULL)
    assert sorted(asyncio.run(scenario())) == [False] * 7 + [True]
    record = chain(store, "root").leaf
    assert (record.revoked_at, record.revocation_reason, record.version) == (START + HOUR, "over", 2)
    assert asyncio.run(store.delegations.revoke("absent", "by", None, START)) is None


def test_suspension_and_its_end(store: Store) -> None:
    run_story(store, FULL)
    steps = [
        (store.delegations.resume, False, None),
        (store.delegations.suspend, True, Suspension.MANUAL),
        (store.delegations.suspend, False, Suspension.MANUAL),
        (store.delegations.resume, True, None),
    ]
    for step, changed, reason in steps:
        assert (asyncio.run(step("root", START + HOUR)) is not None) is changed
        assert chain(store, "root").leaf.suspended_reason is reason
    assert chain(store, "root").leaf.version == 3


@pytest.mark.parametrize(("reason", "left"), [(Suspension.MANUAL, (1, 2)), (Suspension.REFUSALS, (0, 0))])
def test_only_the_end_of_a_limit_gives_questions_back(store: Store, reason: Suspension, left: tuple[int, int]) -> None:
    run_story(store, FULL, CHILD)
    run_sql(store, "UPDATE delegations SET refusals = 1, suspended_reason = :reason", reason=reason.value)
    for name in ("root", "child"):
        for digest in (b"a", b"b"):
            sql = "INSERT INTO delegation_thresholds (delegation_id, digest) VALUES (:id, :digest)"
            run_sql(store, sql, id=name, digest=digest)
    assert asyncio.run(store.delegations.resume("root", START + HOUR))
    record = chain(store, "root").leaf
    assert (record.refusals, record.thresholds) == left
    untouched = chain(store, "child").leaf
    assert (untouched.refusals, untouched.thresholds) == (1, 2)


def test_ended_delegation_does_not_change(store: Store) -> None:
    run_story(store, FULL, CHILD)
    assert asyncio.run(store.delegations.suspend("root", START + HOUR))
    assert asyncio.run(store.delegations.resume("root", FULL.expires_at)) is None
    assert asyncio.run(store.delegations.suspend("child", CHILD.expires_at)) is None
    assert asyncio.run(store.delegations.revoke("root", "x", None, START + HOUR))
    assert asyncio.run(store.delegations.resume("root", START + HOUR)) is None
    assert asyncio.run(store.delegations.revoke("child", "x", None, START + HOUR))
    assert asyncio.run(store.delegations.suspend("child", START + HOUR)) is None


OTHERS = (
    replace(FULL, id="2", created_at=START + 2 * HOUR, holder=EVE, grantor=EVE),
    replace(FULL, id="3", created_at=START + 3 * HOUR, agent=EVE),
    replace(FULL, id="4", created_at=START + 3 * HOUR, agent=BEN),
)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (DelegationFilter(), ["4", "3", "2", "child", "root"]),
        (DelegationFilter(party=str(HANA)), ["4", "3", "child", "root"]),
        (DelegationFilter(party=str(EVE)), ["3", "2"]),
        (DelegationFilter(party=str(AKI)), ["2", "root"]),
        (DelegationFilter(holder=str(EVE)), ["2"]),
        (DelegationFilter(party=str(HANA), agent=str(BEN)), ["4", "child"]),
        (DelegationFilter(party=str(EVE), holder=str(HANA)), ["3"]),
        (DelegationFilter(holders=frozenset({str(EVE), str(BEN)})), ["2"]),
        (DelegationFilter(holders=frozenset()), []),
        (DelegationFilter(party="' OR 1 = 1 --"), []),
    ],
)
def test_lists_are_newest_first_and_go_on(store: Store, wanted: DelegationFilter, ids: list[str]) -> None:
    run_story(store, FULL, CHILD, *OTHERS)

    async def paged(limit: int) -> list[str]:
        found: list[str] = []
        after: RowPosition | None = None
        while page := await store.delegations.list(wanted, after=after, limit=limit):
            found += [one.leaf.id for one in page]
            after = RowPosition(page[-1].leaf.created_at, page[-1].leaf.id)
        return found

    for limit in (1, 2, 10):
        assert asyncio.run(paged(limit)) == ids


def test_a_list_shows_the_chain_of_a_child(store: Store) -> None:
    run_story(store, FULL, CHILD)
    found: Sequence[DelegationChain] = asyncio.run(
        store.delegations.list(DelegationFilter(agent=str(BEN)), after=None, limit=5)
    )
    assert found == [DelegationChain((CHILD, FULL))]


def call_back(store: Store, member: Any, value: str, keep: datetime, now: datetime = START) -> datetime:
    return asyncio.run(store.delegations.revoke_ibct(HANA, member, value, keep_until=keep, now=now))


def revoked(store: Store, id: str, nonce: str, invoker: Did = HANA) -> bool:
    return asyncio.run(is_called_back(store, str(invoker), id, nonce))


def test_an_ibct_is_called_back_by_its_id_or_its_nonce(store: Store) -> None:
    assert call_back(store, "id", "urn:1", START + HOUR) == START
    assert call_back(store, "nonce", "n-2", START + HOUR) == START
    assert call_back(store, "id", "urn:1", START + HOUR, START + timedelta(seconds=1)) == START
    assert revoked(store, "urn:1", "n-1")
    assert revoked(store, "urn:2", "n-2")
    assert not revoked(store, "urn:2", "n-1")
    assert not revoked(store, "n-2", "urn:1")
    assert not revoked(store, "urn:1", "n-2", EVE)


def test_revocations_are_remembered_to_their_latest_end(store: Store) -> None:
    call_back(store, "id", "long", START + 5 * HOUR)
    call_back(store, "id", "long", START + HOUR)
    call_back(store, "id", "short", START + HOUR)
    call_back(store, "nonce", "any", START + 9 * HOUR, START + 2 * HOUR)
    assert revoked(store, "long", "-")
    assert not revoked(store, "short", "-")
    call_back(store, "nonce", "other", START + 9 * HOUR, START + 5 * HOUR)
    assert not revoked(store, "long", "-")


def test_the_table_tells_no_token(store: Store) -> None:
    call_back(store, "nonce", "a secret nonce", START + HOUR)
    rows = store.database.read_now(lambda transaction: transaction.execute("SELECT * FROM ibct_revocations").fetchall())
    assert "a secret nonce" not in repr(rows)
    assert bytes(rows[0][2]) == hashlib.sha256(b"a secret nonce").digest()
