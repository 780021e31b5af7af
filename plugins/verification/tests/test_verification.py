"""Verification: what is right, what is wrong and what could not be checked, one reason at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_bound_credentials.domain.question import SUITE_2
from identity_bound_credentials.use_cases.suite import BoundSuite
from identity_records.audit import audit_of
from identity_records.queries import TimelineQuery, VerificationQuery
from identity_records.store import StoredTimeline, StoredVerifications
from identity_verification.domain.checks import CheckCode
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import Expectation, ProofVerification
from identity_verification.expectation import expectation_of
from identity_verification.suites import SuiteOneChecks
from identity_verification.use_cases.check import CheckProof

from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.values import replace
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.errors import DidQuarantined, InvalidRequest, PluginUnavailable, ProofInvalid, ProofNotFound
from identity_core.use_cases.proofs.suite_1 import NoProver
from identity_core.wire import DeactivateDidRequest
from tests.events import audit_rows
from tests.verifying import OPERATOR, Verifying, asking

CHALLENGE = "a challenge of Vera's own"
SHOP = "https://shop.example"
AGE = {"attributeName": "age", "type": "gte", "value": 18}


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Callable[[Verifying], Awaitable[None]]], None]:
    def tell(story: Callable[[Verifying], Awaitable[None]]) -> None:
        async def tell_verdict() -> None:
            rooms = Verifying(tmp_path)
            try:
                await rooms.begin()
                await story(rooms)
            finally:
                await rooms.close()

        asyncio.run(tell_verdict())

    return tell


def wrongs(verdict: ProofVerification) -> dict[str, tuple[bool | None, Any]]:
    return {check.name: (check.ok, check.code) for check in verdict.checks if check.ok is not True}


def test_a_good_proof_and_every_expectation(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof(challenge=CHALLENGE, domain=SHOP)
        asked = asking(AGE, CHALLENGE, SHOP, made.issuer, made.schema_id, timedelta(minutes=5))
        never = ("holder", "credentialValidity", "credentialStatus", "revocation")
        for verdict, unchecked in (
            (await rooms.verify(made, asked), never),
            (await rooms.verify_stored(made, asked), ()),
        ):
            assert verdict.verified, wrongs(verdict)
            assert verdict.unchecked == unchecked
            assert verdict.errors == verdict.warnings == ()
        silent = ("predicate", "challenge", "domain", "issuerDid", "schemaId", "maxAge")
        assert (await rooms.verify(made)).unchecked == (*silent, *never)
        unreadable = await rooms.verify(made, proof="x")
        assert unreadable.unchecked == (*silent, *never)

    tell(story)


def test_the_nonce_of_the_ibct_is_the_challenge_of_who_gave_none(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        assert (await rooms.verify(made, asking(challenge=made.nonce))).verified
        assert wrongs(await rooms.verify(made, asking(challenge=made.nonce + "x"))) == {
            "challenge": (False, CheckCode.CHALLENGE_MISMATCH)
        }

    tell(story)


@pytest.mark.parametrize(
    ("asked", "check", "code"),
    [
        (asking({**AGE, "value": 17}), "predicate", CheckCode.PREDICATE_MISMATCH),
        (asking({**AGE, "type": "gt"}), "predicate", CheckCode.PREDICATE_MISMATCH),
        (asking({**AGE, "attributeName": "income"}), "predicate", CheckCode.PREDICATE_MISMATCH),
        (asking({**AGE, "attributeName": "shoeSize"}), "predicate", CheckCode.PREDICATE_MISMATCH),
        (asking({**AGE, "value": "18"}), "predicate", CheckCode.PREDICATE_MISMATCH),
        (asking(challenge="another verifier's challenge"), "challenge", CheckCode.CHALLENGE_MISMATCH),
        (asking(domain="https://other.example"), "domain", CheckCode.DOMAIN_MISMATCH),
        (asking(issuer="did:ids:mallory"), "issuer", CheckCode.ISSUER_MISMATCH),
        (asking(schema_id="https://schemas.example/other"), "schema", CheckCode.SCHEMA_MISMATCH),
    ],
)
def test_unrequested_statement_is_unchecked(tell: Any, asked: Expectation, check: str, code: CheckCode) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof(challenge=CHALLENGE, domain=SHOP)
        for verdict in (await rooms.verify(made, asked), await rooms.verify_stored(made, asked)):
            assert wrongs(verdict) == {check: (False, code)}
            assert not verdict.verified

    tell(story)


def test_unbindable_challenge_is_client_error() -> None:
    for text in ("too short", "x" * 257, "é" * 129):
        with pytest.raises(InvalidRequest):
            expectation_of(asking(challenge=text))


@pytest.mark.parametrize(
    "change",
    [
        {"public_signals": ()},
        {"public_signals": ("a",)},
        {"predicate_type": "gt"},
        {"proof_id": "another"},
    ],
)
def test_members_beside_the_envelope_that_say_something_else(tell: Any, change: dict[str, Any]) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        verdict = await rooms.verify(made, **change)
        assert wrongs(verdict) == {"publicSignals": (False, CheckCode.PUBLIC_SIGNALS_MISMATCH)}

    tell(story)


def test_each_public_signal_edited(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        signals = list(made.proof.public_signals)
        for place in range(len(signals)):
            edited = tuple(text + "0" if number == place else text for number, text in enumerate(signals))
            assert not (await rooms.verify(made, public_signals=edited)).verified
        assert not (await rooms.verify(made, public_signals=tuple(reversed(signals)))).verified
        assert (await rooms.verify(made, public_signals=None, predicate_type=None, proof_id=None)).verified

    tell(story)


def test_an_edited_envelope_and_what_is_none(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        data = bytearray(base64url_decode(made.proof.proof))
        place = data.index(b'"value":18') + len(b'"value":1')
        data[place : place + 1] = b"0"
        verdict = await rooms.verify(
            made, proof=base64url_encode(bytes(data)), public_signals=None, predicate_type=None, proof_id=None
        )
        assert wrongs(verdict) == {"proof": (False, CheckCode.PROOF_INVALID)}
        for text in ("", "x", "e30", made.proof.proof[:-4], made.proof.proof + "AAAA"):
            verdict = await rooms.verify(made, proof=text)
            assert wrongs(verdict) == {"form": (False, CheckCode.PROOF_INVALID)}
            assert verdict.presented is None

    tell(story)


class Reading:
    """Workers that note what they are asked to read, and read one of the suites or none."""

    def __init__(self, readable: str) -> None:
        self.readable, self.tried = readable, list[str]()

    async def read(self, proof: str) -> str:
        return self._tried("read")

    async def ask(self, call: Any) -> str:
        return self._tried("read_presentation")

    def _tried(self, name: str) -> str:
        self.tried.append(name)
        if name != self.readable:
            raise ProofInvalid
        raise PluginUnavailable(f"it was readable as {name}")


@pytest.mark.parametrize("signals", [None, (), ("bbs-predicates-1",), (SUITE_2,), ("x", SUITE_2)], ids=str)
@pytest.mark.parametrize("readable", ["read", "read_presentation", "none"])
def test_suite_member_is_only_hint(signals: tuple[str, ...] | None, readable: str) -> None:
    reading: Any = Reading(readable)
    suites = (SuiteOneChecks(), BoundSuite(*[reading] * 7))
    check = CheckProof(reading, suites, reading, reading)
    asked = check(ReceivedProof("text", signals), Expectation(), datetime.now(UTC))
    order = ["read_presentation", "read"] if signals == (SUITE_2,) else ["read", "read_presentation"]
    if readable == "none":
        assert wrongs(asyncio.run(asked)) == {"form": (False, CheckCode.PROOF_INVALID)}
        assert reading.tried == order
    else:
        with pytest.raises(PluginUnavailable, match=f"as {readable}$"):
            asyncio.run(asked)
        assert reading.tried == order[: order.index(readable) + 1]


def test_time_is_a_check_of_its_own(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        rooms.clock.time = made.expires_at - timedelta(microseconds=1)
        assert (await rooms.verify(made)).verified
        rooms.clock.time = made.expires_at
        assert wrongs(await rooms.verify(made)) == {"time": (False, CheckCode.PROOF_EXPIRED)}
        rooms.clock.time = made.created_at - timedelta(seconds=61)
        assert (await rooms.verify(made)).errors[0] == CheckCode.PROOF_NOT_YET_VALID

    tell(story)


def test_an_issuer_who_left_or_took_the_key_out(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        did = rooms.did(rooms.ivo)
        authorization = await rooms.signed(did, rooms.issuer_keys.secret, "deactivate")
        await rooms.deactivate(
            did,
            DeactivateDidRequest(confirm=True),
            authorization=authorization,
            context=rooms.context(did, authorization),
            if_match=None,
        )
        verdict = await rooms.verify(made)
        assert wrongs(verdict) == {"issuerKey": (False, CheckCode.ISSUER_DEACTIVATED)}

    tell(story)


class Elsewhere:
    """A method that looks DIDs up: finds nothing, breaks, or finds a document."""

    name, mutable = "far", False

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def check(self, did: Any) -> None: ...

    def draft(self, state: Any, change: Any, at: Any, *, signer: str) -> Any:
        raise NotImplementedError

    def apply(self, state: Any, entry: bytes) -> Any:
        raise NotImplementedError

    def expand(self, did: Any) -> Any:
        return None

    async def resolve(self, did: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, (False, CheckCode.ISSUER_NOT_FOUND)),
        (PluginUnavailable(), (None, CheckCode.ISSUER_UNAVAILABLE)),
        (DidQuarantined(), (None, CheckCode.ISSUER_UNAVAILABLE)),
    ],
)
def test_wrong_is_told_from_could_not_be_checked(tell: Any, answer: Any, outcome: Any) -> None:
    async def story(rooms: Verifying) -> None:
        rooms.methods["far"] = Elsewhere(answer)  # type: ignore[index]
        method = "did:far:ivo#key"
        rooms.credential = await rooms.issue(rooms.did(rooms.hana), verification_method=method)
        made = await rooms.create_proof()
        verdict = await rooms.verify(made)
        assert wrongs(verdict) == {"issuerKey": outcome}
        assert not verdict.verified

    tell(story)


def test_a_method_that_nobody_here_knows_is_not_a_wrong_issuer(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        for method, outcome in (
            ("did:unheard:ivo#key", (None, CheckCode.ISSUER_UNAVAILABLE)),
            (f"{rooms.did(rooms.ivo)}#another", (False, CheckCode.ISSUER_KEY_UNKNOWN)),
            ("no DID at all", (False, CheckCode.ISSUER_KEY_UNKNOWN)),
        ):
            rooms.credential = await rooms.issue(rooms.did(rooms.hana), verification_method=method)
            assert wrongs(await rooms.verify(await rooms.create_proof())) == {"issuerKey": outcome}

    tell(story)


def test_a_proof_under_another_issuers_name(tell: Any) -> None:
    """Mallory asserts by Ivo's public key: the signature is Ivo's, and the header names Mallory's method."""

    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        verdict = await rooms.verify(made, asking(issuer=str(rooms.did(rooms.mallory))))
        assert verdict.errors == (CheckCode.ISSUER_MISMATCH,)

    tell(story)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (CredentialStatus.REVOKED, CheckCode.CREDENTIAL_REVOKED),
        (CredentialStatus.SUSPENDED, CheckCode.CREDENTIAL_SUSPENDED),
    ],
)
def test_a_credential_that_is_no_longer_in_force(tell: Any, status: CredentialStatus, code: CheckCode) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        await rooms.store.credentials.set_status(rooms.credential, status, None, rooms.clock.now())
        assert wrongs(await rooms.verify_stored(made)) == {"credential": (False, code)}
        # The stateless check asks nothing of what is stored.
        assert (await rooms.verify(made)).verified

    tell(story)


