"""The rows that a caller may see, in history, stats, timeline and audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from identity_records.audit import audit_of
from identity_records.store import StoredTimeline, StoredVerifications, TimelineEntry, Verification
from identity_records.use_cases.audit import ListAuditLines
from identity_records.use_cases.timeline import GetDashboardTimeline
from identity_records.use_cases.verifications import ReadVerifications
from identity_records.wire import (
    GetDashboardTimelineQuery,
    GetVerificationStatsQuery,
    ListAuditLinesQuery,
    ListVerificationHistoryQuery,
)
from identity_verification.store import StoredProofs, StoredVerifierChallenges
from identity_verification.use_cases.stored import ProofAccess

from identity_codec.values import replace
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden
from identity_core.store import Store
from tests.did_use_cases import MovableClock
from tests.events import open_store, write_rows

START = datetime(2026, 1, 1, tzinfo=UTC)
HANA, AKI, VERA, MALLORY = (f"did:key:{name}" for name in ("hana", "aki", "vera", "mallory"))
KEY = ApiKey("k", "k", "a" * 64, None, None, None, None, START)
ADMIN = Caller(api_key=KEY)
ROW = Verification(START, True, f"did:{VERA}", VERA, None, HANA, "did:key:ivo", "age-1", "p-1", "age", "gte", ())
BY_KEY = replace(ROW, at=START + timedelta(1), caller="key:k", verifier=None, fingerprint="a" * 12)
ANY = ListVerificationHistoryQuery()


def did(text: str) -> Caller:
    return Caller(did=Did.parse(text))


def scoped(scopes: set[str], targets: set[str] | None = None) -> Caller:
    narrowed = None if targets is None else frozenset(targets)
    return Caller(api_key=replace(KEY, id="s", scopes=frozenset(scopes), allowed_targets=narrowed))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = open_store(tmp_path)

    async def fill() -> None:
        await write_rows(opened, (ROW,))
        await write_rows(opened, (BY_KEY,))
        await write_rows(opened, (TimelineEntry(START, "proof.generated", "done", None, holder=HANA, agent=AKI),))

    asyncio.run(fill())
    return opened


def list_seen(store: Store, caller: Caller, wish: ListVerificationHistoryQuery = ANY) -> Sequence[Verification]:
    access = ProofAccess(StoredProofs.from_store(store), StoredVerifierChallenges(store.database))
    reads = ReadVerifications(
        StoredVerifications(store.database), StoredProofs.from_store(store), access, MovableClock()
    )
    rows = asyncio.run(reads.list(wish, caller))
    counts = asyncio.run(reads.counts(GetVerificationStatsQuery(holder_did=wish.holder_did), caller))
    assert counts.total == len(rows)
    return [row.verification for row in rows]


def test_the_history(store: Store) -> None:
    assert list_seen(store, did(HANA)) == [BY_KEY, ROW]
    assert list_seen(store, did(MALLORY)) == []
    assert list_seen(store, ADMIN) == [BY_KEY, ROW]
    assert list_seen(store, scoped({"audit:read"}, {HANA})) == [BY_KEY, ROW]
    assert list_seen(store, scoped({"audit:read"}, {MALLORY})) == []
    assert list_seen(store, scoped({"audit:read"}, set())) == []


def test_a_verifier_does_not_learn_the_holder(store: Store) -> None:
    assert list_seen(store, did(VERA)) == [replace(ROW, holder=None)]
    assert list_seen(store, scoped({"audit:read"}, {VERA})) == [replace(ROW, holder=None)]
    # Nor by guessing.
    assert list_seen(store, did(VERA), ListVerificationHistoryQuery(holder_did=HANA)) == []
    assert list_seen(store, did(HANA), ListVerificationHistoryQuery(holder_did=HANA)) == [BY_KEY, ROW]


def test_the_timeline(store: Store) -> None:
    def events(caller: Caller) -> int:
        return len(
            asyncio.run(GetDashboardTimeline(StoredTimeline(store.database))(GetDashboardTimelineQuery(), caller))
        )

    assert [events(did(who)) for who in (HANA, AKI, VERA, MALLORY)] == [1, 1, 0, 0]
    assert [events(caller) for caller in (ADMIN, scoped({"audit:read"}, {AKI}), scoped({"audit:read"}, set()))] == [
        1,
        1,
        0,
    ]


def test_a_key_needs_the_scope(store: Store) -> None:
    narrow = (scoped({"zkp:verify"}), Caller(subject=Did.parse(HANA), scopes=frozenset({"zkp:verify"})))
    for caller in narrow:
        with pytest.raises(Forbidden):
            list_seen(store, caller)
        with pytest.raises(Forbidden):
            asyncio.run(GetDashboardTimeline(StoredTimeline(store.database))(GetDashboardTimelineQuery(), caller))


def test_the_audit_log_is_for_those_who_may_see_everybody(store: Store) -> None:
    listing = ListAuditLines(audit_of(store))
    for caller in (did(HANA), scoped({"zkp:verify"}), scoped({"audit:read"}, {HANA})):
        with pytest.raises(Forbidden):
            asyncio.run(listing(ListAuditLinesQuery(limit=1), caller))
    for caller in (ADMIN, scoped({"audit:read"})):
        assert asyncio.run(listing(ListAuditLinesQuery(limit=1), caller)) == []
