"""Header and slots of suite 2: one text for one meaning, and everything that is said is signed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_bound_credentials.domain.bound_credential import (
    BOUND_HEADER_TAG,
    BoundHeader,
    Particulars,
    SecretKeeper,
    StatusListReference,
    controller,
    day_of,
)
from identity_kit.conformance.prover_cases import HANA, SCHEMA

from identity_codec.values import replace
from identity_core.domain.credentials.attributes import NULL_SCALAR, ValueRefused

LIST = StatusListReference("AbCdEfGhIjKlMnOpQrStUv", 86_400)
HEADER = BoundHeader(SCHEMA, "did:ids:ivo#bbs", LIST, SecretKeeper.WALLET, bytes(range(32)))
FROM, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
MINE = Particulars("urn:uuid:1", "did:ids:hana", FROM, UNTIL, 77)


def test_a_header_is_read_as_it_was_written():
    for header in (HEADER, replace(HEADER, status=None), replace(HEADER, keeper=SecretKeeper.NONE)):
        assert BoundHeader.from_octets(header.encoded) == header
    value = json.loads(HEADER.encoded.removeprefix(BOUND_HEADER_TAG))
    assert value.keys() == {"attributes", "digest", "holder", "issuer", "method", "schema", "status"}
    assert value["issuer"] == HEADER.issuer == "did:ids:ivo"
    assert value["status"] == {"bits": 32, "list": LIST.list_id, "period": 86_400}
    slots = [one["slot"] for one in value["attributes"]]
    assert slots == list(range(6, 15))
    assert [one["numericSlot"] for one in value["attributes"] if "numericSlot" in one] == list(range(15, 21))
    assert HEADER.message_count == 21


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.update(more=1),
        lambda v: v.pop("status"),
        lambda v: v.update(holder="cloud"),
        lambda v: v.update(issuer="did:ids:eve"),
        lambda v: v.update(method="did:ids:ivo"),
        lambda v: v.update(method="did:ids:ivo#a#b"),
        lambda v: v.update(method="ivo#bbs"),
        lambda v: v.update(digest=v["digest"][:-2]),
        lambda v: v["status"].update(bits=24),
        lambda v: v["status"].update(period=10**9),
        lambda v: v["status"].update(list="short"),
        lambda v: v["status"].update(method="did:ids:ivo#x"),
        lambda v: v["attributes"][0].update(slot=7),
        lambda v: v["attributes"].reverse(),
        lambda v: v.update(status=[]),
        lambda v: v.update(status=False),
    ],
)
def test_a_header_that_no_one_writes(change):
    value = json.loads(HEADER.encoded.removeprefix(BOUND_HEADER_TAG))
    change(value)
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    with pytest.raises(ValueRefused):
        BoundHeader.from_octets(BOUND_HEADER_TAG + text)


def test_octets_that_are_no_header_of_this_suite():
    for data in (
        b"",
        SCHEMA.header,
        BOUND_HEADER_TAG,
        HEADER.encoded + b" ",
        b" " + HEADER.encoded,
        HEADER.encoded.replace(b"V2", b"V1"),
        BOUND_HEADER_TAG + b"[]",
        BOUND_HEADER_TAG + b"1" * 20_000,
    ):
        with pytest.raises(ValueRefused):
            BoundHeader.from_octets(data)
    with pytest.raises(ValueRefused):
        replace(HEADER, digest=b"")


def test_every_particular_is_in_a_slot():
    meta, first, last, handle, *attributes = HEADER.known_messages(HANA, MINE)
    assert json.loads(meta) == {
        "id": "urn:uuid:1",
        "status": {"bits": 32, "handle": 77, "list": LIST.list_id, "period": 86_400},
        "subject": "did:ids:hana",
        "validFrom": "2026-01-01T00:00:00Z",
        "validUntil": "2027-01-01T00:00:00Z",
    }
    assert (first, last, handle) == (20_454, 20_818, 77)
    assert tuple(attributes) == SCHEMA.messages(HANA)
    assert attributes[HEADER.numeric_slot("debt") - 6] == NULL_SCALAR
    assert attributes[HEADER.hashed_slot("country") - 6] == b"\x01JP"
    bare = replace(HEADER, status=None).known_messages(HANA, replace(MINE, handle=0, valid_until=None))
    assert bare[1:4] == (20_454, 65_535, 0)
    assert json.loads(bare[0])["status"] is json.loads(bare[0])["validUntil"] is None


def test_a_handle_belongs_to_a_list():
    for header, handle in ((HEADER, 0), (replace(HEADER, status=None), 5)):
        with pytest.raises(ValueRefused, match="handle"):
            header.known_messages(HANA, replace(MINE, handle=handle))
    for handle in (-1, (1 << 32) - 1, 1 << 64, True):
        with pytest.raises(ValueRefused, match="handle"):
            replace(MINE, handle=handle)
    assert replace(MINE, handle=(1 << 32) - 2).handle


@pytest.mark.parametrize(
    "change",
    [
        {"valid_from": FROM + timedelta(seconds=1)},
        {"valid_until": UNTIL - timedelta(microseconds=1)},
        {"valid_from": FROM.replace(tzinfo=None)},
        {"valid_from": datetime(1969, 12, 31, tzinfo=UTC)},
        {"valid_from": datetime(2149, 6, 6, tzinfo=UTC), "valid_until": None},
        {"valid_until": FROM},
        {"valid_until": datetime(2149, 6, 7, tzinfo=UTC)},
        {"id": ""},
        {"subject": "a\nb"},
        {"subject": "x" * 1025},
    ],
)
def test_particulars_that_are_none(change):
    with pytest.raises(ValueRefused):
        replace(MINE, **change)


def test_the_ends_of_validity():
    first = replace(MINE, valid_from=datetime(1970, 1, 1, tzinfo=UTC), valid_until=datetime(1970, 1, 2, tzinfo=UTC))
    assert (first.first_day, first.last_day) == (0, 0)
    last = replace(MINE, valid_until=datetime(2149, 6, 6, tzinfo=UTC))
    assert last.last_day == 65_534
    assert replace(MINE, valid_until=None).last_day == 65_535
    east = FROM.astimezone(timezone(timedelta(hours=9)))
    assert day_of(east) == day_of(FROM)


@given(st.integers(0, 65_533), st.integers(1, 60_000))
def test_days_are_those_of_the_text(first, length):
    start = datetime(1970, 1, 1, tzinfo=UTC)
    end = min(first + length, 65_535)
    mine = replace(MINE, valid_from=start + timedelta(days=first), valid_until=start + timedelta(days=end))
    assert (mine.first_day, mine.last_day) == (first, end - 1)


def test_a_key_has_one_controller():
    assert controller("did:web:a.example%3A8080:x#k-1") == "did:web:a.example%3A8080:x"
    for method in ("", "did:x", "#k", "did:x#", "did:x#a b", "did:x#é", "did:x:" + "y" * 1024 + "#k"):
        with pytest.raises(ValueRefused):
            controller(method)
