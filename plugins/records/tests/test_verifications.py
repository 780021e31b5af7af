"""The verification history and the challenges of verifiers in the store."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from identity_records.queries import VerificationQuery
from identity_records.store import StoredVerifications, Verification
from identity_verification.ports import VerifierChallenge
from identity_verification.store import StoredVerifierChallenges

from identity_codec.values import replace
from identity_core.errors import Overloaded
from identity_core.store import Store
from tests.events import write_rows

START = datetime(2026, 1, 1, tzinfo=UTC)
HANA, VERA, IVO = "did:ids:hana", "did:ids:vera", "did:ids:ivo"
GOOD = Verification(START, True, f"did:{VERA}", VERA, None, HANA, IVO, "age-1", "p-1", "age", "gte", ())
BAD = replace(GOOD, at=START + timedelta(hours=1), verified=False, codes=("PROOF_EXPIRED", "DOMAIN_MISMATCH"))
BY_KEY = replace(
    GOOD, at=START + timedelta(hours=2), caller="key:k", verifier=None, fingerprint="0123456789ab", holder=None
)
ALL = (GOOD, BAD, BY_KEY)


@pytest.fixture
def filled(store: Store) -> Store:
    async def fill() -> None:
        for each in ALL:
            await write_rows(store, (each,))

    asyncio.run(fill())
    return store


def list_rows(store: Store, wish: VerificationQuery) -> list[Verification]:
    return [row.verification for row in asyncio.run(StoredVerifications(store.database).list(wish))]


def test_rows_come_back_as_they_went_in(filled: Store) -> None:
    assert list_rows(filled, VerificationQuery(None, None)) == list(reversed(ALL))


def test_callers_see_their_verifications(filled: Store) -> None:
    assert list_rows(filled, VerificationQuery(f"did:{VERA}", frozenset({VERA}))) == [BAD, GOOD]
    assert list_rows(filled, VerificationQuery(f"did:{HANA}", frozenset({HANA}))) == [BAD, GOOD]
    assert list_rows(filled, VerificationQuery("key:k", None)) == [BY_KEY]
    # Who issued a credential does not see where it is shown.
    assert list_rows(filled, VerificationQuery(f"did:{IVO}", frozenset({IVO}))) == []
    assert list_rows(filled, VerificationQuery(None, frozenset())) == []


def test_filters(filled: Store) -> None:
    everything = VerificationQuery(None, None)
    assert list_rows(filled, replace(everything, verified=False)) == [BAD]
    assert list_rows(filled, replace(everything, holder=HANA)) == [BAD, GOOD]
    assert list_rows(filled, replace(everything, issuer="did:ids:other")) == []
    assert list_rows(filled, replace(everything, since=BAD.at)) == [BY_KEY, BAD]
    assert list_rows(filled, replace(everything, until=BAD.at)) == [GOOD]
    first = asyncio.run(StoredVerifications(filled.database).list(replace(everything, limit=2)))
    assert list_rows(filled, replace(everything, before=first[-1].id)) == [GOOD]


def test_counts(filled: Store) -> None:
    counts = asyncio.run(StoredVerifications(filled.database).counts(VerificationQuery(None, None)))
    assert (counts.total, counts.verified) == (3, 2)
    assert counts.reasons == {"DOMAIN_MISMATCH": 1, "PROOF_EXPIRED": 1}
    assert asyncio.run(StoredVerifications(filled.database).counts(VerificationQuery("key:k", None))).total == 1


def test_a_challenge_is_spent_once_by_one_of_many(store: Store) -> None:
    challenge = VerifierChallenge(VERA, "https://shop.example", START + timedelta(minutes=5), False)

    async def scenario() -> None:
        await StoredVerifierChallenges(store.database).add("vc1_text", challenge, START)
        assert await StoredVerifierChallenges(store.database).find("vc1_text") == challenge
        assert await StoredVerifierChallenges(store.database).find("vc1_other") is None
        won = await asyncio.gather(
            *(StoredVerifierChallenges(store.database).spend("vc1_text", START) for _ in range(24))
        )
        assert won.count(True) == 1
        assert await StoredVerifierChallenges(store.database).find("vc1_text") == replace(challenge, spent=True)

    asyncio.run(scenario())


def test_an_expired_challenge_is_not_spent_and_goes(store: Store) -> None:
    challenge = VerifierChallenge(VERA, "d", START + timedelta(minutes=5), False)

    async def scenario() -> None:
        await StoredVerifierChallenges(store.database).add("vc1_text", challenge, START)
        assert not await StoredVerifierChallenges(store.database).spend("vc1_text", challenge.expires_at)
        await StoredVerifierChallenges(store.database).add("vc1_next", challenge, challenge.expires_at)
        assert await StoredVerifierChallenges(store.database).find("vc1_text") is None

    asyncio.run(scenario())


def test_a_flood_is_its_owners_own_trouble(store: Store) -> None:
    crowded = StoredVerifierChallenges(store.database, live_per_owner=3)
    challenge = VerifierChallenge("did:mallory", "d", START + timedelta(minutes=5), False)

    async def scenario() -> None:
        for number in range(3):
            await crowded.add(f"vc1_{number}", challenge, START)
        with pytest.raises(Overloaded):
            await crowded.add("vc1_3", challenge, START)
        await crowded.add("vc1_vera", replace(challenge, owner=VERA), START)

    asyncio.run(scenario())
