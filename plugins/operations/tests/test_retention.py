"""Records that go by age, records that go because their holder wants it, and what stays of them, on both databases."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from identity_operations import kinds
from identity_operations.erasure import SweepRecords
from identity_operations.examination.rows import StoreExamination
from identity_records.queries import TimelineQuery, VerificationQuery
from identity_records.store import StoredTimeline, StoredVerifications, TimelineEntry, Verification
from identity_verification.store import StoredProofs

from identity_client.status_list import ENTRIES
from identity_codec.times import printed
from identity_core.domain.credentials.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.domain.credentials.status_list import list_id
from identity_core.domain.dids.did import Did
from identity_core.domain.proofs.stored import KeptCredential, KeptQuestion
from identity_core.ports.credentials import CredentialFilter, RegisteredSchema
from identity_core.ports.retention import ERASED_HOLDER
from identity_core.store import Store
from identity_core.use_cases.background import FEWEST, FIRST, HELD_SECONDS, MOST, SOON_SECONDS
from plugins.operations.tests.records import stored
from tests.anchoring import add_proofs, some_proof
from tests.credentials import HOLDER, ISSUER, NOW, a_credential, a_schema
from tests.did_use_cases import MovableClock
from tests.events import write_rows

# Nicknames and requests have no part in a proof (plugins/records/tests/test_labels.py, plugins/consents/tests/test_requests.py).
OF_PROOFS = tuple(kind for kind in kinds.KINDS if kind not in ("labels", "requests"))

HANA, IRIS = str(HOLDER), "did:example:iris"
DAY = timedelta(days=1)


def run(job: Any) -> Any:
    return asyncio.run(job)


async def credential(store: Store, **changed: Any) -> Credential:
    await store.credential_schemas.add(RegisteredSchema(a_schema(), NOW, str(ISSUER)))
    wanted = a_credential(**({"id": f"urn:uuid:{uuid.uuid4()}"} | changed))
    stored = await store.credentials.add(wanted, b"sealed", random=os.urandom)
    assert stored is not None
    return stored


async def events(store: Store, at: datetime, *holders: str) -> None:
    for holder in holders:
        seen = Verification(at, True, "key:v", None, "ffff", holder, str(ISSUER), "s", "p", "age", "gte", ())
        entry = TimelineEntry(at, "proof.generated", "done", "key:v", None, holder, "did:x:aki")
        await write_rows(store, [entry, seen], durable=True)


async def rows_left(store: Store, holder: str | None) -> tuple[int, int]:
    timeline = await StoredTimeline(store.database).list(TimelineQuery(None if holder is None else frozenset({holder})))
    seen = await StoredVerifications(store.database).list(VerificationQuery(None, None, holder=holder))
    return len(timeline), len(seen)


def test_only_old_rows_are_deleted(store: Store) -> None:
    async def scenario() -> None:
        for age in (3, 2, 1):
            await events(store, NOW - age * DAY, HANA)
        for kind in ("timeline", "verifications"):
            assert await stored(store).forget(kind, NOW - 2 * DAY, limit=10) == 1
            assert await stored(store).forget(kind, NOW - 2 * DAY, limit=10) == 0
        assert await rows_left(store, HANA) == (2, 2)
        old = await credential(store, valid_until=NOW)
        young, endless = await credential(store, valid_until=NOW + DAY), await credential(store)
        assert await stored(store).forget("credentials", NOW, limit=10) == 1
        assert await stored(store).forget("credentials", NOW, limit=10) == 0, "what is erased is not found again"
        assert [await store.credentials.sealed(one.id) for one in (old, young, endless)] == [b"", b"sealed", b"sealed"]
        proofs = [some_proof(NOW - age * DAY, anchor=None) for age in (3, 2, 1)]
        await add_proofs(store, proofs)
        assert await stored(store).forget("proofs", NOW - DAY, limit=10) == 2
        assert [await StoredProofs.from_store(store).get(one.id) is None for one in proofs] == [True, True, False]

    run(scenario())


def test_a_step_is_no_longer_than_its_limit(store: Store) -> None:
    async def scenario() -> None:
        await events(store, NOW, *[HANA] * 7)
        later = NOW + DAY
        assert [await stored(store).forget("timeline", later, limit=3) for _ in range(3)] == [3, 3, 1]
        assert [await stored(store).erase("verifications", HANA, limit=3) for _ in range(3)] == [3, 3, 1]

    run(scenario())


def test_a_holder_takes_what_is_hers_and_nothing_of_anothers(store: Store) -> None:
    async def scenario() -> None:
        hers, another = await credential(store), await credential(store, holder=Did.parse(IRIS))
        await events(store, NOW, HANA, HANA, IRIS)
        own, other = some_proof(NOW, anchor=None, holder=HANA), some_proof(NOW, anchor=None, holder=IRIS)
        await add_proofs(store, [own, other])
        assert [await stored(store).erase(kind, HANA, limit=100) for kind in OF_PROOFS] == [1, 1, 2, 2]
        assert [await stored(store).erase(kind, HANA, limit=100) for kind in OF_PROOFS] == [0, 0, 0, 0]
        assert await rows_left(store, HANA) == (0, 0)
        assert await rows_left(store, IRIS) == (1, 1)
        assert await rows_left(store, None) == (1, 3), "what a verifier did stays the verifier's"
        assert (
            await StoredProofs.from_store(store).get(own.id),
            await StoredProofs.from_store(store).get(other.id),
        ) == (None, other)
        assert await store.credentials.sealed(another.id) == b"sealed"
        found = await store.credentials.get(hers.id)
        assert found is not None
        assert (str(found.holder), found.issuer, found.status_index) == (ERASED_HOLDER, hers.issuer, hers.status_index)
        assert await store.credentials.list(CredentialFilter(holder=HANA), after=None, limit=9) == []
        data = repr([await stored(store).page(kind, str(ISSUER), after="", limit=99) for kind in OF_PROOFS])
        assert HANA not in data

    run(scenario())


def test_revoked_stays_revoked_after_erasure(store: Store) -> None:
    async def scenario() -> None:
        revoked, active = await credential(store), await credential(store)
        assert await store.credentials.set_status(revoked, CredentialStatus.REVOKED, "stolen", NOW)
        assert await stored(store).erase("credentials", HANA, limit=9) == 2
        listed = list_id(ISSUER, revoked.status_index // ENTRIES)
        found = await store.credentials.status_list(listed, StatusPurpose.REVOCATION)
        assert found is not None
        assert found.set_indexes == [revoked.status_index % ENTRIES]
        erased = await store.credentials.get(active.id)
        assert erased is not None
        assert await store.credentials.set_status(erased, CredentialStatus.REVOKED, None, NOW)
        found = await store.credentials.status_list(listed, StatusPurpose.REVOCATION)
        assert found is not None
        assert len(found.set_indexes) == 2

    run(scenario())


def test_a_proof_whose_anchor_is_on_its_way_waits(store: Store) -> None:
    async def scenario() -> None:
        proof = some_proof(NOW, holder=HANA)
        await add_proofs(store, [proof])
        assert await stored(store).erase("proofs", HANA, limit=9) == 0
        assert await stored(store).waiting("proofs", HANA) == 1

        def set_batch(state: str) -> Callable[[Any], Any]:
            return lambda writing: writing.execute("UPDATE anchor_leaves SET state = :state", {"state": state})

        await store.database.write(set_batch("revoked"))
        assert await stored(store).waiting("proofs", HANA) == 0
        assert await stored(store).erase("proofs", HANA, limit=9) == 1
        assert await StoreExamination(store.database, bytes(32), is_keyed=False).broken(()) == [], (
            "nothing is out of place"
        )

    run(scenario())


def test_pages_show_what_concerns_did_and_nothing_that_is_sealed(store: Store) -> None:
    async def scenario() -> None:
        await credential(store)
        await add_proofs(store, [some_proof(NOW, anchor=None, holder=HANA), some_proof(NOW, anchor=None)])
        await events(store, NOW, HANA, IRIS, HANA)
        pages = {kind: await stored(store).page(kind, HANA, after="", limit=9) for kind in OF_PROOFS}
        assert {kind: len(page) for kind, page in pages.items()} == dict(zip(OF_PROOFS, (1, 1, 2, 2), strict=True))
        assert "sealed" not in repr(pages)
        (_, proof) = pages["proofs"][0]
        assert (proof["predicate"]["value"], proof["created_at"]) == (18, printed(NOW))
        first, _ = pages["timeline"]
        assert [row for row, _ in await stored(store).page("timeline", HANA, after=first[0], limit=9)] != [first[0]]

    run(scenario())


def test_proof_of_several_credentials_shown_with_whole_question(store: Store) -> None:
    age: dict[str, Any] = {"attributeName": "age", "type": "gte", "value": 18}
    asked = KeptQuestion(
        (KeptCredential("c-1", "did:x:ivo", "s-1", (age,)), KeptCredential("c-2", "did:x:uni", "s-2", ())),
        (((0, "name"), (1, "name")),),
        (),
        "https://shop.example",
    )

    async def scenario() -> None:
        rows = [some_proof(NOW, anchor=None, holder=HANA, question=each) for each in (asked, None)]
        await add_proofs(store, rows)
        found = [row.get("question") for _, row in await stored(store).page("proofs", HANA, after="", limit=9)]
        assert len(found) == 2
        assert None in found
        (question,) = [one for one in found if one is not None]
        assert isinstance(question, dict)
        credentials = question["credentials"]
        assert [(one["issuer"], one["predicates"]) for one in credentials] == [("did:x:ivo", [age]), ("did:x:uni", [])]
        assert question["pseudonym"] == "https://shop.example"
        assert len(question["same"]) == 1

    run(scenario())


class Slow:
    """Records without an end, in a store that needs ``seconds`` for each row."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds, self.limits = 0.0, seconds, list[int]()

    def monotonic(self) -> float:
        return self.now

    async def forget(self, kind: str, until: datetime, limit: int) -> int:
        self.limits.append(limit)
        self.now += limit * self.seconds
        return limit


