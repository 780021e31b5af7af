"""Nicknames: sealed, of their owner alone, and erased."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import Any

import pytest
from identity_operations.retention import StoredRecords
from identity_records import labels
from identity_records.extension import LABELS
from identity_records.labels import Labels, NamedDid, StoredLabels
from identity_records.wire import SetLabelRequest

from identity_codec import sealing
from identity_core.database import migrate
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, InvalidDid, InvalidRequest, QuotaExceeded
from identity_core.store import Store
from identity_core.use_cases.record import Record
from tests.did_use_cases import MovableClock

START = datetime(2026, 1, 1, tzinfo=UTC)
HANA, AKI, SHOP = "did:key:hana", "did:key:aki", "did:web:shop.example"
KEY = ApiKey("k", "k", "a" * 64, None, None, None, None, START)
HERS = Caller(did=Did.parse(HANA))


@pytest.fixture
def stored(store: Store) -> StoredLabels:
    migrate(store.database, "identity_records.migrations", "records_")
    return StoredLabels(store.database, b"\x01" * 32, os.urandom)


def labels_of(store: Store, stored: StoredLabels) -> Labels:
    return Labels(stored, Record(store.activity), MovableClock(START))


def give(store: Store, stored: StoredLabels, text: str, did: str = SHOP, caller: Caller = HERS) -> NamedDid:
    wish, context = SetLabelRequest(label=text), RequestContext("setLabel", caller, "r")
    return asyncio.run(labels_of(store, stored).set(did, wish, context))


def read(stored: StoredLabels, caller: Caller = HERS) -> list[NamedDid]:
    unused: Any = None
    return [*asyncio.run(Labels(stored, unused, unused).list(caller))]


def test_a_label_is_read_by_its_owner_alone(store: Store, stored: StoredLabels) -> None:
    given = give(store, stored, "The shop")
    assert given == NamedDid(SHOP, "The shop", START)
    assert read(stored) == [given]
    assert read(stored, Caller(did=Did.parse(SHOP))) == []
    assert read(stored, Caller(did=Did.parse(AKI))) == []
    # Another owner may give the same DID another name.
    give(store, stored, "My employer", caller=Caller(did=Did.parse(AKI)))
    assert read(stored) == [given]


@pytest.mark.parametrize(
    "caller",
    [
        Caller(api_key=KEY),
        Caller(subject=Did.parse(HANA), operator=KEY),
        Caller(subject=Did.parse(HANA), client=Did.parse(AKI)),
        Caller(name="the service"),
    ],
    ids=["an operator", "a token of an operator", "a program that she let in", "the service"],
)
def test_labels_are_refused_to_callers_for_others(store: Store, stored: StoredLabels, caller: Caller) -> None:
    give(store, stored, "The shop")
    with pytest.raises(Forbidden):
        read(stored, caller)
    with pytest.raises(Forbidden):
        give(store, stored, "Mine", caller=caller)
    with pytest.raises(Forbidden):
        asyncio.run(labels_of(store, stored).delete(SHOP, RequestContext("d", caller, "r")))


def test_the_row_shows_neither_did_nor_label(store: Store, stored: StoredLabels) -> None:
    give(store, stored, "The shop")
    rows = asyncio.run(store.database.read(lambda one: one.execute("SELECT * FROM records_labels").fetchall()))
    content = repr([bytes(cell) if isinstance(cell, memoryview) else cell for row in rows for cell in row])
    assert HANA in content
    assert SHOP not in content
    assert "The shop" not in content


def test_a_box_of_another_owner_does_not_open(store: Store, stored: StoredLabels) -> None:
    give(store, stored, "The shop")
    sql = f"UPDATE records_labels SET holder = '{AKI}'"
    store.database.write_now(lambda one: one.execute(sql).rowcount)
    with pytest.raises(sealing.BoxInvalid):
        read(stored, Caller(did=Did.parse(AKI)))


def test_a_label_is_replaced_and_taken_back(store: Store, stored: StoredLabels) -> None:
    give(store, stored, "The shop")
    assert [one.label for one in read(stored)] == ["The shop"]
    give(store, stored, "The other shop")
    assert [one.label for one in read(stored)] == ["The other shop"]
    take = labels_of(store, stored).delete
    for _ in range(2):
        asyncio.run(take(SHOP, RequestContext("deleteLabel", HERS, "r")))
        assert read(stored) == []


@pytest.mark.parametrize("text", ["\u202eshop", "shop\n", "   "], ids=["turned", "a line", "blank"])
def test_a_label_that_could_deceive_is_refused(store: Store, stored: StoredLabels, text: str) -> None:
    with pytest.raises(InvalidRequest):
        give(store, stored, text)
    with pytest.raises(InvalidDid):
        give(store, stored, "The shop", did="shop.example")


def test_labels_of_one_owner_are_limited(store: Store, stored: StoredLabels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST", 2)
    for number in (1, 2):
        give(store, stored, "The shop", did=f"{SHOP}:{number}")
    with pytest.raises(QuotaExceeded):
        give(store, stored, "The shop", did=f"{SHOP}:3")
    # A new name for a known DID is no further row, and others have their own limit.
    give(store, stored, "The first shop", did=f"{SHOP}:1")
    give(store, stored, "The shop", caller=Caller(did=Did.parse(AKI)))


def test_labels_are_erased_with_the_records_of_their_owner(store: Store, stored: StoredLabels) -> None:
    give(store, stored, "The shop")
    give(store, stored, "The shop", caller=Caller(did=Did.parse(AKI)))
    records = StoredRecords(store.database, [LABELS])
    assert len(asyncio.run(records.page("labels", HANA, after="", limit=9))) == 1
    assert asyncio.run(records.erase("labels", HANA, limit=9)) == 1
    assert read(stored) == []
    assert len(read(stored, Caller(did=Did.parse(AKI)))) == 1
    assert asyncio.run(records.waiting("labels", HANA)) == 0
