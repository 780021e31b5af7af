"""Attacks on verification: proofs that were edited, mixed, borrowed or shown to another verifier, and what rows reveal.

The real prover is used, because the content of the envelope is attacked as well.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from identity_records.audit import audit_of
from identity_records.queries import TimelineQuery, VerificationQuery
from identity_records.store import StoredTimeline, StoredVerifications
from identity_verification.domain.checks import CheckCode
from identity_verification.domain.verification import ProofVerification
from identity_verification.store import StoredProofs
from identity_verification.wire import RevokeProofRequest, VerifyStoredProofRequest

from identity_bbs.bls12381 import select
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.dids.document import DidDocument
from identity_core.errors import IdentityError, ProofNotFound
from tests.attack.stranger import rounds
from tests.proving import VALUES
from tests.store_contents import kept_proofs
from tests.verifying import OPERATOR, Verifying, Workers, about, asking

bbs = pytest.importorskip("identity_prover_bbs")
Story = Callable[[Verifying], Awaitable[None]]
SHOP = "https://shop.example"
THRESHOLD = 4_999_937


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Story], None]:
    def tell(story: Story) -> None:
        async def run_story() -> None:
            rooms = Verifying(tmp_path, workers=Workers(bbs.BbsProver(select(), os.urandom)))
            try:
                await rooms.begin()
                await story(rooms)
            finally:
                await rooms.close()

        asyncio.run(run_story())

    return tell


async def bare(rooms: Verifying, text: str, question: VerifyStoredProofRequest | None = None) -> ProofVerification:
    """The verification of an envelope alone."""
    return await rooms.received(about(question, proof=text), None)


def envelope_of(text: str) -> dict[str, Any]:
    envelope: dict[str, Any] = json.loads(base64url_decode(text))
    return envelope


def closed(envelope: dict[str, Any]) -> str:
    return base64url_encode(json.dumps(envelope, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def test_the_forger_can_open_and_close_an_envelope(tell: Callable[[Story], None]) -> None:
    """Else the edits below would be refused for their form alone."""

    async def story(rooms: Verifying) -> None:
        text = (await rooms.create_proof()).proof.proof
        assert closed(envelope_of(text)) == text
        assert (await bare(rooms, text)).verified

    tell(story)


def test_every_member_of_envelope_edited_or_taken_from_another(tell: Callable[[Story], None]) -> None:
    async def story(rooms: Verifying) -> None:
        mine, other = [
            envelope_of((await rooms.create_proof(domain=where)).proof.proof) for where in (SHOP, "https://b.example")
        ]
        assert mine.keys() == other.keys()
        for name in mine:
            if mine[name] != other[name]:
                assert not (await bare(rooms, closed({**mine, name: other[name]}))).verified, name
            assert not (await bare(rooms, closed({key: mine[key] for key in mine if key != name}))).verified, name

    tell(story)


def test_octets_flipped_anywhere(tell: Callable[[Story], None]) -> None:
    async def story(rooms: Verifying) -> None:
        text = (await rooms.create_proof()).proof.proof
        dice = random.Random(20260105)
        for _ in range(rounds(40)):
            data = bytearray(base64url_decode(text))
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            verdict = await bare(rooms, base64url_encode(bytes(data)))
            assert not verdict.verified
            assert set(verdict.errors) <= set(CheckCode)

    tell(story)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "A",
        "é" * 8,
        "\x00",
        base64url_encode(b"null"),
        base64url_encode(b"[" * 5000),
        base64url_encode(b'{"a":' * 5000),
        base64url_encode(b'{"proof":NaN}'),
        base64url_encode(b"\xff\xfe"),
        base64url_encode(b"9" * 5000),
        "A" * 131_072,
    ],
)
def test_whatever_is_sent_is_a_verdict(tell: Callable[[Story], None], text: str) -> None:
    async def story(rooms: Verifying) -> None:
        verdict = await bare(rooms, text)
        assert (verdict.verified, verdict.errors) == (False, (CheckCode.PROOF_INVALID,))

    tell(story)


def test_each_public_signal_and_their_order(tell: Callable[[Story], None]) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof(domain=SHOP)
        signals = made.proof.public_signals
        edits = [(*signals[:place], signals[place] + "A", *signals[place + 1 :]) for place in range(len(signals))]
        edits += [signals[:-1], (*signals, ""), tuple(reversed(signals)), ()]
        for edit in edits:
            verdict = await rooms.verify(made, public_signals=edit)
            assert verdict.errors == (CheckCode.PUBLIC_SIGNALS_MISMATCH,)

    tell(story)


def test_a_proof_shown_to_another_verifier(tell: Callable[[Story], None]) -> None:
    """Vera takes the proof that Hana's agent gave her to another shop, which gave a challenge of its own."""

    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof(challenge="the challenge of Vera", domain=SHOP)
        shop = asking(challenge="the challenge of the bank", domain="https://bank.example")
        for verdict in (await rooms.verify(made, shop), await rooms.verify_stored(made, shop)):
            assert verdict.errors == (CheckCode.CHALLENGE_MISMATCH, CheckCode.DOMAIN_MISMATCH)

    tell(story)