@pytest.mark.parametrize(
    ("seconds", "last"),
    [(HELD_SECONDS / 60, FIRST), (HELD_SECONDS / 150, 2 * FIRST), (HELD_SECONDS, FEWEST), (0.0, MOST)],
)
def test_steps_are_as_long_as_the_writer_may_be_held(seconds: float, last: int) -> None:
    """Unless FEWEST rows take longer; and no step on the way was longer, either."""
    slow = Slow(seconds)
    sweep = SweepRecords(slow, {"timeline": DAY}, MovableClock(), slow.monotonic)  # type: ignore[arg-type]
    waits = [asyncio.run(sweep.step()) for _ in range(12)]
    assert (slow.limits[0], slow.limits[-1], waits[-1]) == (FIRST, last, SOON_SECONDS)
    assert seconds == HELD_SECONDS or max(slow.limits) * seconds <= HELD_SECONDS


class SlowProofs(Slow):
    """Proofs take long, and all else no time."""

    async def forget(self, kind: str, until: datetime, limit: int) -> int:
        return await super().forget(kind, until, limit=limit) if kind == "proofs" else limit


def test_a_kind_that_is_quick_makes_no_step_of_another_longer() -> None:
    slow = SlowProofs(HELD_SECONDS / 60)
    sweep = SweepRecords(slow, {"timeline": DAY, "proofs": DAY}, MovableClock(), slow.monotonic)  # type: ignore[arg-type]
    for _ in range(12):
        asyncio.run(sweep.step())
    assert set(slow.limits) == {FIRST}
    assert sweep.sizes["timeline"].rows == MOST


def test_sweep_waits_long_without_old_rows(store: Store) -> None:
    async def scenario() -> None:
        kept = dict.fromkeys(OF_PROOFS, DAY)
        sweep = SweepRecords(stored(store), kept, MovableClock(), lambda: 0.0)
        assert await sweep.step() == sweep.interval_seconds

    run(scenario())
