"""One use of an IBCT: races, repetitions, crashes, revocation while proving, and what is bound into the proof."""

from __future__ import annotations

import asyncio
import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_records.audit import audit_of
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline
from identity_verification.store import StoredProofs

from identity_codec import jcs
from identity_codec.values import replace
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.delegation import Suspension
from identity_core.domain.proofs.proof import ZkProof, capability_digest
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, DelegatedProof
from identity_core.errors import (
    AutonomyTooLow,
    CredentialRevoked,
    DelegationRevoked,
    DisclosureLimit,
    Forbidden,
    IbctInvalid,
    IbctReplayed,
    IbctRevoked,
    IdentityError,
    InvalidRequest,
    PluginTimeout,
    PluginUnavailable,
    PredicateNotSatisfied,
    RequestInProgress,
    ScopeMismatch,
)
from identity_core.ports.proofs import RefusedInvocation
from identity_core.store.credentials import StoredCredentials
from identity_core.store.invocations import LEASE
from tests.did_use_cases import ORIGIN, START, rotation_of, secret_of
from tests.events import audit_rows
from tests.proving import VALUES, Ledger, Proving, Workers, run
from tests.store_contents import kept_proofs

UNPINNED = "zkp.prove.age.gte"


async def code_of(asked: Awaitable[Any]) -> str:
    try:
        outcome = (await asked).outcome
    except IdentityError as error:
        return error.code
    return PredicateNotSatisfied.code if isinstance(outcome, RefusedInvocation) else "proven"


# Identical requests