def test_the_issuer_is_not_whoever_publishes_the_key(tell: Callable[[Story], None]) -> None:
    """Mallory lists Ivo's public key in her own document and renames the method in Hana's proof."""

    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        method = envelope_of(made.proof.proof)
        ivo, mallory = str(rooms.did(rooms.ivo)), str(rooms.did(rooms.mallory))
        renamed = json.loads(json.dumps(method).replace(ivo, mallory))
        assert renamed != method
        real = rooms.reader.read_current
        listed = (await real(rooms.did(rooms.ivo))).head.state.document.to_json()

        async def resolve_forged(did: Any) -> Any:
            found = await real(did)
            state = found.recorded.state
            value = json.loads(json.dumps(listed).replace(ivo, mallory))
            changed = replace(state, document=DidDocument.read(value))
            return replace(found, recorded=replace(found.recorded, state=changed)) if str(did) == mallory else found

        class Reader:
            methods = rooms.reader.methods
            parse = staticmethod(rooms.reader.parse)

        Reader.read_current = staticmethod(resolve_forged)  # type: ignore[attr-defined]
        check = replace(rooms.received.check, issuers=replace(rooms.received.check.issuers, reader=Reader))  # type: ignore[arg-type]
        rooms.received = replace(rooms.received, check_anonymously=check)
        verdict = await bare(rooms, closed(renamed))
        assert verdict.errors == (CheckCode.PROOF_INVALID,)
        assert {item.name: item.ok for item in verdict.checks}["issuerKey"] is True

    tell(story)


def test_a_foreign_proof_is_an_absent_one(tell: Callable[[Story], None]) -> None:
    async def story(rooms: Verifying) -> None:
        made = await rooms.create_proof()
        context = RequestContext("getProof", rooms.caller(rooms.mallory), "r-6")
        refusals: list[IdentityError] = []
        for proof_id in (made.id, "00000000-0000-4000-8000-000000000000", "' OR 1=1 --", "%", ""):
            with pytest.raises(ProofNotFound) as refused:
                await rooms.get(proof_id, context)
            refusals.append(refused.value)
            with pytest.raises(ProofNotFound) as refused:
                await rooms.revoke(proof_id, RevokeProofRequest(), context)
            refusals.append(refused.value)
        assert {(str(error), str(error.details)) for error in refusals} == {("The proof does not exist.", "{}")}
        kept = await StoredProofs.from_store(rooms.store).get(made.id)
        assert kept is not None
        assert kept.revocation is None

    tell(story)


def test_no_value_is_left_behind(tell: Callable[[Story], None], tmp_path: Path) -> None:
    """Neither what the credential says nor, in the rows that people read, what the verifier asked."""

    async def story(rooms: Verifying) -> None:
        predicate = {"attributeName": "income", "type": "gte", "value": THRESHOLD}
        token = rooms.token(action="zkp.prove.income.gte")
        made = await rooms.create_proof(token=token, predicate=predicate)
        vera = rooms.caller(rooms.vera)
        await rooms.verify(made, asking(predicate), caller=vera)
        await rooms.verify(made, asking({**predicate, "value": THRESHOLD + 1}), caller=OPERATOR)
        await rooms.verify_stored(made, caller=OPERATOR)
        await rooms.get(made.id, RequestContext("getProof", OPERATOR, "r-6"))
        await rooms.revoke(made.id, RevokeProofRequest(reason="over"), RequestContext("revokeProof", OPERATOR, "r-7"))
        rows = repr(await StoredTimeline(rooms.store.database).list(TimelineQuery(None)))
        rows += repr(await StoredVerifications(rooms.store.database).list(VerificationQuery(None, None)))
        rows += repr([line.line for line in await audit_of(rooms.store).chain(after=0, limit=10_000)])
        assert "proof.verified" in rows
        for secret in (str(THRESHOLD), str(THRESHOLD + 1), str(VALUES["income"]), str(VALUES["birthDate"])):
            assert secret not in rows
        assert not [one for one in await kept_proofs(rooms.store) if one.holder == "absent"]
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
        assert made.id.encode() in stored
        for value in (VALUES["income"], VALUES["birthDate"]):
            assert str(value).encode() not in stored

    tell(story)
