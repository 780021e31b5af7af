"""The status of a proof: callers that get it, for how long, and the unchecked members for all others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_records.wire import ListVerificationHistoryQuery
from identity_verification.domain.checks import CheckCode
from identity_verification.domain.verification import ProofVerification
from identity_verification.store import StoredVerifierChallenges
from identity_verification.wire import CreateVerifierChallengeRequest

from identity_codec.values import replace
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, StoredProof
from identity_core.ports.credentials import RegisteredSchema
from tests.anchoring import add_proofs, revoke_proof
from tests.did_use_cases import START
from tests.verifying import OPERATOR, Verifying, asking

SHOP = "https://shop.example"
NEVER = {"holder", "credentialValidity", "credentialStatus", "revocation"}
REVOKED = (CheckCode.CREDENTIAL_REVOKED,)


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Callable[[Verifying], Awaitable[None]]], None]:
    def tell(story: Callable[[Verifying], Awaitable[None]]) -> None:
        async def tell_status() -> None:
            rooms = Verifying(tmp_path)
            try:
                await rooms.begin()
                await story(rooms)
            finally:
                await rooms.close()

        asyncio.run(tell_status())

    return tell


async def both(rooms: Verifying, made: StoredProof, caller: Caller) -> tuple[ProofVerification, ProofVerification]:
    """The stateless verdict and that on the proof that is kept."""
    return await rooms.verify(made, caller=caller), await rooms.verify_stored(made, caller=caller)


async def revoked(rooms: Verifying) -> None:
    await rooms.store.credentials.set_status(rooms.credential, CredentialStatus.REVOKED, None, rooms.clock.now())


def scoped(*targets: str) -> Caller:
    return Caller(api_key=ApiKey("s", "s", "1" * 64, frozenset({"zkp:verify"}), frozenset(targets), None, None, START))


def test_participant_learns_of_the_revocation(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, _ = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), vera)
        made = await rooms.create_proof(challenge=text, domain=SHOP)
        part = [vera, rooms.caller(rooms.hana), rooms.caller(rooms.aki), OPERATOR, scoped(made.holder)]
        for caller in part:
            for verdict in await both(rooms, made, caller):
                assert verdict.verified
                assert not NEVER & set(verdict.unchecked)
        await revoked(rooms)
        for caller in part:
            for verdict in await both(rooms, made, caller):
                assert verdict.errors == REVOKED
                assert not NEVER & set(verdict.unchecked)

    tell(story)


def test_everybody_else_is_told_what_was_not_looked_at(tell: Any) -> None:
    """A stranger who knows the proof, and its id, sees no difference between a proof that stands and one that fell."""

    async def story(rooms: Verifying) -> None:
        text, _ = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), rooms.caller(rooms.vera))
        made = await rooms.create_proof(challenge=text, domain=SHOP)
        strangers = [rooms.caller(rooms.mallory), rooms.caller(rooms.ivo), scoped(str(rooms.did(rooms.mallory)))]
        before = [await both(rooms, made, caller) for caller in strangers]
        anonymous = await rooms.verify(made)
        await revoked(rooms)
        await revoke_proof(rooms.store, made, rooms.clock.now())
        await rooms.store.delegations.revoke(rooms.delegation.id, "did:x", None, rooms.clock.now())
        assert [await both(rooms, made, caller) for caller in strangers] == before
        assert await rooms.verify(made) == anonymous
        for verdict in (anonymous, *(one for pair in before for one in pair)):
            assert verdict.verified
            assert set(verdict.unchecked) >= NEVER

    tell(story)


def test_a_challenge_of_the_verifiers_own_making_opens_nothing(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        for text in ("Vera made it herself", "vc1_" + "A" * 43):
            made = await rooms.create_proof(challenge=text, domain=SHOP)
            for verdict in await both(rooms, made, rooms.caller(rooms.vera)):
                assert set(verdict.unchecked) >= NEVER

    tell(story)


def test_a_spent_challenge_still_tells_whose_it_was(tell: Any) -> None:
    """However long ago it was spent, and whatever else the service tidied up; one that was never used is forgotten."""

    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, _ = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), vera)
        unused, _ = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), vera)
        made = await rooms.create_proof(challenge=text, domain=SHOP)
        assert (await rooms.verify(made, asking(challenge=text), caller=vera)).verified
        rooms.clock.move(hours=20)
        for _ in range(20):
            await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), vera)
        assert await StoredVerifierChallenges(rooms.store.database).find(unused) is None
        await revoked(rooms)
        assert [verdict.errors for verdict in await both(rooms, made, vera)] == [REVOKED, REVOKED]

    tell(story)


def test_after_its_expiry_a_proof_is_expired_and_no_more(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        vera = rooms.caller(rooms.vera)
        text, _ = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), vera)
        made = await rooms.create_proof(challenge=text, domain=SHOP)
        rooms.clock.time = made.expires_at - timedelta(microseconds=1)
        await revoked(rooms)
        assert (await rooms.verify_stored(made, caller=vera)).errors == REVOKED
        rooms.clock.time = made.expires_at
        asked = asking(issuer="did:ids:other", challenge="vc1_" + "B" * 43)
        for caller in (vera, rooms.caller(rooms.hana), rooms.caller(rooms.mallory), OPERATOR):
            for verdict in (await rooms.verify_stored(made, caller=caller), await rooms.verify(made, caller=caller)):
                assert verdict.errors == (CheckCode.PROOF_EXPIRED,)
                assert verdict.warnings == ()
                assert set(verdict.unchecked) >= NEVER
            assert (await rooms.verify_stored(made, asked, caller=caller)).errors == (CheckCode.PROOF_EXPIRED,)
            answer = await rooms.stored(made.id, asking(), rooms.context_of(caller))
            assert answer.anchor is None, "the anchor would tell"

    tell(story)


def test_the_history_tells_no_verifier_what_the_verdict_did_not(tell: Any) -> None:
    """Its rows show the anchor as it is now: a revoked one would tell."""

    async def story(rooms: Verifying) -> None:
        vera, mallory = rooms.caller(rooms.vera), rooms.caller(rooms.mallory)
        text, _ = await rooms.challenges(CreateVerifierChallengeRequest(domain=SHOP), vera)
        made = await rooms.create_proof(challenge=text, domain=SHOP)
        receipt = Anchor(AnchorStatus.PRE_PHASE7, None, None, None)
        anchored = replace(
            made,
            proof=replace(made.proof, proof_id="6f9619ff-8b86-4011-b42d-00c04fc964ff"),
            anchor=receipt,
            ibct_id="other",
        )
        await add_proofs(rooms.store, [anchored])
        for caller in (vera, mallory, rooms.caller(rooms.hana)):
            await rooms.verify_stored(anchored, caller=caller)

        async def anchors(caller: Caller) -> set[Anchor | None]:
            return {row.anchor for row in await rooms.verified_before(ListVerificationHistoryQuery(), caller)}

        assert await anchors(vera) == {receipt}
        assert await anchors(mallory) == {None}
        assert await anchors(rooms.caller(rooms.hana)) == {receipt}
        rooms.clock.time = made.expires_at
        assert await anchors(vera) == {None}
        assert await anchors(rooms.caller(rooms.hana)) == {receipt}

    tell(story)


def test_an_id_in_a_strangers_proof_opens_no_record(tell: Any) -> None:
    """Mallory makes a proof of her own that bears the id of Hana's: the record of that id says nothing about it."""

    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        await revoked(rooms)
        hana = rooms.caller(rooms.hana)
        assert (await rooms.verify(made, caller=hana)).errors == REVOKED

        class OtherText:
            async def get(self, proof_id: str) -> StoredProof:
                return replace(made, proof=replace(made.proof, proof="another envelope of this id"))

        rooms.received = replace(rooms.received, proofs=OtherText())
        verdict = await rooms.verify(made, caller=hana)
        assert verdict.verified
        assert set(verdict.unchecked) >= NEVER

    tell(story)


