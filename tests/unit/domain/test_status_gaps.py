"""Epochs, their headers, and the chain of gaps."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from identity_bound_credentials.domain import status_gaps
from identity_bound_credentials.domain.status_gaps import FIRST_END, GRACE, HEADER_TAG, LAST_END, SKEW, StatusEpoch

from identity_client.status_list import StatusListRefused
from identity_codec import jcs

ISSUER = "did:example:issuer"
LIST = "AAAAAAAAAAAAAAAAAAAAAA"
EPOCH = StatusEpoch(ISSUER, f"{ISSUER}#status", LIST, 20_780, 86_400)
DAY = timedelta(days=1)


def test_the_header_is_the_tag_and_its_members_in_order() -> None:
    assert EPOCH.header == (
        b'IDENTITY-SERVICE-STATUS-V2:{"bits":32,"epoch":20780,"issuer":"did:example:issuer",'
        b'"list":"AAAAAAAAAAAAAAAAAAAAAA","method":"did:example:issuer#status","period":86400}'
    )
    assert StatusEpoch.from_header(EPOCH.header) == EPOCH


@pytest.mark.parametrize(
    "change",
    [
        {"bits": 24},
        {"bits": True},
        {"epoch": -1},
        {"epoch": True},
        {"epoch": "20780"},
        {"epoch": 65_536},
        {"period": 86_401},
        {"period": 604_800},
        {"issuer": ""},
        {"issuer": "did:example:other"},
        {"method": "did:example:issuer"},
        {"method": 7},
        {"list": "AAAAAAAAAAAAAAAAAAAAA"},
        {"list": "AAAAAAAAAAAAAAAAAAAA\n"},
        {"list": None},
        {"kind": "token"},
        {"issuer": "did:example:" + "a" * 800, "method": "did:example:" + "a" * 800 + "#k"},
    ],
)
def test_a_header_with_another_member_is_refused(change: dict[str, object]) -> None:
    data = HEADER_TAG + jcs.canonicalize({**EPOCH.members, **change})
    with pytest.raises(StatusListRefused):
        StatusEpoch.from_header(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEADER_TAG,
        HEADER_TAG + b"[]",
        HEADER_TAG + b"null",
        HEADER_TAG + b'"bits"',
        EPOCH.header + b" ",
        EPOCH.header.replace(b":32,", b": 32,"),
        EPOCH.header.replace(b'{"bits":32,', b'{"bits":32,"bits":32,'),
        EPOCH.header.replace(b"STATUS-V2", b"STATUS-V1"),
        EPOCH.header.replace(b"issuer", b"i\\u0073suer", 1),
        b"IDENTITY-SERVICE-CREDENTIAL-V2:" + EPOCH.header[len(HEADER_TAG) :],
        EPOCH.header.replace(b":32,", b":32.0,"),
        HEADER_TAG + b"[" * 3_000,
    ],
)
def test_octets_that_no_epoch_is_written_as_are_refused(data: bytes) -> None:
    with pytest.raises(StatusListRefused):
        StatusEpoch.from_header(data)


def test_a_member_that_is_missing_is_refused() -> None:
    for name in EPOCH.members:
        rest = {key: value for key, value in EPOCH.members.items() if key != name}
        with pytest.raises(StatusListRefused):
            StatusEpoch.from_header(HEADER_TAG + jcs.canonicalize(rest))


def test_an_epoch_begins_and_ends_on_the_grid() -> None:
    assert EPOCH.begins == datetime(2026, 11, 23, tzinfo=UTC)
    assert EPOCH.ends == EPOCH.begins + DAY
    for period in status_gaps.PERIODS:
        for moment in (EPOCH.begins, EPOCH.begins + timedelta(hours=7, microseconds=3), EPOCH.ends):
            number = status_gaps.epoch_at(moment, period)
            epoch = StatusEpoch(ISSUER, f"{ISSUER}#k", LIST, number, period)
            assert epoch.begins <= moment < epoch.ends


def test_verifier_accepts_epoch_until_too_old() -> None:
    tick = timedelta(microseconds=1)
    assert not EPOCH.is_acceptable(EPOCH.begins - SKEW - tick, GRACE)
    assert EPOCH.is_acceptable(EPOCH.begins - SKEW, GRACE)
    assert EPOCH.is_acceptable(EPOCH.ends + GRACE - tick, GRACE)
    assert not EPOCH.is_acceptable(EPOCH.ends + GRACE, GRACE)
    assert EPOCH.is_acceptable(EPOCH.ends + 2 * DAY - tick, 2 * DAY)
    assert not EPOCH.is_acceptable(EPOCH.ends, -DAY)


def test_accepted_epochs_contain_handle() -> None:
    """On the last day, and while it still counts as the neighbour, every acceptable epoch lists the revoked handle."""
    source = random.Random(3)
    for _ in range(2_000):
        last_day = source.randrange(20_000, 21_000)
        end_of_day = datetime(1970, 1, 1, tzinfo=UTC) + (last_day + 1) * DAY
        now = end_of_day + SKEW - timedelta(seconds=source.random() * 90_000)
        period = source.choice(sorted(status_gaps.PERIODS))
        number = status_gaps.epoch_at(now, period) + source.randrange(-3, 4)
        epoch = StatusEpoch(ISSUER, f"{ISSUER}#k", LIST, number, period)
        if epoch.is_acceptable(now, GRACE):
            assert epoch.earliest_last_day <= last_day


def test_handles_leave_the_list_two_days_after_the_last_day() -> None:
    assert EPOCH.earliest_last_day == 20_778
    # The hour that begins two days after the end of day 20,777, and the one before it.
    hours = [StatusEpoch(ISSUER, f"{ISSUER}#k", LIST, 24 * 20_780 + shift, 3_600) for shift in (-1, 0)]
    assert [hour.earliest_last_day for hour in hours] == [20_777, 20_778]
    assert StatusEpoch(ISSUER, f"{ISSUER}#k", LIST, 0, 3_600).earliest_last_day == 0


def test_the_chain_has_a_gap_more_than_handles() -> None:
    assert status_gaps.chain([]) == (FIRST_END, LAST_END)
    assert status_gaps.chain([9, 5, 6]) == (0, 5, 6, 9, LAST_END)


@pytest.mark.parametrize("handles", [[0], [LAST_END], [-1], [1 << 32], [7, 7], [1 << 64]])
def test_invalid_handle_is_in_no_chain(handles: list[int]) -> None:
    with pytest.raises(StatusListRefused):
        status_gaps.chain(handles)


def test_a_list_has_a_greatest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_gaps, "MAX_GAPS", 4)
    assert len(status_gaps.chain([1, 2, 3])) == 5
    with pytest.raises(StatusListRefused):
        status_gaps.chain([1, 2, 3, 4])


def test_every_handle_has_the_place_that_comparing_finds() -> None:
    source = random.Random(5)
    for size in (0, 1, 2, 40):
        handles = source.sample(range(1, 200), size)
        ends = status_gaps.chain(handles)
        for handle in range(1, 202):
            index = status_gaps.place(ends, handle)
            assert ends[index] <= handle < ends[index + 1]
            assert (ends[index] == handle) == (handle in handles)


def test_a_handle_outside_has_no_place() -> None:
    for handle in (0, -1, LAST_END, 1 << 40):
        with pytest.raises(StatusListRefused):
            status_gaps.place((0, LAST_END), handle)
    for handle in (4, 9, 10):
        with pytest.raises(StatusListRefused):
            status_gaps.place((5, 9), handle)