def test_an_expired_credential(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        until = rooms.clock.now() + timedelta(hours=1)
        rooms.credential = await rooms.issue(rooms.did(rooms.hana), valid_until=until)
        made = await rooms.create_proof()
        assert (await rooms.verify_stored(made)).verified
        rooms.clock.time = until
        assert wrongs(await rooms.verify_stored(made)) == {"credential": (False, CheckCode.CREDENTIAL_EXPIRED)}

    tell(story)


def test_an_ended_delegation_is_a_warning(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        await rooms.store.delegations.suspend(rooms.delegation.id, rooms.clock.now())
        verdict = await rooms.verify_stored(made)
        assert verdict.verified
        assert verdict.warnings == (CheckCode.DELEGATION_SUSPENDED,)
        await rooms.store.delegations.revoke(rooms.delegation.id, "did:x", None, rooms.clock.now())
        assert (await rooms.verify_stored(made)).warnings == (CheckCode.DELEGATION_REVOKED,)

    tell(story)


def test_an_unknown_proof(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        other = replace(made, proof=replace(made.proof, proof_id="6f9619ff-8b86-d011-b42d-00c04fc964ff"))
        with pytest.raises(ProofNotFound):
            await rooms.verify_stored(other)

    tell(story)


def test_without_a_prover_nothing_is_said(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        rooms.received = replace(rooms.received, check=replace(rooms.received.check, provers=NoProver()))
        with pytest.raises(PluginUnavailable):
            await rooms.verify(made, caller=OPERATOR)
        assert not await StoredVerifications(rooms.store.database).list(VerificationQuery(None, None))

    tell(story)


def test_remaining_rows_are_counted(tell: Any) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof(domain=SHOP)
        await rooms.verify(made)
        assert not await StoredVerifications(rooms.store.database).list(VerificationQuery(None, None))
        await rooms.verify(made, asking(domain="https://other.example"), caller=rooms.caller(rooms.vera))
        rooms.clock.move(seconds=1)
        await rooms.verify_stored(made, caller=OPERATOR)
        first, second = await StoredVerifications(rooms.store.database).list(VerificationQuery(None, None))
        assert (first.verification.verified, first.verification.fingerprint) == (True, "0f1e2d3c4b5a")
        said = second.verification
        assert (said.verified, said.codes) == (False, ("DOMAIN_MISMATCH",))
        assert (said.verifier, said.holder) == (str(rooms.did(rooms.vera)), made.holder)
        assert (said.attribute, said.predicate_type, said.issuer) == ("age", "gte", made.issuer)
        told = await StoredTimeline(rooms.store.database).list(
            TimelineQuery(frozenset({made.holder}), kind="proof.verified")
        )
        assert [(row.entry.outcome, row.entry.code) for row in told] == [("done", None), ("refused", "DOMAIN_MISMATCH")]
        assert not await StoredTimeline(rooms.store.database).list(
            TimelineQuery(frozenset({made.agent}), kind="proof.verified")
        )
        lines = [row for _, row in await audit_rows(audit_of(rooms.store), after=0, limit=1000)]
        (line,) = [row for row in lines if row.operation == "verifyStoredProof"]
        assert (line.target, line.fingerprint, line.details["verified"]) == (made.id, "0f1e2d3c4b5a", True)

    tell(story)


def test_foreign_text_in_a_proof_names_no_caller(tell: Any) -> None:
    """An envelope that claims the id of a kept proof must not appear in its holder's history."""

    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        data = base64url_decode(made.proof.proof).replace(b'"value":18', b'"value":10')
        forged = base64url_encode(data)
        await rooms.verify(made, caller=rooms.caller(rooms.mallory), proof=forged)
        (row,) = await StoredVerifications(rooms.store.database).list(VerificationQuery(None, None))
        assert row.verification.proof_id == made.id
        assert row.verification.holder is None
        assert not await StoredTimeline(rooms.store.database).list(
            TimelineQuery(frozenset({made.holder}), kind="proof.verified")
        )

    tell(story)
