"""Proofs with credentials of suite 2, made with the custodian's consent, and verified without records."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from identity_bound_credentials.domain.bound_credential import BoundHeader
from identity_bound_credentials.domain.bound_format import particulars_of
from identity_bound_credentials.domain.presentation import (
    BoundWitness,
    ConsentTerms,
    GapWitness,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    StatusPart,
    proof_day,
)
from identity_bound_credentials.domain.question import AskedCredential, Question
from identity_bound_credentials.store.status_gaps import StoredStatusGaps
from identity_bound_credentials.use_cases.presenting import PresentBound
from identity_bound_credentials.use_cases.status_gaps import ListKeys, PublishStatusGaps
from identity_bound_credentials.use_cases.suite import BoundSuite
from identity_bound_credentials.worker_calls import present
from identity_custodian_sealed.custodian import holder_secrets
from identity_prover_bbs.plugin import BbsProver
from identity_verification.domain.checks import CheckCode
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import Expectation, ProofVerification
from identity_verification.suites import SuiteOneChecks
from identity_verification.use_cases.check import CheckProof, IssuerKeys

from identity_bbs.bls12381 import select
from identity_bbs.holders import HolderConsent
from identity_codec import jcs, strict_json
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.multikey import BLS12381G2
from identity_codec.values import replace
from identity_core.domain.dids.changes import RemoveVerificationMethod
from identity_core.domain.proofs.asked import parse_asked
from identity_core.domain.proofs.predicate import Predicate
from identity_core.domain.proofs.proof import Context, IssuerKey, Statement, WitnessInvalid, ZkProof
from identity_core.errors import PluginUnavailable
from identity_core.ports.custodian import KeyNotHeld
from identity_core.use_cases.credentials.sealed import ShownCredential
from identity_core.wire import AdditionalKey, SetCredentialStatusRequest
from tests.did_use_cases import secret_of, update_of
from tests.proving import Workers
from tests.unit.use_cases.credentials.conftest import Office, context

SHOP = "https://shop.example"
NONCE = b"a challenge of the shop, 30 bytes."
ALL = frozenset({"holder", "credentialValidity", "credentialStatus"})
NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@dataclass
class Scene:
    """Ivo's credential of Hana, the services that prove with it, and Vera, who verifies without records."""

    office: Office

    def __post_init__(self) -> None:
        rooms = self.office.rooms
        self.clock, self.gaps = rooms.clock, StoredStatusGaps(rooms.store.database)
        rooms.clock.time = NOON
        custodian: Any = rooms.custodian
        self.workers = Workers(BbsProver(select(), os.urandom))
        keys = IssuerKeys(rooms.reader)
        self.publisher = PublishStatusGaps(self.gaps, custodian, rooms.clock)
        self.present = PresentBound(self.workers, custodian, self.gaps, self.publisher, keys)
        suite: Any = BoundSuite(custodian, custodian, self.publisher, self.workers, custodian, os.urandom, self.present)
        self.check = CheckProof(self.workers, (SuiteOneChecks(), suite), keys, self.office.schemas)
        self.held: ShownCredential = run(self.office.bound(valid_until=datetime(2026, 12, 1, tzinfo=UTC)))

    def context(self, **changed: Any) -> Context:
        now = self.clock.now().replace(microsecond=0)
        return replace(Context(SHOP, NONCE, now, now + timedelta(minutes=10), "proof-1", None, None), **changed)

    def proof(self, kind: str = "gte", value: Any = 18, **changed: Any) -> ZkProof:
        credential, witness = self.held.credential, self.held.witness
        assert credential.binding is not None
        assert witness is not None
        question = asked_of(self.held, Predicate.parse(credential.schema, "age", kind, value))
        made: ZkProof = run(self.present([credential], question, [witness], self.context(**changed)))
        return made

    def verdict(self, proof: ZkProof | str, **expected: Any) -> ProofVerification:
        received = ReceivedProof(proof) if isinstance(proof, str) else ReceivedProof.from_proof(proof)
        question = Expectation(**({"audience": SHOP, "nonce": NONCE, "requires": ALL} | expected))
        verdict: ProofVerification = run(self.check(received, question, self.clock.now()))
        return verdict

    def crafted(self, held: list[ShownCredential], of: tuple[int, int], either: tuple[tuple[int, ...], ...]) -> str:
        """A presentation that the library makes, of a question that no operation here asks."""
        values = (30, 1) if either else (18, 1)
        headers = [BoundHeader.from_octets(one.credential.binding.header) for one in held]  # type: ignore[union-attr]
        asked: list[list[Any]] = [[] for _ in held]
        for number, value in zip(of, values, strict=True):
            member = {"attributeName": "age", "type": "gte", "value": value}
            asked[number].append(parse_asked(headers[number].schema, member))
        parts = tuple(AskedCredential(header, tuple(each)) for header, each in zip(headers, asked, strict=True))
        question = Question(parts, either=either, status=True)
        bound = self.context()
        terms = ConsentTerms.around(self.clock.now(), timedelta(hours=1))
        whole = PresentationContext(bound, None, terms)
        credentials = [one.credential for one in held]
        custodian: Any = self.office.rooms.custodian
        ids = tuple(credential.id for credential in credentials)
        agreed = run(custodian.consent(str(self.office.hana), ids, terms.message(question, bound, None), None))
        status: list[StatusPart] = []
        gaps: list[GapWitness] = []
        witnesses: list[BoundWitness] = []
        for one, header in zip(held, headers, strict=True):
            binding, witness = one.credential.binding, one.witness
            assert binding is not None
            assert witness is not None
            assert header.status is not None
            part, gap = run(self.present._status(binding, header.status, self.clock.now()))
            status.append(part)
            gaps.append(gap)
            about = particulars_of(one.credential, binding)
            witnesses.append(BoundWitness(witness.signature, witness.attributes, about))
        keys = tuple(credential.issuer_public_key for credential in credentials)
        statement = PresentationStatement(question, keys, proof_day(self.clock.now()), tuple(status))
        known = PresentationWitness(tuple(witnesses), tuple(gaps), agreed)
        return run(present(self.workers, statement, known, bound=whole))

    def set_status(self, purpose: str, value: bool = True) -> None:
        wish = SetCredentialStatusRequest(purpose=purpose, value=value)
        run(self.office.set_status(self.held.credential.id, wish, context(self.office.as_(self.office.ivo))))