def test_the_holder_of_an_imported_proof_was_seen_by_nobody_here(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        imported = replace(
            made,
            proof=replace(made.proof, proof_id="6f9619ff-8b86-4011-b42d-00c04fc964ff", proof=made.proof.proof + "A"),
            ibct_id="",
        )
        await add_proofs(rooms.store, [imported])
        verdict = await rooms.verify_stored(imported)
        assert [name for name in verdict.unchecked if name in NEVER] == ["holder"]

    tell(story)


@pytest.mark.parametrize(("age", "seconds", "good"), [(0, 0, True), (300, 300, True), (301, 300, False), (1, 0, False)])
def test_how_old_a_proof_may_be(tell: Any, age: int, seconds: int, good: bool) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        rooms.clock.move(seconds=age)
        asked = asking(max_age=timedelta(seconds=seconds))
        for verdict in (await rooms.verify(made, asked), await rooms.verify_stored(made, asked)):
            assert verdict.verified is good
            assert verdict.errors == (() if good else (CheckCode.PROOF_TOO_OLD,))
            assert "maxAge" not in verdict.unchecked

    tell(story)


def test_a_proof_of_the_future_is_not_young(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        asked = asking(max_age=timedelta(seconds=0))
        rooms.clock.time = made.created_at - timedelta(seconds=60)
        assert (await rooms.verify(made, asked)).verified
        rooms.clock.time = made.created_at - timedelta(seconds=61)
        assert (await rooms.verify(made, asked)).errors[0] == CheckCode.PROOF_NOT_YET_VALID

    tell(story)


def test_a_header_that_is_not_the_registered_one(tell: Any) -> None:
    """An issuer who signs one schema id under several headers tells its holders apart by them."""

    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        assert "schemaHeader" not in (await rooms.verify(made)).unchecked
        schema = rooms.credential.schema
        other = replace(schema, attributes=tuple(reversed(schema.attributes)))
        registered = RegisteredSchema(CredentialSchema(other, {}), START, "did:x")

        class Schemas:
            async def get(self, schema_id: str) -> RegisteredSchema | None:
                return registered if schema_id == other.id else None

        check = replace(rooms.received.check, schemas=Schemas())
        rooms.received = replace(rooms.received, check_anonymously=check)
        assert (await rooms.verify(made)).errors == (CheckCode.SCHEMA_MISMATCH,)

        class Nothing:
            async def get(self, schema_id: str) -> RegisteredSchema | None:
                return None

        nothing = replace(check, schemas=Nothing())
        rooms.received = replace(rooms.received, check_anonymously=nothing)
        verdict = await rooms.verify(made)
        assert verdict.verified
        assert "schemaHeader" in verdict.unchecked

    tell(story)


def test_an_issuer_with_a_key_for_each_holder(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        for count in range(2, 6):
            await rooms.add_signing_key(rooms.did(rooms.ivo), str(count).encode())
            expected = (CheckCode.ISSUER_HAS_MANY_KEYS,) if count == 5 else ()
            for verdict in await both(rooms, made, rooms.caller(rooms.hana)):
                assert verdict.verified
                assert verdict.warnings == expected

    tell(story)
