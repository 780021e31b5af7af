"""The MAC of a challenge, and its lifetime."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest

from identity_client.challenge import Challenge, join
from identity_codec import multibase
from identity_codec.values import replace
from identity_core.domain.dids import challenge as challenge_mac
from identity_core.domain.dids.challenge import ChallengeKey, ChallengeScope

DID = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs"
END = datetime(2026, 1, 2, 3, 5, 0, tzinfo=UTC)
FIVE_MINUTES = timedelta(minutes=5)
SCOPE = ChallengeScope("https://id.example", DID, "update", multibase.base64url_encode(bytes(range(32))), END)
KEY = ChallengeKey(b"k" * 32)
OTHERS = {
    "origin": replace(SCOPE, origin="https://id.example.org"),
    "did": replace(SCOPE, did=DID[:-1] + "t"),
    "purpose": replace(SCOPE, purpose="rotate"),
    "no purpose": replace(SCOPE, purpose=None),
    "body": replace(SCOPE, body_hash=multibase.base64url_encode(bytes(32))),
    "no body": replace(SCOPE, body_hash=None),
    "expiry": replace(SCOPE, expires_at=END + timedelta(seconds=1)),
}


def text_of(scope: ChallengeScope, nonce: bytes) -> str:
    return join(scope.origin, scope.did, scope.purpose, scope.body_hash, nonce, scope.expires_at)


def nonce_of(text: str) -> bytes:
    return multibase.base64url_decode(text.split(" ")[5])


def test_text_is_seven_fields_and_mac_stands_in_nonce() -> None:
    text = KEY.text(SCOPE.around, (7).to_bytes(16, "big"))
    fields = text.split(" ")
    assert fields[:5] == ["didauth:v1", "https://id.example", DID, "update", SCOPE.body_hash]
    assert fields[6] == "2026-01-02T03:05:00Z"
    zeroed = " ".join([*fields[:5], multibase.base64url_encode((7).to_bytes(16, "big") + bytes(16)), fields[6]])
    expected = hmac.digest(b"k" * 32, b"identity: challenge, v1\n" + zeroed.encode(), hashlib.sha256)[:16]
    assert nonce_of(text) == (7).to_bytes(16, "big") + expected


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_mac_is_good_for_one_saying(other: ChallengeScope) -> None:
    nonce = nonce_of(KEY.text(SCOPE.around, bytes(16)))
    assert KEY.is_ours(Challenge.parse(text_of(SCOPE, nonce)))
    assert not KEY.is_ours(Challenge.parse(text_of(other, nonce)))


@pytest.mark.parametrize("place", range(32))
def test_a_mac_is_good_for_one_nonce(place: int) -> None:
    nonce = bytearray(nonce_of(KEY.text(SCOPE.around, bytes(16))))
    nonce[place] ^= 1
    assert not KEY.is_ours(Challenge.parse(text_of(SCOPE, bytes(nonce))))


def test_scope_digest_covers_all_but_the_nonce_and_the_expiry() -> None:
    assert (
        SCOPE.digest
        == hashlib.sha256(f"didauth:v1 https://id.example {DID} update {SCOPE.body_hash} ".encode()).digest()[:16]
    )
    different = {name: other for name, other in OTHERS.items() if name != "expiry"}
    assert len({one.digest for one in (SCOPE, *different.values())}) == 1 + len(different)
    assert OTHERS["expiry"].digest == SCOPE.digest


def test_another_key_does_not_vouch() -> None:
    text = KEY.text(SCOPE.around, bytes(16))
    assert not ChallengeKey(b"l" * 32).is_ours(Challenge.parse(text))
    assert "k" * 8 not in repr(KEY)


@pytest.mark.parametrize("lifetime", [10, 11, 60, 300, 3600])
@pytest.mark.parametrize("microseconds", [0, 1, 999_999])
def test_challenge_is_current_until_its_end(lifetime: int, microseconds: int) -> None:
    life, now = timedelta(seconds=lifetime), END + timedelta(microseconds=microseconds)
    end = challenge_mac.expiry_for(now, life)
    assert life - timedelta(seconds=1) < end - now <= life
    for moment in (now, now + (end - now) / 2, end - timedelta(microseconds=1)):
        assert challenge_mac.is_current(end, moment, life)
    assert not challenge_mac.is_current(end, end, life)


def test_challenge_is_current_for_a_clock_half_a_minute_behind() -> None:
    end = challenge_mac.expiry_for(END, FIVE_MINUTES)
    assert challenge_mac.is_current(end, END - timedelta(seconds=30), FIVE_MINUTES)


def test_challenge_is_refused_after_a_clock_was_set_back() -> None:
    """A clock that was set back an hour must not prolong a challenge by an hour."""
    end = challenge_mac.expiry_for(END, FIVE_MINUTES)
    assert not challenge_mac.is_current(end, END - timedelta(hours=1), FIVE_MINUTES)