def asked_of(held: ShownCredential, *predicates: Predicate) -> Question:
    assert held.credential.binding is not None
    header = BoundHeader.from_octets(held.credential.binding.header)
    return Question((AskedCredential(header, predicates),), status=header.status is not None)


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    office = run(Office.open(tmp_path))
    yield Scene(office)
    run(office.rooms.close())


def test_proof_states_its_own_terms_without_a_record(scene: Scene) -> None:
    proof = scene.proof()
    verdict = scene.verdict(
        proof, predicates=({"attributeName": "age", "type": "gte", "value": 18},), issuer=str(scene.office.ivo)
    )
    assert (verdict.verified, verdict.errors) == (True, ())
    assert {check.name for check in verdict.checks} >= ALL | {"predicate", "issuerKey", "schemaHeader", "proof"}
    assert verdict.unchecked == ("schemaId", "maxAge", "revocation")
    silent = ("holder", "credentialValidity", "credentialStatus", "revocation")
    assert scene.verdict(proof, requires=frozenset()).unchecked[-4:] == silent, "nothing is promised without a request"


def test_several_predicates_stand_in_one_proof(scene: Scene) -> None:
    credential, witness = scene.held.credential, scene.held.witness
    assert credential.binding is not None
    assert witness is not None
    asked = [("age", "gte", 18), ("age", "lt", 120), ("age", "lte", 100)]
    predicates = tuple(Predicate.parse(credential.schema, *one) for one in asked)
    question = asked_of(scene.held, *predicates)
    proof = run(scene.present([credential], question, [witness], scene.context()))
    assert proof.predicate_type == "gte,lt,lte"
    expected = tuple(predicate.json for predicate in predicates)
    assert scene.verdict(proof, predicates=expected).verified
    for other in (expected[:2], expected[::-1], (*expected, expected[0])):
        assert scene.verdict(proof, predicates=other).errors == (CheckCode.PREDICATE_MISMATCH,)