def test_the_identical_request_gets_the_identical_answer(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        body = rooms.body()
        first, second = await rooms.ask(body), await rooms.ask(dict(reversed(body.items())))
        assert (first.is_replay, second.is_replay) == (False, True)
        assert first.outcome == second.outcome
        assert (rooms.workers.proofs, await rooms.uses()) == (1, 1)

    run(tmp_path, story)


def test_refusal_is_repeated_after_suspension(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(max_refusals=1)
        body = rooms.body(value=38, token=rooms.token(action=UNPINNED))
        first = await rooms.ask(body)
        assert first.outcome == RefusedInvocation.from_error(
            PredicateNotSatisfied(details={"refusals": 1, "maxRefusals": 1})
        )
        assert await rooms.ask(body) == type(first)(first.outcome, is_replay=True)
        chain = await rooms.store.delegations.chain(rooms.delegation.id)
        assert chain is not None
        assert (chain.leaf.uses, chain.leaf.refusals) == (1, 1)
        assert chain.leaf.suspended_reason is Suspension.REFUSALS
        assert await code_of(rooms.ask(rooms.body())) == "DELEGATION_SUSPENDED"
        assert rooms.workers.proofs == 0

    run(tmp_path, story)


def test_a_repetition_is_authorised_anew(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        body = rooms.body()
        await rooms.proven(body)
        stranger = await rooms.new_did()
        with pytest.raises(Forbidden):
            await rooms.ask(body, caller=Caller(did=rooms.did(stranger)))
        await rooms.store.delegations.revoke(rooms.delegation.id, "test", None, rooms.clock.now())
        with pytest.raises(DelegationRevoked):
            await rooms.ask(body)

    run(tmp_path, story)


@pytest.mark.parametrize("change", [{"predicate": 19}, {"anchorless": True}, {"challenge": "another verifier's"}])
def test_another_body_with_the_same_token_is_a_replay(tmp_path: Path, change: dict[str, Any]) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token(action=UNPINNED)
        body = rooms.body(token=token)
        await rooms.proven(body)
        other = rooms.body(token=token, value=change.get("predicate", 18))
        if "anchorless" in change:
            other["anchor"] = False
        if "challenge" in change:
            other["challenge"] = change["challenge"]
        with pytest.raises(IbctReplayed):
            await rooms.ask(other)
        assert (rooms.workers.proofs, await rooms.uses()) == (1, 1)

    run(tmp_path, story)


@pytest.mark.parametrize("member", ["id", "nonce"])
def test_id_and_nonce_are_each_good_for_one_request(tmp_path: Path, member: str) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token()
        await rooms.proven(rooms.body(token=token))
        with pytest.raises(IbctReplayed):
            await rooms.ask(rooms.body(token=rooms.token(**{member: token[member]})))

    run(tmp_path, story)


def test_id_of_one_and_nonce_of_another_request_make_no_third(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        one, two = rooms.token(), rooms.token()
        await rooms.proven(rooms.body(token=one))
        await rooms.proven(rooms.body(token=two))
        with pytest.raises(IbctReplayed):
            await rooms.ask(rooms.body(token=rooms.token(id=one["id"], nonce=two["nonce"])))

    run(tmp_path, story)


def test_another_holder_may_have_the_same_nonce(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token()
        await rooms.proven(rooms.body(token=token))
        rooms.hana = await rooms.new_did()
        rooms.credential = await rooms.issue(rooms.did(rooms.hana))
        rooms.delegation = await rooms.delegate()
        await rooms.proven(rooms.body(token=rooms.token(id=token["id"], nonce=token["nonce"])))

    run(tmp_path, story)


# Races


def test_parallel_requests_of_one_token_share_evaluation(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        others_are_answered = asyncio.Event()

        async def others_first() -> None:
            await others_are_answered.wait()

        rooms.workers.before = others_first
        body = rooms.body()
        asked = [asyncio.ensure_future(code_of(rooms.ask(body))) for _ in range(24)]
        async with asyncio.timeout(60):
            while sum(one.done() for one in asked) < 23:
                await asyncio.sleep(0.001)
        others_are_answered.set()
        codes = Counter(await asyncio.gather(*asked))
        assert codes == {"proven": 1, "REQUEST_IN_PROGRESS": 23}
        assert (rooms.workers.proofs, await rooms.uses()) == (1, 1)

    run(tmp_path, story)


def test_one_of_parallel_thresholds_is_answered(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token(action=UNPINNED)
        asked = (code_of(rooms.ask(rooms.body(token=token, value=value))) for value in range(10, 34))
        codes = Counter(await asyncio.gather(*asked))
        assert codes == {"proven": 1, "IBCT_REPLAYED": 23}

    run(tmp_path, story)


def test_five_of_24_tokens_are_used(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(max_uses=5)
        codes = Counter(await asyncio.gather(*(code_of(rooms.ask()) for _ in range(24))))
        assert codes == {"proven": 5, "DELEGATION_EXHAUSTED": 19}
        assert (rooms.workers.proofs, await rooms.uses()) == (5, 5)

    run(tmp_path, story)


def test_parallel_refusals_tell_no_more_than_the_limit(tmp_path: Path) -> None:
    """Each request would be refused; only the first is told so, whatever is in flight."""

    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(max_refusals=1)
        asked = (
            code_of(rooms.ask(rooms.body(value=value, token=rooms.token(action=UNPINNED)))) for value in range(38, 62)
        )
        assert Counter(await asyncio.gather(*asked)) == {"PREDICATE_NOT_SATISFIED": 1, "DELEGATION_SUSPENDED": 23}

    run(tmp_path, story)


# Limits of disclosure


def test_a_delegation_answers_three_different_questions(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(max_thresholds=3)
        for value in (10, 20, 30, 20, 10):
            await rooms.proven(rooms.body(value=value, token=rooms.token(action=UNPINNED)))
        with pytest.raises(DisclosureLimit) as refused:
            await rooms.ask(rooms.body(value=31, token=rooms.token(action=UNPINNED)))
        assert (refused.value.details["of"], refused.value.details["maxThresholds"]) == ("delegation", 3)
        # What the holder pinned is not a question of the agent's.
        await rooms.proven(rooms.body(value=31, token=rooms.token(action="zkp.prove.age.gte.31")))
        assert await rooms.uses() == 6

    run(tmp_path, story)


def test_agents_together_meet_limit_of_credential(tmp_path: Path) -> None:
    """Three questions, for as long as the credential lives."""

    async def story(rooms: Proving) -> None:
        codes = []
        for value in range(10, 15):
            rooms.aki = await rooms.new_did()
            rooms.delegation = await rooms.delegate()
            codes.append(await code_of(rooms.ask(rooms.body(value=value, token=rooms.token(action=UNPINNED)))))
        assert codes == ["proven"] * 3 + ["DISCLOSURE_LIMIT"] * 2
        for days in (30, 365, 3_650):
            rooms.clock.move(days=days)
            rooms.delegation = await rooms.delegate()
            again = [rooms.body(value=value, token=rooms.token(action=UNPINNED)) for value in (19, 10)]
            assert [await code_of(rooms.ask(body)) for body in again] == ["DISCLOSURE_LIMIT", "proven"]

    run(tmp_path, story)


def test_an_installation_may_forget_questions(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        policy = replace(rooms.policy, disclosures=1, disclosure_window=timedelta(days=30))
        rooms.generate = replace(rooms.generate, policy=policy)
        rooms.delegation = await rooms.delegate()

        async def ask(value: int) -> str:
            return await code_of(rooms.ask(rooms.body(value=value, token=rooms.token(action=UNPINNED))))

        assert [await ask(10), await ask(11)] == ["proven", "DISCLOSURE_LIMIT"]
        rooms.clock.move(days=29)
        assert await ask(11) == "DISCLOSURE_LIMIT"
        rooms.clock.move(days=1)
        rooms.delegation = await rooms.delegate()
        assert await ask(11) == "proven"

    run(tmp_path, story)


def test_values_that_a_delegation_lists_are_chosen_by_the_agent(tmp_path: Path) -> None:
    """They are counted as questions, and need the autonomy of one who asks them."""

    async def story(rooms: Proving) -> None:
        listed = [f"zkp.prove.age.gte.{value}" for value in range(18, 82)]
        rooms.delegation = await rooms.delegate(*listed, autonomy_level=2)
        with pytest.raises(AutonomyTooLow):
            await rooms.ask(rooms.body(value=30, token=rooms.token(action=UNPINNED)))
        rooms.delegation = await rooms.delegate(*listed, max_refusals=1, max_thresholds=3)
        codes = [
            await code_of(rooms.ask(rooms.body(value=value, token=rooms.token(action=UNPINNED))))
            for value in (49, 33, 25)
        ]
        assert codes == ["PREDICATE_NOT_SATISFIED", "DELEGATION_SUSPENDED", "DELEGATION_SUSPENDED"]

    run(tmp_path, story)


def test_a_pin_of_an_agent_is_no_pin_of_the_holders(tmp_path: Path) -> None:
    """Else an agent could make itself a delegation for each value."""

    async def story(rooms: Proving) -> None:
        parent = await rooms.delegate(max_depth=1, autonomy_level=5)
        agent, rooms.aki = rooms.aki, await rooms.new_did()
        codes = []
        for value in range(10, 15):
            rooms.delegation = await rooms.delegate(
                f"zkp.prove.age.gte.{value}", parent_id=parent.id, grantor=rooms.did(agent), autonomy_level=5
            )
            codes.append(await code_of(rooms.ask(rooms.body(value=value, token=rooms.token(action=UNPINNED)))))
        assert codes == ["proven"] * 3 + ["DISCLOSURE_LIMIT"] * 2

    run(tmp_path, story)


def test_a_use_of_a_child_is_a_use_of_its_parent(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        parent = await rooms.delegate(max_uses=2, max_depth=1, autonomy_level=5)
        rooms.aki, agent = await rooms.new_did(), rooms.aki
        children = [
            await rooms.delegate(parent_id=parent.id, grantor=rooms.did(agent), max_uses=2, autonomy_level=5)
            for _ in range(2)
        ]
        codes = []
        for rooms.delegation in [*children, *children]:
            codes.append(await code_of(rooms.ask()))
        assert codes == ["proven", "proven", "DELEGATION_EXHAUSTED", "DELEGATION_EXHAUSTED"]

    run(tmp_path, story)


# Crashes and plugins that fail


def test_after_a_crash_only_the_identical_request_goes_on(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token(action=UNPINNED)
        body = rooms.body(token=token)
        died, forever = asyncio.Event(), asyncio.Event()

        async def die() -> None:
            died.set()
            await forever.wait()

        # The process dies while proving: nothing that it would have done afterwards happens.
        rooms.workers.before = die
        dead = asyncio.create_task(rooms.ask(body))
        await died.wait()
        rooms.workers.before = None
        with pytest.raises(RequestInProgress):
            await rooms.ask(body)
        rooms.clock.move(seconds=LEASE.total_seconds())
        with pytest.raises(IbctReplayed):
            await rooms.ask(rooms.body(token=token, value=20))
        answered = await rooms.ask(body)
        assert isinstance(answered.outcome, DelegatedProof)
        assert not answered.is_replay
        # It was not dead but slow: what it made is thrown away.
        forever.set()
        with pytest.raises(RequestInProgress):
            await dead
        assert len(await kept_proofs(rooms.store)) == 1
        assert (await rooms.ask(body)).outcome == answered.outcome
        assert await rooms.uses() == 1

    run(tmp_path, story)


@pytest.mark.parametrize("failure", [PluginUnavailable, PluginTimeout])
def test_prover_that_fails_leaves_token_to_same_request(tmp_path: Path, failure: type[IdentityError]) -> None:
    async def story(rooms: Proving) -> None:
        async def fail() -> None:
            raise failure

        body = rooms.body()
        rooms.workers.before = fail
        with pytest.raises(failure):
            await rooms.ask(body)
        rooms.workers.before = None
        await rooms.proven(body)
        assert await rooms.uses() == 1

    run(tmp_path, story)


def test_opened_credential_is_used_for_the_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The box is read and opened once; only who takes a lease over has not seen what is in it."""

    async def story(rooms: Proving) -> None:
        opened: list[str] = []
        sealed = StoredCredentials.sealed

        async def spied(self: StoredCredentials, credential_id: str) -> bytes | None:
            opened.append(credential_id)
            return await sealed(self, credential_id)

        monkeypatch.setattr(StoredCredentials, "sealed", spied)
        await rooms.proven()
        assert opened == []

        async def fail() -> None:
            raise PluginUnavailable

        rooms.workers.before = fail
        body = rooms.body()
        with pytest.raises(PluginUnavailable):
            await rooms.ask(body)
        assert opened == []
        rooms.workers.before = None
        await rooms.proven(body)
        assert len(opened) == 1
        assert (rooms.workers.proofs, await rooms.uses()) == (3, 2)

    run(tmp_path, story)


def test_a_prover_that_disagrees_refuses_nothing(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        async def disagree() -> None:
            raise PredicateNotSatisfied

        rooms.workers.before = disagree
        with pytest.raises(PluginUnavailable):
            await rooms.ask()

    run(tmp_path, story)


def test_a_client_that_goes_away_leaves_a_finished_request(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        proving, done = asyncio.Event(), asyncio.Event()

        async def slowly() -> None:
            proving.set()
            await done.wait()

        body = rooms.body()
        rooms.workers.before = slowly
        asked = asyncio.create_task(rooms.ask(body))
        await proving.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        done.set()
        async with asyncio.timeout(60):
            while not await kept_proofs(rooms.store):
                await asyncio.sleep(0.001)
        assert (await rooms.ask(body)).is_replay

    run(tmp_path, story)


# Revocation while proving

Revoke = Callable[[Proving, dict[str, Any]], Awaitable[object]]


async def revoke_delegation(rooms: Proving, _: dict[str, Any]) -> object:
    return await rooms.store.delegations.revoke(rooms.delegation.id, "test", None, rooms.clock.now())


async def revoke_token(rooms: Proving, token: dict[str, Any]) -> object:
    now, hana = rooms.clock.now(), rooms.did(rooms.hana)
    return await rooms.store.delegations.revoke_ibct(hana, "id", token["id"], keep_until=now, now=now)


async def revoke_credential(rooms: Proving, _: dict[str, Any]) -> object:
    status = CredentialStatus.REVOKED
    return await rooms.store.credentials.set_status(rooms.credential, status, None, rooms.clock.now())


@pytest.mark.parametrize(
    ("revoke", "refusal"),
    [(revoke_delegation, DelegationRevoked), (revoke_token, IbctRevoked), (revoke_credential, CredentialRevoked)],
)
def test_revocation_during_proving_gives_no_proof(tmp_path: Path, revoke: Revoke, refusal: type[IdentityError]) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token()

        async def meanwhile() -> None:
            await revoke(rooms, token)

        rooms.workers.after = meanwhile
        with pytest.raises(refusal):
            await rooms.ask(rooms.body(token=token))
        assert await kept_proofs(rooms.store) == []
        assert (rooms.workers.proofs, await rooms.uses()) == (1, 1)

    run(tmp_path, story)


# What the proof is bound to


def test_without_more_the_proof_is_bound_to_the_holders_nonce(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token()
        made = await rooms.proven(rooms.body(token=token))
        context = rooms.workers.prover.read(made.proof.proof).context
        nonce = token["nonce"].encode()
        assert (context.audience, context.nonce, context.agent) == (ORIGIN, nonce, None)
        assert context.capability == capability_digest(nonce, jcs.canonicalize(token))
        assert (context.issued_at, context.expires_at) == (START, START + timedelta(days=1))
        assert context.proof_id == made.proof.proof_id == str(uuid.UUID(made.proof.proof_id))

    run(tmp_path, story)


def test_the_verifiers_challenge_and_domain_are_in_the_proof(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        challenge = "vera asks: é 0123456789"
        made = await rooms.proven(rooms.body(challenge=challenge, domain="https://vera.example"))
        context = rooms.workers.prover.read(made.proof.proof).context
        assert (context.audience, context.nonce) == ("https://vera.example", challenge.encode())

    run(tmp_path, story)


def test_the_proof_is_kept_with_what_it_is_about(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        made = await rooms.proven(rooms.body(domain="https://vera.example"))
        stored = await StoredProofs.from_store(rooms.store).get(made.proof.proof_id)
        assert stored is not None
        assert isinstance(stored.proof, ZkProof)
        assert stored.proof == made.proof
        assert (stored.holder, stored.agent) == (str(rooms.did(rooms.hana)), str(rooms.did(rooms.aki)))
        assert stored.predicate == {"attributeName": "age", "type": "gte", "value": 18}
        assert (stored.credential_id, stored.delegation_id) == (rooms.credential.id, rooms.delegation.id)
        assert (stored.domain, stored.challenge, stored.anchor) == ("https://vera.example", None, None)
        assert len(stored.salt) == 32

    run(tmp_path, story)


# Values, actions, callers


def test_a_value_left_out_is_that_of_the_pin(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        made = await rooms.proven(rooms.body(predicate={"attributeName": "age", "type": "gte"}))
        (predicate,) = rooms.workers.prover.read(made.proof.proof).predicates
        assert predicate.json["value"] == 18
        with pytest.raises(InvalidRequest):
            await rooms.ask(
                rooms.body(predicate={"attributeName": "age", "type": "gte"}, token=rooms.token(action=UNPINNED))
            )

    run(tmp_path, story)


@pytest.mark.parametrize(
    "action",
    [
        "zkp.prove.age.gte.19",
        "zkp.prove.age.gte.018",
        "zkp.prove.age.gte.",
        "zkp.prove.age.gt",
        "zkp.prove.ag.gte",
        "zkp.prove.agency.gte",
        "zkp.prove.*.gte",
        "zkp.prove.Age.gte",
        "zkp.prove.аge.gte",
        "zkp.prove.age..gte",
        "zkp.prove.age.gte.18\n",
        "zkp.prove",
    ],
)
def test_an_action_that_is_not_this_predicate_covers_nothing(tmp_path: Path, action: str) -> None:
    async def story(rooms: Proving) -> None:
        with pytest.raises(ScopeMismatch):
            await rooms.ask(rooms.body(token=rooms.token(action=action)))

    run(tmp_path, story)


def test_the_verifier_must_be_one_of_those_that_are_listed(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        rooms.delegation = await rooms.delegate(verifiers=("https://vera.example",))
        await rooms.proven(rooms.body(domain="https://vera.example"))
        for domain in ({"domain": "https://mallory.example"}, {}):
            with pytest.raises(ScopeMismatch):
                await rooms.ask(rooms.body(**domain))

    run(tmp_path, story)


def key(*targets: str, scopes: frozenset[str] | None = None) -> ApiKey:
    allowed = frozenset(targets) if targets else None
    return ApiKey("olu", "olu", "0" * 64, scopes, allowed, None, None, START, fingerprint="0f1e2d3c4b5a")


def test_only_permitted_agents_may_request(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        hana, aki = rooms.did(rooms.hana), rooms.did(rooms.aki)
        prove = frozenset({"zkp:prove"})
        for caller, expected in [
            (Caller(did=aki), "proven"),
            (Caller(subject=aki), "proven"),
            (Caller(subject=aki, scopes=prove), "proven"),
            (Caller(subject=aki, scopes=frozenset({"zkp:verify"})), "FORBIDDEN"),
            (Caller(subject=aki, operator=key(str(aki))), "proven"),
            (Caller(subject=aki, operator=key("did:ids:other")), "FORBIDDEN"),
            (Caller(subject=hana), "FORBIDDEN"),
            (Caller(did=hana), "FORBIDDEN"),
            (Caller(api_key=key()), "proven"),
            (Caller(api_key=key(str(hana), scopes=prove)), "proven"),
            (Caller(api_key=key(str(aki))), "FORBIDDEN"),
            (Caller(api_key=key(scopes=frozenset({"dids:create"}))), "FORBIDDEN"),
        ]:
            assert await code_of(rooms.ask(caller=caller)) == expected, caller

    run(tmp_path, story)


def test_a_key_in_grace_signs_and_a_retired_one_does_not(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:

        did = rooms.did(rooms.hana)
        authorization = await rooms.signed(did, secret_of(rooms.hana), "rotate")
        old = f"{rooms.hana.version.state.did}#{rooms.hana.keys[0].public}"
        wish = rotation_of(old, rooms.clock.now() + timedelta(minutes=5), purpose=("authentication",))
        await rooms.rotate(did, wish, authorization, rooms.context(did, authorization), if_match=None)
        await rooms.proven()
        rooms.clock.move(minutes=5)
        with pytest.raises(IbctInvalid):
            await rooms.ask()

    run(tmp_path, story)


# Anchors


def anchored(status: AnchorStatus) -> Anchor:
    return Anchor(status, "ab" * 32 if status is AnchorStatus.CONFIRMED else None, None, None)


@pytest.mark.parametrize("status", [AnchorStatus.PENDING, AnchorStatus.CONFIRMED, AnchorStatus.FAILED])
def test_the_receipt_is_in_the_answer_and_in_its_repetition(tmp_path: Path, status: AnchorStatus) -> None:
    ledger = Ledger(anchored(status))

    async def story(rooms: Proving) -> None:
        body = rooms.body(anchor=True, syncWaitMs=1500)
        made = await rooms.proven(body)
        assert made.anchor == anchored(status)
        assert ledger.asked == [(made.proof.proof_id, 1500)]
        assert await rooms.proven(body) == made
        assert len(ledger.asked) == 1
        stored = await StoredProofs.from_store(rooms.store).get(made.proof.proof_id)
        assert stored is not None
        # The row is the outbox: pending until the worker writes something else.
        assert stored.anchor == anchored(AnchorStatus.PENDING)

    run(tmp_path, story, anchoring=ledger)


# What is told


def test_nothing_that_is_written_tells_a_value(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        await rooms.proven(rooms.body(value=18))
        await rooms.ask(rooms.body(value=181, token=rooms.token(action=UNPINNED)))
        told = repr(await StoredTimeline(rooms.store.database).list(TimelineQuery(None)))
        audited = repr([row for _, row in await audit_rows(audit_of(rooms.store), after=0, limit=100)])
        assert "proof.generated" in told
        assert "proof.refused" in told
        assert "PREDICATE_NOT_SATISFIED" in audited
        for written in (told, audited):
            # As a word of its own: identifiers are random, and may hold any three digits.
            assert re.search(r"(?<![\w-])181(?![\w-])", written) is None
            assert all(str(value) not in written for value in VALUES.values() if len(str(value)) > 4)

    run(tmp_path, story)


def test_a_stranger_writes_nothing_into_the_holders_timeline(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        token = rooms.token() | {"action": UNPINNED}
        with pytest.raises(IbctInvalid):
            await rooms.ask(rooms.body(token=token))
        assert await StoredTimeline(rooms.store.database).list(TimelineQuery(None)) == []
        (_, row) = (await audit_rows(audit_of(rooms.store), after=0, limit=100))[-1]
        assert (row.outcome, row.details["code"], row.target) == ("refused", "IBCT_INVALID", str(rooms.did(rooms.hana)))

    run(tmp_path, story)


def test_an_operators_use_names_key_and_target(tmp_path: Path) -> None:
    async def story(rooms: Proving) -> None:
        await rooms.ask(caller=Caller(api_key=key()))
        (_, row) = (await audit_rows(audit_of(rooms.store), after=0, limit=100))[-1]
        assert (row.fingerprint, row.target) == ("0f1e2d3c4b5a", str(rooms.did(rooms.hana)))

    run(tmp_path, story)


# Forgetting


def test_an_invocation_is_remembered_longer_than_its_token_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("identity_core.store.invocations.REQUESTS_BETWEEN_PRUNES", 1)

    async def story(rooms: Proving) -> None:
        token = rooms.token()
        await rooms.proven(rooms.body(token=token))
        digest = hashlib.sha256(token["nonce"].encode()).digest()

        async def is_remembered() -> bool:
            rooms.delegation = await rooms.delegate()
            await rooms.proven()
            rows = await rooms.store.database.read(
                lambda transaction: transaction.execute(
                    "SELECT 1 FROM invocations WHERE nonce_digest = :digest", {"digest": digest}
                ).fetchall()
            )
            return rows != []

        # The token, the leeway of a minute, and the time by which a clock may be set back.
        rooms.clock.move(hours=2, minutes=1, seconds=59)
        assert await is_remembered()
        rooms.clock.move(seconds=1)
        assert not await is_remembered()

    run(tmp_path, story)


def test_the_real_prover_proves_it(tmp_path: Path) -> None:
    from identity_prover_bbs import identity_provide_prover

    from identity_core.plugin.sockets import BuildContext

    async def story(rooms: Proving) -> None:
        made = await rooms.proven()
        presented = rooms.workers.prover.read(made.proof.proof)
        statement = presented.statement(rooms.credential.issuer_public_key)
        rooms.workers.prover.verify(statement, made.proof, context=presented.context, now=rooms.clock.now())
        assert made.proof.public_signals[3:6] == ("age", "gte", "18")

    import logging

    provider = identity_provide_prover()
    prover = provider.build(provider.settings(), BuildContext(None, logging.getLogger("test"), tmp_path, None))  # type: ignore[arg-type]
    run(tmp_path, story, workers=Workers(prover))
