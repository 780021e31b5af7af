"""The promises of a prover, as tests (``ports/prover.py``).

An author subclasses ``ProverConformance`` with one fixture, and a second one when the credentials are not BBS-signed::

    class TestMyProver(ProverConformance):
        @pytest.fixture
        def prover(self): return MyProver()

        @pytest.fixture
        def issuer(self): return MyIssuer()     # key, credential(schema, values)

The kit treats a proof as text, like any outside reader. The author must test soundness against a malicious prover, because only the
author knows the possible attacks. ``IDENTITY_ROUNDS`` sets how many bits are flipped.
"""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from identity_client.action import PredicateType
from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.values import replace
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.proof import Context, Statement, WitnessInvalid, ZkProof
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported, ProofInvalid
from identity_core.ports.prover import Prover
from identity_kit.conformance.prover_cases import (
    FAILS,
    HANA,
    HOLDS,
    ISSUED,
    IVO,
    NOW,
    SCHEMA,
    UNSUPPORTED,
    Asked,
    BbsIssuer,
    context,
    runs,
    statement,
    traces,
    views,
)


class ProverConformance:
    """The tests of a prover: subclass it with a ``prover`` fixture. A slow prover sets ``rounds`` lower."""

    rounds = int(os.environ.get("IDENTITY_ROUNDS", "200"))

    @pytest.fixture
    def issuer(self) -> Any:
        """Return an issuer of credentials that the prover understands."""
        return BbsIssuer()

    @pytest.fixture
    def asked(self, issuer: Any) -> Statement:
        """Return a statement that Hana's credential satisfies."""
        return statement(issuer.key, ("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]))

    @pytest.fixture
    def proof(self, prover: Prover, issuer: Any, asked: Statement) -> ZkProof:
        """Return Hana's proof of it."""
        return prover.prove(asked, issuer.credential(SCHEMA, HANA), context=context())

    def test_it_is_a_prover(self, prover: Prover) -> None:
        """Check that it has the port's members and names predicates of the document."""
        assert isinstance(prover, Prover)
        assert prover.suite
        assert prover.predicate_types <= {*map(str, PredicateType)}

    @pytest.mark.parametrize("predicate", HOLDS, ids=str)
    def test_true_statement_is_proved(self, prover: Prover, issuer: Any, predicate: Asked) -> None:
        """A true predicate has a proof, which verifies and contains its question."""
        if predicate[1] not in prover.predicate_types:
            pytest.skip("not offered")
        asked = statement(issuer.key, predicate)
        made = prover.prove(asked, issuer.credential(SCHEMA, HANA), context=context())
        prover.verify(asked, made, context=context(), now=NOW)
        said = prover.read(made.proof)
        assert said.statement(issuer.key.public_key) == asked, "the proof says something else than was asked"
        assert said.context == context()
        assert made.public_signals[:3] == (prover.suite, issuer.key.verification_method, SCHEMA.id)
        assert (made.predicate_type, made.proof_id) == (predicate[1], "proof-1")

    @pytest.mark.parametrize("predicate", FAILS, ids=str)
    def test_false_statement_is_refused(self, prover: Prover, issuer: Any, predicate: Asked) -> None:
        """A false predicate, and any predicate about a null, has no proof."""
        with pytest.raises(PredicateNotSatisfied) as refusal:
            prover.prove(statement(issuer.key, predicate), issuer.credential(SCHEMA, HANA), context=context())
        assert refusal.value.details == {}, "the refusal says more than that"

    @pytest.mark.parametrize("predicate", UNSUPPORTED, ids=str)
    def test_unknown_question_is_unsupported(self, prover: Prover, issuer: Any, predicate: Asked) -> None:
        """A predicate of the wrong name, type, form or range is refused before any value is looked at."""
        with pytest.raises(PredicateUnsupported):
            prover.prove(statement(issuer.key, predicate), issuer.credential(SCHEMA, HANA), context=context())

    def test_several_predicates_of_one_attribute(self, prover: Prover, issuer: Any) -> None:
        """Two bounds and a set on one attribute are one statement; a contradiction is unsupported."""
        witness = issuer.credential(SCHEMA, HANA)
        asked = statement(
            issuer.key, ("score", "gte", 200), ("score", "lt", 212), ("score", "set_member", [1, 201, 211, 250])
        )
        prover.verify(asked, prover.prove(asked, witness, context=context()), context=context(), now=NOW)
        with pytest.raises(PredicateUnsupported):
            prover.prove(statement(issuer.key, ("score", "gt", 9), ("score", "lt", 10)), witness, context=context())

    @pytest.mark.parametrize(
        "change", [{"balance": 7_318_204_915_664}, {"name": "Hana"}, {"debt": 0}, {"resident": False}], ids=str
    )
    def test_a_witness_that_was_not_signed(self, prover: Prover, issuer: Any, asked: Statement, change: Any) -> None:
        """Values that the issuer did not sign are no witness."""
        witness = replace(issuer.credential(SCHEMA, HANA), attributes={**HANA, **change})
        with pytest.raises(WitnessInvalid) as refusal:
            prover.prove(asked, witness, context=context())
        assert refusal.value.__cause__ is None, "the cause may tell a value"

    def test_a_witness_of_another_issuer(self, prover: Prover, issuer: Any, asked: Statement) -> None:
        """A credential of another issuer is no witness."""
        with pytest.raises(WitnessInvalid):
            prover.prove(asked, BbsIssuer("mallory").credential(SCHEMA, HANA), context=context())

    @pytest.mark.parametrize(
        "change",
        [
            {"audience": "https://other.example"},
            {"nonce": b"kit nonce of 16 and more octet5"},
            {"issued_at": ISSUED + timedelta(seconds=1)},
            {"expires_at": ISSUED + timedelta(minutes=11)},
            {"proof_id": "proof-2"},
            {"capability": None},
            {"capability": bytes(32)},
            {"agent": "did:example:aki"},
        ],
        ids=str,
    )
    def test_another_context(self, prover: Prover, asked: Statement, proof: ZkProof, change: Any) -> None:
        """A proof is good for its own context and no other, whichever field differs, and however it is relabelled."""
        other: Context = replace(context(), **change)
        relabelled = replace(proof, proof_id=other.proof_id)
        for presented in (proof, relabelled):
            with pytest.raises(ProofInvalid):
                prover.verify(asked, presented, context=other, now=NOW)

    @pytest.mark.parametrize("seconds", [-61, 600, 3600])
    def test_time(self, prover: Prover, asked: Statement, proof: ZkProof, seconds: int) -> None:
        """A proof is refused before its time, at its end and after it."""
        with pytest.raises(ProofInvalid):
            prover.verify(asked, proof, context=context(), now=ISSUED + timedelta(seconds=seconds))

    @pytest.mark.parametrize(
        "predicates",
        [
            (("balance", "gte", 6), ("country", "set_member", ["DE", "JP"])),
            (("balance", "gte", 4), ("country", "set_member", ["DE", "JP"])),
            (("balance", "gt", 5), ("country", "set_member", ["DE", "JP"])),
            (("debt", "gte", 5), ("country", "set_member", ["DE", "JP"])),
            (("score", "gte", 5), ("country", "set_member", ["DE", "JP"])),
            (("balance", "gte", 5), ("name", "set_member", ["DE", "JP"])),
            (("balance", "gte", 5), ("country", "set_member", ["DE", "ES", "JP"])),
            (("balance", "gte", 5), ("country", "eq", "JP")),
            (("country", "set_member", ["DE", "JP"]), ("balance", "gte", 5)),
            (("balance", "gte", 5),),
            (("country", "set_member", ["DE", "JP"]),),
            (("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]), ("score", "gte", 5)),
        ],
        ids=str,
    )
    def test_another_statement(self, prover: Prover, issuer: Any, proof: ZkProof, predicates: Any) -> None:
        """A proof is good for the predicates that it was made for: same attributes, values and order."""
        with pytest.raises(ProofInvalid):
            prover.verify(statement(issuer.key, *predicates), proof, context=context(), now=NOW)

    def test_another_issuer_or_schema(self, prover: Prover, asked: Statement, proof: ZkProof) -> None:
        """A proof is good for one issuer's key under one name, and for one signed header."""
        other = BbsIssuer("mallory").key
        for issuer in (
            other,
            replace(asked.issuer, public_key=other.public_key),
            replace(asked.issuer, verification_method=other.verification_method),
            replace(asked.issuer, public_key=bytes(96)),
            replace(asked.issuer, public_key=b""),
        ):
            with pytest.raises(ProofInvalid):
                prover.verify(replace(asked, issuer=issuer), proof, context=context(), now=NOW)
        for schema in (replace(SCHEMA, id="urn:other"), Schema(SCHEMA.id, SCHEMA.attributes[:-1])):
            with pytest.raises(ProofInvalid):
                prover.verify(replace(asked, schema=schema), proof, context=context(), now=NOW)

    def test_flipped_bits(self, prover: Prover, asked: Statement, proof: ZkProof) -> None:
        """No single bit of a proof can change: neither of its text, nor of what the text encodes."""
        chosen = random.Random(proof.proof)  # noqa: S311 -- which bits are flipped is not a secret
        data, text = base64url_decode(proof.proof), proof.proof.encode()
        ends = [(raw, 8 * len(raw) - 1 - bit) for raw in (data, text) for bit in range(8)]
        flips = ends + [(raw, chosen.randrange(8 * len(raw))) for _ in range(self.rounds // 2) for raw in (data, text)]
        for raw, bit in flips:
            flipped = bytearray(raw)
            flipped[bit // 8] ^= 1 << bit % 8
            changed = base64url_encode(bytes(flipped)) if raw is data else flipped.decode("latin-1")
            with pytest.raises(ProofInvalid):
                prover.verify(asked, replace(proof, proof=changed), context=context(), now=NOW)

    def test_flipped_signals(self, prover: Prover, asked: Statement, proof: ZkProof) -> None:
        """The public signals, the type and the id belong to the proof."""
        signals = proof.public_signals
        others = [(*signals[:index], signals[index] + " ", *signals[index + 1 :]) for index in range(len(signals))]
        changes: list[dict[str, Any]] = [{"public_signals": other} for other in (*others, (), signals[:-1])]
        changes += [{"predicate_type": "gte"}, {"proof_id": "proof-2"}]
        for change in changes:
            with pytest.raises(ProofInvalid):
                prover.verify(asked, replace(proof, **change), context=context(), now=NOW)

    @pytest.mark.parametrize("junk", ["", "e30", "bnVsbA", "W10", "{}", "é" * 40, "A" * 400_000, "e30=", " e30"])
    def test_junk(self, prover: Prover, asked: Statement, proof: ZkProof, junk: str) -> None:
        """Check that what is not a proof is ``ProofInvalid``, and nothing else is raised."""
        with pytest.raises(ProofInvalid):
            prover.read(junk)
        with pytest.raises(ProofInvalid):
            prover.verify(asked, replace(proof, proof=junk), context=context(), now=NOW)

    def test_a_proof_tells_no_value(self, prover: Prover, issuer: Any, asked: Statement, caplog: Any) -> None:
        """Neither the values nor the signature show in a proof, a refusal, a representation or a log line."""
        witness = issuer.credential(SCHEMA, HANA)
        made = prover.prove(asked, witness, context=context())
        with pytest.raises(PredicateNotSatisfied) as refusal:
            prover.prove(statement(issuer.key, ("balance", "lt", 5)), witness, context=context())
        told = f"{caplog.text} {refusal.value!r} {refusal.value.details} {witness!r} {prover!r}".encode()
        shown = views(made) + told
        for name, value in HANA.items():
            assert not any(trace in shown for trace in traces(name, value)), f"{name} shows"
        signature = witness.signature
        for start in range(0, len(signature) - 16, 8):
            piece = signature[start : start + 16]
            assert piece not in shown, "the signature shows"
            assert piece.hex().encode() not in shown, "the signature shows"

    def test_proofs_cannot_be_linked(self, prover: Prover, issuer: Any, asked: Statement) -> None:
        """Two proofs of one holder share nothing that a proof of another holder would not have too, not even the size."""
        hana, ivo = (issuer.credential(SCHEMA, {**HANA, **own}) for own in ({}, {**IVO, "balance": 6}))
        first, second = (prover.prove(asked, hana, context=context(f"proof-{n}")) for n in (1, 2))
        other = prover.prove(asked, ivo, context=context("proof-3"))
        assert len(first.proof) == len(second.proof) == len(other.proof), "the size tells holders apart"
        seen = [views(made) for made in (first, second)]
        public = runs(views(other), 6)
        # A run that begins or ends in what everybody's proof says reaches over a border by a chance of few bits.
        shared = {run for run in runs(seen[0], 12) & runs(seen[1], 12) if not {run[:6], run[6:]} & public}
        assert not shared, "two proofs of one credential share bytes"
        again = prover.prove(asked, hana, context=context("proof-1"))
        assert again.proof != first.proof, "a proof is repeated"

    def test_threads(self, prover: Prover, issuer: Any, asked: Statement) -> None:
        """One prover may be used from several threads."""
        witness = issuer.credential(SCHEMA, HANA)

        def work(number: int) -> None:
            of = context(f"proof-{number}")
            prover.verify(asked, prover.prove(asked, witness, context=of), context=of, now=NOW)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(8)))