def test_proof_contains_nothing_of_the_holder(scene: Scene) -> None:
    credential = scene.held.credential
    assert credential.binding is not None
    first, second = scene.proof(), scene.proof()
    text = base64url_decode(first.proof).decode()
    for secret in (credential.id, str(credential.holder), base64url_encode(credential.binding.commitment)):
        assert secret not in text
    assert str(credential.binding.handle) not in text
    one, other = (strict_json.loads(base64url_decode(proof.proof)) for proof in (first, second))
    assert one["consent"]["value"] != other["consent"]["value"]
    assert one["parts"][0]["proof"] != other["parts"][0]["proof"]


@pytest.mark.parametrize(
    ("expected", "code"),
    [
        ({"audience": "https://bank.example"}, CheckCode.DOMAIN_MISMATCH),
        ({"nonce": b"another challenge of the same shop"}, CheckCode.CHALLENGE_MISMATCH),
        ({"predicates": ({"attributeName": "age", "type": "gte", "value": 21},)}, CheckCode.PREDICATE_MISMATCH),
        ({"predicates": ({"attributeName": "age", "type": "neq", "value": 18},)}, CheckCode.PREDICATE_MISMATCH),
        ({"issuer": "did:ids:another"}, CheckCode.ISSUER_MISMATCH),
        ({"schema_id": "urn:another"}, CheckCode.SCHEMA_MISMATCH),
    ],
)
def test_proof_of_another_expectation_is_refused(scene: Scene, expected: dict[str, Any], code: CheckCode) -> None:
    assert scene.verdict(scene.proof(), **expected).errors == (code,)


def edited(proof: ZkProof, change: Any) -> str:
    """The envelope with something else in it, in its canonical form."""
    value = strict_json.loads(base64url_decode(proof.proof))
    change(value)
    return base64url_encode(jcs.canonicalize(value))


def test_an_edited_envelope_is_none(scene: Scene) -> None:
    proof = scene.proof()

    def set_(*path: Any, to: Any) -> Any:
        def change(value: Any) -> None:
            for member in path[:-1]:
                value = value[member]
            value[path[-1]] = to

        return change

    changes = {
        "another bound": set_("question", "credentials", 0, "predicates", 0, "value", to=10),
        "no status asked": lambda value: value["question"].update(status=False) or value.update(status=[]),
        "no validity asked": lambda value: value["question"].update(validity=False) or value.update(day=None),
        "no holder asked": lambda value: value["question"].update(holder="none") or value.update(consent=None),
        "for another audience": set_("context", "audience", to="https://bank.example"),
        "another challenge": set_("context", "nonce", to=base64url_encode(bytes(32))),
        "good for longer": set_(
            "context", "expiresAt", to=strict_json.loads(base64url_decode(proof.proof))["context"]["expiresAt"] + 60
        ),
        "a longer consent": set_(
            "consent", "notAfter", to=strict_json.loads(base64url_decode(proof.proof))["consent"]["notAfter"] + 3600
        ),
        "tomorrow": set_("day", to=proof_day(NOON + DAY)),
        "another suite": set_("suite", to="identity-bbs-predicates-1"),
    }
    for name, change in changes.items():
        verdict = scene.verdict(edited(proof, change), audience=None, nonce=None, requires=frozenset())
        assert not verdict.verified, name
        assert set(verdict.errors) <= {CheckCode.PROOF_INVALID}, name


def test_members_beside_the_envelope_are_compared(scene: Scene) -> None:
    proof = scene.proof()
    for changed in (
        replace(proof, public_signals=(*proof.public_signals[:-1], "AAAA")),
        replace(proof, predicate_type="lte"),
        replace(proof, proof_id="proof-2"),
    ):
        assert scene.verdict(changed).errors == (CheckCode.PUBLIC_SIGNALS_MISMATCH,)


