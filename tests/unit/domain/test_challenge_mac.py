"""Challenges that are known by a MAC: what is bound, when they end, and which numbers are open."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from identity_core.codec import multibase
from identity_core.domain.dids import challenge as challenge_mac
from identity_core.domain.dids.challenge import Challenge, ChallengeKey, Saying, counted

DID = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs"
END = datetime(2026, 1, 2, 3, 5, 0, tzinfo=UTC)
FIVE_MINUTES = timedelta(minutes=5)
SAYING = Saying("https://id.example", DID, "update", multibase.base64url_encode(bytes(range(32))), END)
KEY = ChallengeKey(b"k" * 32)
OTHERS = {
    "origin": replace(SAYING, origin="https://id.example.org"),
    "did": replace(SAYING, did=DID[:-1] + "t"),
    "purpose": replace(SAYING, purpose="rotate"),
    "no purpose": replace(SAYING, purpose=None),
    "body": replace(SAYING, body_hash=multibase.base64url_encode(bytes(32))),
    "no body": replace(SAYING, body_hash=None),
    "expiry": replace(SAYING, expires_at=END + timedelta(seconds=1)),
}


def nonce_of(text: str) -> bytes:
    return multibase.base64url_decode(text.split(" ")[5])


def test_the_text_is_the_seven_fields_and_the_mac_stands_in_the_nonce() -> None:
    text = KEY.text(SAYING.around, counted(7))
    fields = text.split(" ")
    assert fields[:5] == ["didauth:v1", "https://id.example", DID, "update", SAYING.body_hash]
    assert fields[6] == "2026-01-02T03:05:00Z"
    zeroed = " ".join([*fields[:5], multibase.base64url_encode((7).to_bytes(16, "big") + bytes(16)), fields[6]])
    expected = hmac.digest(b"k" * 32, b"identity: challenge, v1\n" + zeroed.encode(), hashlib.sha256)[:16]
    assert nonce_of(text) == (7).to_bytes(16, "big") + expected


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_mac_is_good_for_one_saying(other: Saying) -> None:
    nonce = nonce_of(KEY.text(SAYING.around, counted(0)))
    assert KEY.is_ours(Challenge.parse(SAYING.text(nonce)))
    assert not KEY.is_ours(Challenge.parse(other.text(nonce)))


@pytest.mark.parametrize("place", range(32))
def test_a_mac_is_good_for_one_nonce(place: int) -> None:
    nonce = bytearray(nonce_of(KEY.text(SAYING.around, counted(0))))
    nonce[place] ^= 1
    assert not KEY.is_ours(Challenge.parse(SAYING.text(bytes(nonce))))


@pytest.mark.parametrize("saying", [SAYING, *OTHERS.values()])
def test_all_challenges_of_a_saying_are_counted_under_its_digest(saying: Saying) -> None:
    fields = saying.text(bytes(32)).split(" ")
    assert saying.digest == hashlib.sha256(" ".join([*fields[:5], "A" * 43, fields[6]]).encode()).digest()[:16]
    for nonce in (bytes(range(32)), b"\xff" * 32):
        assert challenge_mac.saying_digest(saying.text(nonce)) == saying.digest
    assert len({one.digest for one in (SAYING, *OTHERS.values())}) == 1 + len(OTHERS)


def test_another_key_does_not_vouch() -> None:
    text = KEY.text(SAYING.around, counted(0))
    assert not ChallengeKey(b"l" * 32).is_ours(Challenge.parse(text))
    assert "k" * 8 not in repr(KEY)


def test_numbers_are_read_back() -> None:
    for number in (0, 1, 255, 256, 1 << 40, (1 << 62) - 1):
        assert challenge_mac.count_of(Challenge.parse(KEY.text(SAYING.around, counted(number)))) == number
    assert challenge_mac.count_of(Challenge.parse(KEY.text(SAYING.around, counted(1 << 62)))) is None
    assert challenge_mac.count_of(Challenge.parse(KEY.text(SAYING.around, b"\x80" + bytes(15)))) is None


@pytest.mark.parametrize("second", [0, 1, 74, 149, 150, 151, 299])
def test_a_challenge_lives_at_most_five_minutes_and_at_least_half_of_that(second: int) -> None:
    now = datetime(2026, 1, 2, 3, 5, 0, tzinfo=UTC) + timedelta(seconds=second)
    life = challenge_mac.expiry_for(now, FIVE_MINUTES) - now
    assert timedelta(seconds=150) < life <= timedelta(seconds=300)


@pytest.mark.parametrize("lifetime", [10, 11, 60, 300, 3600])
def test_what_is_handed_out_is_good_until_its_end_and_not_at_its_end(lifetime: int) -> None:
    life = timedelta(seconds=lifetime)
    for second in range(0, 3 * lifetime, max(1, lifetime // 20)):
        now = END + timedelta(seconds=second)
        end = challenge_mac.expiry_for(now, life)
        for moment in (now, now + (end - now) / 2, end - timedelta(microseconds=1)):
            assert end in challenge_mac.expiries(moment, life)
        assert end not in challenge_mac.expiries(end, life)


def test_a_clock_that_is_behind_by_half_a_minute_knows_what_another_handed_out() -> None:
    for second in range(300):
        now = END + timedelta(seconds=second)
        assert challenge_mac.expiry_for(now, FIVE_MINUTES) in challenge_mac.expiries(
            now - timedelta(seconds=30), FIVE_MINUTES
        )


def test_an_end_that_is_further_than_any_that_is_handed_out_is_none() -> None:
    """A clock that was set back an hour must not bring an hour of life."""
    end = challenge_mac.expiry_for(END, FIVE_MINUTES)
    assert end not in challenge_mac.expiries(END - timedelta(hours=1), FIVE_MINUTES)


@pytest.mark.parametrize("lifetime", [1, 7, 10, 60, 299, 300, 3600])
def test_the_ends_are_those_that_are_handed_out_at_one_of_three_moments(lifetime: int) -> None:
    """At the latest one that a clock may be ahead by (30 s, or a fifth of a half), now, and half a lifetime ago, the latest first."""
    life, half = timedelta(seconds=lifetime), timedelta(seconds=max(1, lifetime // 2))
    for step in range(401):
        moment = END + timedelta(microseconds=step * lifetime * 7_500 + step % 3)
        last = challenge_mac.expiry_for(moment, life)
        ahead = challenge_mac.expiry_for(moment + min(timedelta(seconds=30), half / 5), life)
        assert challenge_mac.expiries(moment, life) == sorted({ahead, last, last - half}, reverse=True)


def test_at_no_moment_are_there_more_than_three_ends() -> None:
    for second in range(300):
        assert 2 <= len(challenge_mac.expiries(END + timedelta(seconds=second), FIVE_MINUTES)) <= 3


def test_open_numbers_are_the_lowest_that_are_not_spent() -> None:
    assert challenge_mac.open_numbers([], 3) == [0, 1, 2]
    assert challenge_mac.open_numbers([0], 3) == [1, 2, 3]
    assert challenge_mac.open_numbers([5, 2, 0], 4) == [1, 3, 4, 6]
    # One that was never spent is given up when 32 after it were.
    assert challenge_mac.open_numbers(list(range(32, 0, -1)), 2) == [33, 34]
    assert challenge_mac.open_numbers(list(range(31, 0, -1)), 2) == [0, 32]


@pytest.mark.parametrize("cap", [1, 3, 4, 64])
@pytest.mark.parametrize("keys", range(1, 21))
def test_every_pair_of_key_and_challenge_is_within_256_verifications(cap: int, keys: int) -> None:
    most = challenge_mac.numbers_of_a_saying(cap, keys)
    assert 1 <= most <= cap
    # Four kinds of challenge fit a request, and they may end at three times.
    assert 4 * 3 * keys * most <= 256
    # One challenge may be tried twice; one number more would be too many.
    assert keys * (4 * 3 * most + 1) <= 256 or most == 1
    assert keys * (4 * 3 * (most + 1) + 1) > 256 or most == cap


def test_a_did_without_keys_counts_as_one_with_one() -> None:
    assert challenge_mac.numbers_of_a_saying(64, 0) == challenge_mac.numbers_of_a_saying(64, 1) == 21
