"""Who comes first is decided by the database, also between processes: on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from identity_verification.store import StoredProofs

from identity_codec.values import replace
from identity_core.database import DatabaseError
from identity_core.domain.activity import Parties, ProofMade
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.proofs.proof import ZkProof
from identity_core.domain.proofs.stored import (
    Anchor,
    AnchorStatus,
    DelegatedProof,
    KeptCredential,
    KeptQuestion,
    ProofRevocation,
    StoredProof,
)
from identity_core.errors import (
    CredentialNotFound,
    CredentialRevoked,
    DelegationInvalid,
    DelegationRevoked,
    IbctReplayed,
    IbctRevoked,
    IdentityError,
    PredicateNotSatisfied,
    RequestInProgress,
    ScopeMismatch,
)
from identity_core.ports.proofs import Consumption, Disclosure, Earlier, Invocation, Lease, Outcome, RefusedInvocation
from identity_core.store import Store
from identity_core.store.invocations import LEASE, PATIENCE_SECONDS
from tests.events import EVENT, open_store
from tests.store_contents import kept_proofs

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOLDER = "did:ids:hana"


def invocation(**change: Any) -> Invocation:
    made = Invocation(HOLDER, os.urandom(32), os.urandom(32), os.urandom(32), NOW + timedelta(hours=1))
    return replace(made, **change)


def spending(delegation: str = "d-1", *, question: Disclosure | None = None) -> Consumption:
    return Consumption((delegation,), ("c-1",), () if question is None else (question,))


def question(digest: bytes = b"q", most: int = 8, since: datetime | None = None) -> Disclosure:
    return Disclosure("c-1", "age", digest, most, since, b"c-1" + digest)


def consume(
    store: Store, one: Invocation, asked: Consumption, now: datetime = NOW, *, satisfied: bool = True
) -> Awaitable[Lease | RefusedInvocation | Earlier]:
    return store.invocations.consume(one, asked, lambda _: satisfied, now)


async def look_up_outcome(store: Store, one: Invocation, now: datetime) -> Outcome | None:
    """How the identical request ended."""
    return (await store.invocations.look_up(one, None, now)).outcome


def unsatisfied(**details: Any) -> RefusedInvocation:
    return RefusedInvocation.from_error(PredicateNotSatisfied(details=details))


def proof(anchor: Anchor | None = None, **change: Any) -> StoredProof:
    made = StoredProof(
        ZkProof("cHJvb2Y", ("suite", "é"), "gte", str(uuid.uuid4())),
        "d-1",
        HOLDER,
        "did:ids:aki",
        "c-1",
        "did:ids:ivo",
        "schema",
        {"attributeName": "age", "type": "gte", "value": 18},
        bytes(32),
        "ibct",
        "nonce",
        NOW,
        NOW + timedelta(days=1),
        "did:did:ids:aki",
        None,
        "https://vera.example",
        anchor=anchor,
    )
    return replace(made, **change)


async def execute(store: Store, sql: str, **values: Any) -> None:
    await store.database.write(lambda transaction: transaction.execute(sql, values).rowcount)


async def rows(store: Store, sql: str) -> list[Any]:
    return await store.database.read(lambda transaction: transaction.execute(sql).fetchall())


async def delegation(store: Store, id: str = "d-1", **change: Any) -> None:
    values: dict[str, Any] = {
        "id": id,
        "holder": HOLDER,
        "agent": "did:ids:aki",
        "grantor": HOLDER,
        "parent_id": None,
        "record": b"{}",
        "not_before": 0,
        "expires_at": 2**60,
        "max_uses": None,
        "uses": 0,
        "max_refusals": None,
        "refusals": 0,
        "max_thresholds": None,
        "version": 1,
        "created_at": 0,
        "created_by": "test",
    } | change
    sql = f"INSERT INTO delegations ({', '.join(values)}) VALUES (:{', :'.join(values)})"
    await execute(store, sql, **values)


async def furnish(store: Store) -> None:
    """One delegation and one credential, with no more in them than is read here."""
    await delegation(store)
    await credential(store, "c-1")


async def credential(store: Store, id: str, sealed: bytes = b"box") -> None:
    values: dict[str, Any] = {
        "id": id,
        "issuer": "did:ids:ivo",
        "holder": HOLDER,
        "schema_id": "schema",
        "verification_method": "did:ids:ivo#bbs",
        "issuer_public_key": b"",
        "valid_from": 0,
        "status": CredentialStatus.ACTIVE.value,
        # Each its own place in the issuer's list.
        "status_index": int(id.removeprefix("c-")),
        "version": 1,
        "created_at": 0,
        "created_by": "test",
        "sealed": sealed,
    }
    sql = f"INSERT INTO credentials ({', '.join(values)}) VALUES (:{', :'.join(values)})"
    await execute(store, sql, **values)


Story = Callable[[Store], Awaitable[None]]


def run_story(store: Store, story: Story) -> None:
    async def tell() -> None:
        await furnish(store)
        await story(store)

    asyncio.run(tell())


async def code(asked: Awaitable[Any]) -> str:
    try:
        found = await asked
        return found.code if isinstance(found, RefusedInvocation) else type(found).__name__
    except IdentityError as error:
        return error.code


def test_an_invocation_from_its_use_to_its_answer(store: Store) -> None:
    async def story(store: Store) -> None:
        one, stored = invocation(), proof(Anchor(AnchorStatus.PENDING, None, None, None))
        assert await look_up_outcome(store, one, NOW) is None
        lease = await consume(store, one, spending(), NOW)
        assert isinstance(lease, Lease)
        with pytest.raises(RequestInProgress):
            await look_up_outcome(store, one, NOW)
        await store.invocations.finish(lease, stored, EVENT)
        assert await look_up_outcome(store, one, NOW) == DelegatedProof("d-1", stored.proof, stored.anchor)
        assert await StoredProofs.from_store(store).get(stored.id) == stored
        confirmed = Anchor(AnchorStatus.CONFIRMED, "ab", 7, None)
        await store.invocations.amend(lease, confirmed)
        assert await look_up_outcome(store, one, NOW) == DelegatedProof("d-1", stored.proof, confirmed)
        assert await consume(store, one, spending(), NOW) == Earlier(DelegatedProof("d-1", stored.proof, confirmed))
        assert await rows(store, "SELECT uses FROM delegations") == [(1,)]

    run_story(store, story)


@pytest.mark.parametrize("change", ["nonce_digest", "id_digest", "request_digest"])
def test_another_request_with_a_part_of_it(store: Store, change: str) -> None:
    async def story(store: Store) -> None:
        one = invocation()
        await consume(store, one, spending(), NOW)
        changed: dict[str, Any] = {change: os.urandom(32)}
        other = replace(one, **changed)
        with pytest.raises(IbctReplayed):
            await look_up_outcome(store, other, NOW)
        with pytest.raises(IbctReplayed):
            await consume(store, other, spending(), NOW)
        assert await rows(store, "SELECT uses FROM delegations") == [(1,)]

    run_story(store, story)


def test_a_lease_that_ended_is_taken_over_once(store: Store) -> None:
    async def story(store: Store) -> None:
        one = invocation()
        dead = await consume(store, one, spending(), NOW)
        later = NOW + LEASE
        assert await code(consume(store, one, spending(), later - timedelta(microseconds=1))) == ("REQUEST_IN_PROGRESS")
        lease = await consume(store, one, spending(), later)
        assert await code(consume(store, one, spending(), later)) == "REQUEST_IN_PROGRESS"
        assert isinstance(dead, Lease)
        assert isinstance(lease, Lease)
        # The one that was thought dead comes back too late.
        with pytest.raises(RequestInProgress):
            await store.invocations.finish(dead, proof(), EVENT)
        await store.invocations.release(dead)
        await store.invocations.finish(lease, proof(), EVENT)
        assert len(await kept_proofs(store)) == 1
        assert await rows(store, "SELECT uses FROM delegations") == [(1,)]

    run_story(store, story)


def test_lease_of_a_dead_process_ends_with_all(store: Store) -> None:
    async def story(store: Store) -> None:
        one = invocation()
        dead = await consume(store, one, spending(), NOW)
        assert await code(consume(store, one, spending(), NOW)) == "REQUEST_IN_PROGRESS"
        await store.invocations.release_all()
        assert isinstance(await consume(store, one, spending(), NOW), Lease)
        with pytest.raises(RequestInProgress):
            await store.invocations.finish(dead, proof(), EVENT)  # type: ignore[arg-type]
        assert await rows(store, "SELECT uses FROM delegations") == [(1,)]

    run_story(store, story)


def test_two_processes_decide_alike(tmp_path: Path, url: str | None) -> None:
    """Two stores over one database, as two server processes have them."""

    async def race(first: Store, second: Store) -> None:
        await furnish(first)
        await execute(first, "UPDATE delegations SET max_uses = 5")
        one = invocation()
        same = [consume(store, one, spending(), NOW) for store in (first, second) for _ in range(12)]
        assert Counter(await asyncio.gather(*map(code, same))) == {"Lease": 1, "REQUEST_IN_PROGRESS": 23}
        others = [consume(store, invocation(), spending(), NOW) for store in (first, second) for _ in range(12)]
        assert Counter(await asyncio.gather(*map(code, others))) == {"Lease": 4, "DELEGATION_EXHAUSTED": 20}

    stores = [open_store(tmp_path, url, processes=2) for _ in range(2)]

    async def story() -> None:
        try:
            await race(*stores)
        finally:
            for store in stores:
                await store.close()

    asyncio.run(story())


def test_two_processes_keep_one_limit_of_disclosure(tmp_path: Path, url: str | None) -> None:
    async def race(first: Store, second: Store) -> None:
        await furnish(first)
        await delegation(first, "d-2")
        asked = [
            consume(store, invocation(), spending(f"d-{1 + number % 2}", question=question(bytes([number]))), NOW)
            for number, store in enumerate([first, second] * 12)
        ]
        assert Counter(await asyncio.gather(*map(code, asked))) == {"Lease": 8, "DISCLOSURE_LIMIT": 16}
        assert await rows(first, "SELECT count(*) FROM disclosures") == [(8,)]

    stores = [open_store(tmp_path, url, processes=2) for _ in range(2)]

    async def story() -> None:
        try:
            await race(*stores)
        finally:
            for store in stores:
                await store.close()

    asyncio.run(story())


def test_a_refusal_is_counted_where_it_is_told(store: Store) -> None:
    async def story(store: Store) -> None:
        await execute(store, "UPDATE delegations SET max_refusals = 2")
        asked = spending(question=question())
        first, last = unsatisfied(refusals=1, maxRefusals=2), unsatisfied(refusals=2, maxRefusals=2)
        assert await consume(store, invocation(), asked, satisfied=False) == first
        one = invocation()
        assert await consume(store, one, asked, satisfied=False) == last
        assert await rows(store, "SELECT uses, refusals, suspended_reason FROM delegations") == [(2, 2, "refusals")]
        assert await code(consume(store, invocation(), asked)) == "DELEGATION_SUSPENDED"
        assert await look_up_outcome(store, one, NOW) == last
        assert await consume(store, one, asked) == Earlier(last)

    run_story(store, story)


def test_a_pinned_refusal_limits_nothing(store: Store) -> None:
    async def story(store: Store) -> None:
        await execute(store, "UPDATE delegations SET max_refusals = 1, max_thresholds = 0")
        for _ in range(3):
            assert await consume(store, invocation(), spending(), satisfied=False) == unsatisfied()
        assert await rows(store, "SELECT uses, refusals, suspended_reason FROM delegations") == [(3, 0, None)]

    run_story(store, story)


def test_a_refusal_by_a_limit_spends_the_token_and_nothing_else(store: Store) -> None:
    async def story(store: Store) -> None:
        await execute(store, "UPDATE delegations SET max_thresholds = 1")
        await consume(store, invocation(), spending(question=question(b"one")))
        for number in range(3):
            one, asked = invocation(), spending(question=question(bytes([number])))
            refused = await store.invocations.consume(one, asked, unopened, NOW)
            assert isinstance(refused, RefusedInvocation)
            assert refused.code == "DISCLOSURE_LIMIT"
            await execute(store, "UPDATE delegations SET max_thresholds = 9")
            assert await look_up_outcome(store, one, NOW) == refused
            assert await consume(store, one, asked) == Earlier(refused)
            with pytest.raises(IbctReplayed):
                await look_up_outcome(store, replace(one, request_digest=bytes(32)), NOW)
            await execute(store, "UPDATE delegations SET max_thresholds = 1")
        await consume(store, invocation(), spending(question=question(b"one")))
        assert await rows(store, "SELECT uses, refusals, suspended_reason FROM delegations") == [(2, 0, None)]
        assert await rows(store, "SELECT count(*) FROM invocations") == [(5,)]
        assert await rows(store, "SELECT count(*) FROM delegation_thresholds") == [(1,)]
        assert await rows(store, "SELECT count(*) FROM disclosures") == [(1,)]

    run_story(store, story)


def unopened(_: bytes) -> bool:
    raise AssertionError("the credential was opened although a limit refuses")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("max_uses = 3, uses = 3", "DELEGATION_EXHAUSTED"),
        ("suspended_reason = 'refusals'", "DELEGATION_SUSPENDED"),
        ("suspended_reason = 'manual'", "DELEGATION_NOT_ACTIVE"),
        ("max_thresholds = 0", "DISCLOSURE_LIMIT"),
        ("revoked_at = 1", "DELEGATION_REVOKED"),
        ("max_uses = 9", None),
    ],
)
def test_limits_of_any_record_come_before_the_credential(store: Store, limit: str, expected: str | None) -> None:
    async def story(store: Store) -> None:
        await delegation(store, "d-0")
        await execute(store, f"UPDATE delegations SET {limit} WHERE id = 'd-0'")
        asked = Consumption(("d-1", "d-0"), ("c-1",), (question(),))
        if expected is None:
            # Else nothing would show that the credential is opened at all.
            with pytest.raises(AssertionError, match="was opened"):
                await store.invocations.consume(invocation(), asked, unopened, NOW)
        else:
            assert await code(store.invocations.consume(invocation(), asked, unopened, NOW)) == expected

    run_story(store, story)


def test_repeated_questions_are_free_after_lower_limit(store: Store) -> None:
    """An installation of before may have let five questions through where three are the limit now."""

    async def story(store: Store) -> None:
        for number in range(5):
            await consume(store, invocation(), spending(question=question(bytes([number]), most=8)))
        for number, expected in ((0, "Lease"), (4, "Lease"), (5, "DISCLOSURE_LIMIT")):
            asked = spending(question=question(bytes([number]), most=3))
            assert await code(consume(store, invocation(), asked)) == expected

    run_story(store, story)


def test_questions_count_for_ever_unless_a_window_is_set(store: Store) -> None:
    async def story(store: Store) -> None:
        await consume(store, invocation(), spending(question=question(b"one", most=1)))
        for later, since, expected in (
            (NOW + timedelta(days=3_650), None, "DISCLOSURE_LIMIT"),
            (NOW + timedelta(days=30), NOW - timedelta(microseconds=1), "DISCLOSURE_LIMIT"),
            (NOW + timedelta(days=30), NOW, "Lease"),
        ):
            asked = spending(question=question(b"two", most=1, since=since))
            assert await code(consume(store, invocation(), asked, later)) == expected

    run_story(store, story)


class Spied:
    """A transaction that writes down what is executed in it."""

    def __init__(self, transaction: Any, statements: list[str]) -> None:
        self._transaction, self._statements = transaction, statements
        self.group = transaction.group

    def execute(self, sql: str, parameters: Any = MappingProxyType({}), /) -> Any:
        self._statements.append(sql)
        return self._transaction.execute(sql, parameters)


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        (None, None, 4),
        (question(b"one"), question(b"two"), 6),
        # The question before both makes it known.
        (question(b"zero"), question(b"zero"), 5),
    ],
    ids=["pinned", "new", "asked before"],
)
def test_both_answers_are_same_statements_and_equally_durable(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    first: Disclosure | None,
    second: Disclosure | None,
    count: int,
) -> None:
    async def story(store: Store) -> None:
        await execute(store, "UPDATE delegations SET max_refusals = 5, max_thresholds = 5")
        # Every 16th request, whatever its answer, removes what is no longer needed; here each.
        monkeypatch.setattr("identity_core.store.invocations.REQUESTS_BETWEEN_PRUNES", 1)
        before = await consume(store, invocation(), spending(question=question(b"zero")))
        assert isinstance(before, Lease)
        await store.invocations.release(before)
        write, seen = store.database.write, []

        def spy(job: Any, *, durable: bool = True, patience_seconds: float = 0.0, heavy: bool = False) -> Any:
            statements: list[str] = []
            seen.append((durable, statements, patience_seconds))
            return write(lambda transaction: job(Spied(transaction, statements)), durable=durable)

        monkeypatch.setattr(store.database, "write", spy)
        lease = await consume(store, invocation(), spending(question=first))
        assert isinstance(lease, Lease)
        # What is under way makes the next wait, so that of a no must be compared with that of a yes behind nothing, too.
        await store.invocations.release(lease)
        del seen[1:]
        no_asked = spending(question=second)
        assert await code(consume(store, invocation(), no_asked, satisfied=False)) == "PREDICATE_NOT_SATISFIED"
        yes, no = seen
        assert yes == no
        assert yes[0] is True
        assert len(yes[1]) == count

    run_story(store, story)


def test_commits_wait_only_while_another_proof_is_made(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(store: Store) -> None:
        write, waited = store.database.write, []

        def spy(job: Any, *, durable: bool = True, patience_seconds: float = 0.0, heavy: bool = False) -> Any:
            waited.append(patience_seconds)
            return write(job, durable=durable)

        monkeypatch.setattr(store.database, "write", spy)
        leases = []
        for satisfied in (True, False, True, False):
            ended = await consume(store, invocation(), spending(), satisfied=satisfied)
            leases += [ended] if isinstance(ended, Lease) else []
        first, second = leases
        assert waited == [0.0, PATIENCE_SECONDS, PATIENCE_SECONDS, PATIENCE_SECONDS]
        waited.clear()
        await store.invocations.finish(first, proof(), EVENT)
        await store.invocations.finish(second, proof(ibct_id="another", nonce="another"), EVENT)
        assert waited == [PATIENCE_SECONDS, 0.0]
        waited.clear()
        given_back = await consume(store, invocation(), spending())
        assert isinstance(given_back, Lease)
        await store.invocations.release(given_back)
        await consume(store, invocation(), spending())
        assert waited == [0.0, 0.0, 0.0]

    run_story(store, story)


def test_no_commit_waits_where_all_proofs_are_made_are_waiting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(store: Store) -> None:
        write, waited = store.database.write, []

        def spy(job: Any, *, durable: bool = True, patience_seconds: float = 0.0, heavy: bool = False) -> Any:
            waited.append(patience_seconds)
            return write(job, durable=durable)

        monkeypatch.setattr(store.database, "write", spy)
        leases = await asyncio.gather(*(consume(store, invocation(), spending()) for _ in range(3)))
        assert waited == [0.0, 0.0, 0.0]
        waited.clear()
        kept = [proof(ibct_id=str(number), nonce=f"nonce {number}") for number in range(3)]
        pairs = zip(leases, kept, strict=True)
        await asyncio.gather(*(store.invocations.finish(lease, one, EVENT) for lease, one in pairs))
        # The last waiter finds no other one at work.
        assert waited == [PATIENCE_SECONDS, PATIENCE_SECONDS, 0.0]
        waited.clear()
        lost = await consume(store, invocation(), spending())
        monkeypatch.setattr(store.database, "write", _broken)
        with pytest.raises(DatabaseError):
            await consume(store, invocation(), spending())
        monkeypatch.setattr(store.database, "write", spy)
        await store.invocations.release(lost)
        await consume(store, invocation(), spending())
        assert waited == [0.0, 0.0, 0.0], "what failed is not under way"

    run_story(store, story)


async def _broken(job: Any, **_: Any) -> Any:
    raise DatabaseError("no")


def test_parallel_questions_get_no_more_refusals_than_allowed(tmp_path: Path, url: str | None) -> None:
    """Two processes, 24 tokens: each question is looked at after what the one before has counted."""

    async def race(first: Store, second: Store) -> None:
        await furnish(first)
        await execute(first, "UPDATE delegations SET max_refusals = 1")
        asked = [
            consume(store, invocation(), spending(question=question(bytes([number]), most=99)), satisfied=False)
            for number, store in enumerate([first, second] * 12)
        ]
        assert Counter(await asyncio.gather(*map(code, asked))) == {
            "PREDICATE_NOT_SATISFIED": 1,
            "DELEGATION_SUSPENDED": 23,
        }
        assert await rows(first, "SELECT uses, refusals FROM delegations") == [(1, 1)]

    stores = [open_store(tmp_path, url, processes=2) for _ in range(2)]

    async def story() -> None:
        try:
            await race(*stores)
        finally:
            for store in stores:
                await store.close()

    asyncio.run(story())


MISMATCH = RefusedInvocation.from_error(ScopeMismatch(details={"reason": "é"}))


def test_a_refusal_before_the_use_spends_the_token(store: Store) -> None:
    async def story(store: Store) -> None:
        one = invocation()
        assert await store.invocations.refuse(one, MISMATCH, NOW) == MISMATCH
        assert await look_up_outcome(store, one, NOW) == MISMATCH
        found = await look_up_outcome(store, one, NOW)
        assert isinstance(found, RefusedInvocation)
        assert isinstance(found.error(), ScopeMismatch)
        other = RefusedInvocation.from_error(DelegationRevoked())
        assert await store.invocations.refuse(one, other, NOW) == Earlier(MISMATCH)
        assert await consume(store, one, spending()) == Earlier(MISMATCH)
        for member in ("nonce_digest", "id_digest", "request_digest"):
            changed: dict[str, Any] = {member: os.urandom(32)}
            with pytest.raises(IbctReplayed):
                await store.invocations.refuse(replace(one, **changed), MISMATCH, NOW)
        assert await rows(store, "SELECT uses FROM delegations") == [(0,)]

    run_story(store, story)


def test_a_refusal_beside_the_identical_request(store: Store) -> None:
    """While it runs, after it died, and after it was proven: a refused caller gets no proof, and no proof is lost."""

    async def story(store: Store) -> None:
        one, other = invocation(), invocation()
        lease = await consume(store, one, spending())
        assert await code(store.invocations.refuse(one, MISMATCH, NOW)) == "REQUEST_IN_PROGRESS"
        assert isinstance(lease, Lease)
        stored = proof()
        await store.invocations.finish(lease, stored, EVENT)
        assert await store.invocations.refuse(one, MISMATCH, NOW) == MISMATCH
        assert await look_up_outcome(store, one, NOW) == DelegatedProof("d-1", stored.proof, None)
        dead = await consume(store, other, spending())
        assert isinstance(dead, Lease)
        assert await store.invocations.refuse(other, MISMATCH, NOW + LEASE) == MISMATCH
        assert await code(store.invocations.finish(dead, proof(), EVENT)) == "REQUEST_IN_PROGRESS"
        assert await look_up_outcome(store, other, NOW) == MISMATCH
        assert len(await kept_proofs(store)) == 1

    run_story(store, story)


def test_a_code_that_no_class_has_is_a_fault_of_ours(store: Store) -> None:
    """As after a return to an older version."""

    async def story(store: Store) -> None:
        one = invocation()
        await store.invocations.refuse(one, RefusedInvocation("NEW_CODE", "New.", {}), NOW)
        found = await look_up_outcome(store, one, NOW)
        assert isinstance(found, RefusedInvocation)
        assert found.error().code == "INTERNAL_ERROR"

    run_story(store, story)


REVOCATIONS: list[tuple[str, type[IdentityError]]] = [
    ("UPDATE delegations SET revoked_at = 1", DelegationRevoked),
    ("DELETE FROM delegations", DelegationInvalid),
    ("UPDATE credentials SET status = 'revoked'", CredentialRevoked),
    ("UPDATE credentials SET status = 'suspended'", CredentialRevoked),
    ("DELETE FROM credentials", CredentialNotFound),
]


@pytest.mark.parametrize(("sql", "refusal"), REVOCATIONS)
def test_both_transactions_see_the_revocation(store: Store, sql: str, refusal: type[IdentityError]) -> None:
    async def story(store: Store) -> None:
        one = invocation()
        lease = await consume(store, one, spending(), NOW)
        assert isinstance(lease, Lease)
        await execute(store, sql)
        refused = await store.invocations.consume(invocation(), spending(), unopened, NOW)
        assert isinstance(refused, RefusedInvocation)
        assert isinstance(refused.error(), refusal)
        with pytest.raises(refusal):
            await store.invocations.finish(lease, proof(), EVENT)
        assert await rows(store, "SELECT count(*) FROM proofs") == [(0,)]
        # The identical request need not wait for what will not come.
        assert await look_up_outcome(store, one, NOW) == refused

    run_story(store, story)


@pytest.mark.parametrize("kind", ["id", "nonce"])
def test_a_token_that_is_called_back(store: Store, kind: str) -> None:
    async def story(store: Store) -> None:
        one = invocation()
        lease = await consume(store, one, spending(), NOW)
        digest = one.id_digest if kind == "id" else one.nonce_digest
        await execute(
            store,
            "INSERT INTO ibct_revocations (invoker, kind, digest, keep_until, revoked_at) "
            "VALUES (:invoker, :kind, :digest, 1, 1)",
            invoker=HOLDER,
            kind=kind,
            digest=digest,
        )
        assert isinstance(lease, Lease)
        with pytest.raises(IbctRevoked):
            await store.invocations.finish(lease, proof(), EVENT)

    run_story(store, story)


def test_every_record_of_the_chain_is_counted(store: Store) -> None:
    async def story(store: Store) -> None:
        await delegation(store, "d-0", max_uses=1)
        chain = Consumption(("d-1", "d-0"), ("c-1",), ())
        await consume(store, invocation(), chain, NOW)
        assert await code(consume(store, invocation(), chain, NOW)) == "DELEGATION_EXHAUSTED"
        assert await rows(store, "SELECT id, uses FROM delegations ORDER BY id") == [("d-0", 1), ("d-1", 1)]

    run_story(store, story)


def test_invocations_go_when_their_token_has_long_expired(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("identity_core.store.invocations.REQUESTS_BETWEEN_PRUNES", 1)

    async def story(store: Store) -> None:
        one = invocation()
        await consume(store, one, spending(), NOW)
        await consume(store, invocation(), spending(), one.delete_after - timedelta(microseconds=1))
        assert await rows(store, "SELECT count(*) FROM invocations") == [(2,)]
        late = invocation(delete_after=NOW + timedelta(days=1))
        await consume(store, late, spending(), one.delete_after)
        assert await rows(store, "SELECT count(*) FROM invocations") == [(1,)]

    run_story(store, story)


def test_invocations_that_may_go_go_with_every_16th_request(store: Store) -> None:
    async def story(store: Store) -> None:
        await execute(store, "UPDATE delegations SET max_uses = NULL")
        one = invocation()
        late = one.delete_after
        await consume(store, one, spending(), NOW)
        for _ in range(15):
            await consume(store, invocation(delete_after=late + timedelta(days=1)), spending(), late)
        assert await rows(store, "SELECT count(*) FROM invocations") == [(16,)]
        await consume(store, invocation(delete_after=late + timedelta(days=1)), spending(), late)
        assert await rows(store, "SELECT count(*) FROM invocations") == [(16,)]

    run_story(store, story)


def test_proof_and_event_rows_are_atomic(store: Store) -> None:
    async def story(store: Store) -> None:
        event = EVENT._replace(event=ProofMade("proof.generated", parties=Parties("did:ids:hana")))
        counted = "SELECT (SELECT count(*) FROM proofs), (SELECT count(*) FROM timeline)"
        lease = await consume(store, invocation(), spending())
        await store.invocations.finish(lease, proof(), event)
        assert await rows(store, counted) == [(1, 1)]
        lease = await consume(store, invocation(), spending())
        await execute(store, "UPDATE credentials SET status = 'revoked'")
        assert await code(store.invocations.finish(lease, proof(), event)) == "CREDENTIAL_REVOKED"
        assert await rows(store, counted) == [(1, 1)]

    run_story(store, story)


def test_proofs_are_kept_as_they_were_made_and_taken_back_once(store: Store) -> None:
    async def story(store: Store) -> None:
        made = []
        for number in range(5):
            lease = await consume(store, invocation(), spending(), NOW)
            assert isinstance(lease, Lease)
            made.append(proof(created_at=NOW + timedelta(seconds=number // 2), agent=f"did:ids:{number % 2}"))
            await store.invocations.finish(lease, made[-1], EVENT)
        made.sort(key=lambda one: (one.created_at, one.id), reverse=True)
        assert await kept_proofs(store) == made
        revocation = ProofRevocation(NOW, "did:did:ids:hana", "a mistake")
        assert await StoredProofs.from_store(store).revoke(made[0].id, revocation, EVENT) == replace(
            made[0], revocation=revocation
        )
        again = ProofRevocation(NOW + timedelta(days=1), "another", None)
        assert await StoredProofs.from_store(store).revoke(made[0].id, again, EVENT) == replace(
            made[0], revocation=revocation
        )
        assert await StoredProofs.from_store(store).revoke("unknown", again, EVENT) is None
        assert await StoredProofs.from_store(store).get("unknown") is None

    run_story(store, story)


def test_every_credential_of_a_use_is_looked_at_and_opened(store: Store) -> None:
    async def story(store: Store) -> None:
        both = Consumption(("d-1",), ("c-1", "c-2"), (replace(question(), credential_id="c-2"),))
        assert await code(store.invocations.consume(invocation(), both, unopened, NOW)) == "CREDENTIAL_NOT_FOUND"
        await credential(store, "c-2", sealed=b"another")
        opened: list[Sequence[bytes]] = []
        lease = await store.invocations.consume(invocation(), both, lambda boxes: not opened.append(boxes), NOW)
        assert opened == [[b"box", b"another"]]
        assert await rows(store, "SELECT credential_id FROM disclosures") == [("c-2",)]
        assert isinstance(lease, Lease)
        await execute(store, "UPDATE credentials SET status = 'suspended' WHERE id = 'c-2'")
        assert await code(store.invocations.consume(invocation(), both, unopened, NOW)) == "CREDENTIAL_REVOKED"
        with pytest.raises(CredentialRevoked):
            await store.invocations.finish(lease, proof(), EVENT)

    run_story(store, story)


def test_a_limit_of_one_credential_is_none_of_another(store: Store) -> None:
    async def story(store: Store) -> None:
        await credential(store, "c-2")
        asked = [question(b"1", 1), replace(question(b"2", 1), credential_id="c-2")]
        both = Consumption(("d-1",), ("c-1", "c-2"), tuple(asked))
        assert await code(consume(store, invocation(), both)) == "Lease"
        more = replace(both, questions=(replace(question(b"3", 1), credential_id="c-2"),))
        assert await code(consume(store, invocation(), more)) == "DISCLOSURE_LIMIT"

    run_story(store, story)


def test_predicate_on_two_credentials_is_two_thresholds(store: Store) -> None:
    async def story(store: Store) -> None:
        await credential(store, "c-2")
        await execute(store, "UPDATE delegations SET max_thresholds = 2, max_uses = NULL")
        other = replace(question(b"1"), credential_id="c-2", threshold=b"c-2" + b"1")
        both = Consumption(("d-1",), ("c-1", "c-2"), (question(b"1"), other))
        assert await code(consume(store, invocation(), both)) == "Lease"
        assert await rows(store, "SELECT count(*) FROM delegation_thresholds") == [(2,)]
        third = replace(both, questions=(question(b"2"),))
        assert await code(consume(store, invocation(), third)) == "DISCLOSURE_LIMIT"
        assert await code(consume(store, invocation(), both)) == "Lease", "what was asked may be asked again"

    run_story(store, story)


def test_old_thresholds_belong_to_their_credentials(store: Store) -> None:
    async def story(store: Store) -> None:
        await credential(store, "c-2")
        await execute(store, "UPDATE delegations SET max_thresholds = 1, max_uses = NULL")
        await execute(
            store, "INSERT INTO delegation_thresholds (delegation_id, digest) VALUES ('d-1', :digest)", digest=b"1"
        )
        asked = "INSERT INTO disclosures (credential_id, attribute, digest, at) VALUES ('c-1', 'age', :digest, 0)"
        await execute(store, asked, digest=b"1")
        for _ in range(2):
            assert await code(consume(store, invocation(), spending(question=question(b"1")))) == "Lease"
        assert await rows(store, "SELECT count(*) FROM delegation_thresholds") == [(1,)]
        other = replace(question(b"1"), credential_id="c-2", threshold=b"c-2" + b"1")
        both = Consumption(("d-1",), ("c-1", "c-2"), (other,))
        assert await code(consume(store, invocation(), both)) == "DISCLOSURE_LIMIT"

    run_story(store, story)


def test_the_question_of_a_proof_is_kept(store: Store) -> None:
    credentials = tuple(KeptCredential(one, "did:ids:ivo", "schema", ()) for one in ("c-1", "c-2"))
    asked = KeptQuestion(credentials, (((0, "name"), (1, "name")),), ((0, 1),), "https://shop.example")

    async def story(store: Store) -> None:
        made = proof(predicate={}, question=asked)
        lease = await consume(store, invocation(), spending())
        assert isinstance(lease, Lease)
        await store.invocations.finish(lease, made, EVENT)
        kept = await StoredProofs.from_store(store).get(made.id)
        assert kept == made
        assert (made.credential_ids, made.predicates) == (("c-1", "c-2"), ())
        assert proof().credential_ids == ("c-1",)

    run_story(store, story)