def test_a_verifier_of_tomorrow_refuses_what_was_revoked_today(scene: Scene) -> None:
    """Ivo revokes at noon. A stored credential has a gap of today's list only, and tomorrow's list has none for its handle."""
    before = scene.proof()
    scene.set_status("revocation")
    scene.clock.time = NOON + DAY
    run(scene.publisher.step())
    assert scene.verdict(before).errors == (CheckCode.PROOF_EXPIRED,), "a proof of yesterday is taken"
    with pytest.raises(PluginUnavailable):
        scene.proof()

    class Yesterday:
        """Prover and service turned back by a day, for the list alone."""

        async def published(self, list_id: str, epoch: int) -> Any:
            return await scene.gaps.published(list_id, epoch - 1)

        def __getattr__(self, name: str) -> Any:
            return getattr(scene.gaps, name)

    scene.present = replace(scene.present, gaps=Yesterday())  # type: ignore[arg-type]
    stale = scene.proof()
    assert CheckCode.PROOF_INVALID in scene.verdict(stale).errors, (
        "a gap of a list that ended twelve hours ago is taken"
    )


def test_how_old_a_status_list_may_be_is_the_verifiers_choice(scene: Scene) -> None:
    """A proof is made a minute before the epoch of its list ends, and shown after that."""
    (gap_list,) = run(scene.gaps.lists())
    end = (int(NOON.timestamp()) // gap_list.period + 1) * gap_list.period
    scene.clock.time = datetime.fromtimestamp(end, UTC) - timedelta(seconds=60)
    proof = scene.proof(expires_at=scene.clock.time + timedelta(seconds=300))
    none = timedelta(0)
    assert scene.verdict(proof, status_max_age=none).verified, "the list is of the present epoch"
    scene.clock.time = datetime.fromtimestamp(end, UTC) + timedelta(seconds=100)
    assert scene.verdict(proof).verified, "an hour is taken where nothing is said"
    verdict = scene.verdict(proof, status_max_age=timedelta(seconds=100))
    assert verdict.errors == (CheckCode.STATUS_TOO_OLD,), "the end is not taken any more"
    assert scene.verdict(proof, status_max_age=timedelta(seconds=101)).verified
    assert scene.verdict(proof, status_max_age=none).errors == (CheckCode.STATUS_TOO_OLD,)


def test_resumed_credential_proves_at_once(scene: Scene) -> None:
    scene.set_status("suspension")
    run(scene.publisher.step())
    with pytest.raises(PluginUnavailable):
        scene.proof()
    scene.set_status("suspension", False)
    assert scene.verdict(scene.proof()).verified


def test_list_of_new_epoch_is_made_by_first_who_needs_it(scene: Scene) -> None:
    (gap_list,) = run(scene.gaps.lists())
    epoch = int(NOON.timestamp()) // gap_list.period
    assert run(scene.gaps.published(gap_list.id, epoch)) is not None, "a credential names a list that is not there"
    scene.clock.time = NOON + DAY
    assert run(scene.gaps.published(gap_list.id, epoch + 1)) is None
    scene.proof()
    assert run(scene.gaps.published(gap_list.id, epoch + 1)) is not None


def test_no_proof_is_made_with_list_of_key_that_was_taken_back(scene: Scene) -> None:
    """Ivan takes the newest of his two keys out of his document, which signed the list, and the job has not looked yet."""
    rooms, office = scene.office.rooms, scene.office
    wish = AdditionalKey(type="Bls12381G2Key2020", purpose=("assertionMethod",))
    made = run(rooms.new_did(additional_keys=(wish, wish), store_secrets=True, return_secrets=True))
    ivan = made.version.state.did
    older, newest = (f"{ivan}#{key.public}" for key in made.keys if key.type == BLS12381G2)
    wanted = office.new(issuer=ivan, suite=2, verification_method=older)
    scene.held = run(office.issue(wanted, context(office.as_(ivan), "issueCredential")))
    gap_list = next(one for one in run(scene.gaps.lists()) if one.issuer == str(ivan))
    assert gap_list.method == newest
    signed = run(rooms.signed(ivan, secret_of(made), "update"))
    removal = update_of(RemoveVerificationMethod(newest))
    run(rooms.update(ivan, removal, signed, rooms.context(ivan, signed), if_match=None))
    with pytest.raises(PluginUnavailable, match="not in force"):
        # The custodian does not report which key signs instead.
        scene.proof()
    custodian: Any = rooms.custodian
    publisher = replace(scene.publisher, key_of=ListKeys(rooms.reader, custodian))
    scene.present = replace(scene.present, publisher=publisher)
    proof = scene.proof()
    assert scene.verdict(proof).verified


def test_the_proof_ends_with_its_day(scene: Scene) -> None:
    """A day is what validity is said of: a proof made just before midnight is refused when that day is over."""
    scene.clock.time = NOON.replace(hour=23, minute=58)
    proof = scene.proof(expires_at=NOON.replace(hour=0, minute=5) + DAY)
    assert scene.verdict(proof).verified
    scene.clock.time = NOON.replace(hour=0, minute=4) + DAY
    assert scene.verdict(proof).verified
    scene.clock.time = NOON.replace(hour=0, minute=6) + DAY
    assert scene.verdict(proof).errors == (CheckCode.PROOF_EXPIRED,)


def test_proof_verifies_until_it_expires(scene: Scene) -> None:
    """Verify it some hours later, and in its last second."""
    end = NOON + timedelta(hours=9)
    proof = scene.proof(expires_at=end)
    for later in (timedelta(hours=5), timedelta(hours=9, seconds=-1)):
        scene.clock.time = NOON + later
        assert scene.verdict(proof).verified
    scene.clock.time = end
    assert wrong(scene.verdict(proof)) == {"time": CheckCode.PROOF_EXPIRED}


def test_a_proof_whose_consent_ended_has_expired(scene: Scene) -> None:
    """Earlier versions made proofs that expire hours after their consent."""
    around = ConsentTerms.around

    def short(now: datetime, lifetime: timedelta, *cover: Any) -> ConsentTerms:
        return around(now, timedelta(hours=1), *cover)

    with patch.object(ConsentTerms, "around", short):
        proof = scene.proof(expires_at=NOON + timedelta(hours=9))
    scene.clock.time = NOON + timedelta(hours=3)
    assert wrong(scene.verdict(proof)) == {"time": CheckCode.PROOF_EXPIRED}


def wrong(verdict: ProofVerification) -> dict[str, CheckCode | None]:
    return {check.name: check.code for check in verdict.checks if check.ok is False}


def test_proof_of_suite_1_leaves_these_unchecked(scene: Scene) -> None:
    shown = run(scene.office.issued(suite=1))
    credential = shown.credential
    predicate = Predicate.parse(credential.schema, "age", "gte", 18)
    issuer = IssuerKey(credential.verification_method, credential.issuer_public_key)
    proof = scene.workers.prover.prove(
        Statement(issuer, credential.schema, (predicate,)), shown.witness, context=scene.context()
    )
    verdict = scene.verdict(proof)
    assert verdict.errors == (CheckCode.NOT_PROVEN,)
    assert {check.name for check in verdict.checks if check.code is CheckCode.NOT_PROVEN} == ALL
    plain = scene.verdict(proof, requires=frozenset())
    assert plain.verified
    assert plain.unchecked[-4:] == ("holder", "credentialValidity", "credentialStatus", "revocation")


def test_a_key_that_the_issuer_took_back_proves_nothing(scene: Scene) -> None:
    proof = scene.proof()

    class Nothing(IssuerKeys):
        """The issuer's document does not hold the key any more."""

        async def __call__(self, method_id: str, now: datetime) -> Any:
            return await IssuerKeys.__call__(self, method_id + "x", now)

    scene.check = replace(scene.check, issuers=Nothing(scene.check.issuers.reader))
    verdict = scene.verdict(proof)
    assert verdict.errors == (CheckCode.ISSUER_KEY_UNKNOWN,)
    assert "proof" not in {check.name for check in verdict.checks}


def test_alternatives_do_not_pass_for_what_was_asked(scene: Scene) -> None:
    """Hana is 24. She proves that she is 30 or older in one credential, or 1 or older in another: true, and no answer to the first."""
    other = run(scene.office.bound(valid_until=datetime(2026, 12, 1, tzinfo=UTC)))
    held = (scene.held, other)
    for credentials, either in (((0, 1), ((0, 1),)), ((0, 0), ((0, 1),)), ((0, 1), ())):
        text = scene.crafted([held[number] for number in dict.fromkeys(credentials)], credentials, either)
        for predicates in (None, ({"attributeName": "age", "type": "gte", "value": 30},)):
            verdict = scene.verdict(text, predicates=predicates)
            assert not verdict.verified
            assert verdict.errors == (CheckCode.PROOF_INVALID,)
            assert verdict.presented is None, "what is not proven is shown"


@pytest.mark.parametrize("keeps", ["another root", "nothing"])
def test_a_secret_that_is_lost_is_told_with_what_to_do(scene: Scene, keeps: str) -> None:
    """The keeper was made anew: its consents are to a secret that no credential is bound to, or it has none to give."""
    kept: Any = scene.office.rooms.custodian

    class Anew(type(kept)):  # type: ignore[misc]
        async def consent(self, *asked: Any) -> HolderConsent:
            if keeps == "nothing":
                raise KeyNotHeld
            return holder_secrets(b"x" * 32, os.urandom).consent(*asked)

    scene.present = replace(scene.present, custodian=Anew.__new__(Anew))
    with pytest.raises(PluginUnavailable) as caught:
        scene.proof()
    assert "issue another" in str(caught.value.details["remedy"])
    scene.present = replace(scene.present, custodian=kept)
    assert scene.verdict(scene.proof()).verified


def test_another_fault_of_the_prover_is_not_told_as_a_loss(scene: Scene) -> None:
    witness = scene.held.witness
    assert witness is not None
    scene.held = replace(
        scene.held, witness=replace(witness, signature=witness.signature[:-1] + bytes([witness.signature[-1] ^ 1]))
    )
    with pytest.raises(WitnessInvalid):
        scene.proof()


class Counting:
    """The lists, and how often a shard was read of them."""

    def __init__(self, gaps: Any) -> None:
        self.gaps, self.read = gaps, 0

    async def shard(self, list_id: str, digest: bytes) -> Any:
        self.read += 1
        return await self.gaps.shard(list_id, digest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gaps, name)


def test_a_shard_is_read_once_until_its_list_is_published_anew(scene: Scene) -> None:
    counting: Any = Counting(scene.gaps)
    scene.present = replace(scene.present, gaps=counting)
    assert all(scene.verdict(scene.proof()).verified for _ in range(3))
    assert counting.read == 1
    scene.set_status("suspension")
    run(scene.publisher.step())
    with pytest.raises(PluginUnavailable):
        scene.proof()
    assert counting.read > 1, "a gap of the edition before is taken"
    scene.set_status("suspension", False)
    counting.read = 0
    assert scene.verdict(scene.proof()).verified
    assert counting.read == 1


def test_a_shard_that_is_not_the_published_one_is_never_kept(scene: Scene) -> None:
    class Wrong(Counting):
        async def shard(self, list_id: str, digest: bytes) -> Any:
            data = await super().shard(list_id, digest)
            return data if self.read > 2 else data[:-1] + bytes([data[-1] ^ 1])

    wrong: Any = Wrong(scene.gaps)
    scene.present = replace(scene.present, gaps=wrong)
    with pytest.raises(PluginUnavailable):
        scene.proof()
    wrong.read = 2
    assert scene.verdict(scene.proof()).verified
