"""The promises of a prover that presents credentials of suite 2, as tests (``ports/prover.py``).

An author whose prover does subclasses ``PresentingProverConformance`` with the fixture ``prover``, beside ``ProverConformance``::

    class TestMyPresentations(PresentingProverConformance):
        @pytest.fixture
        def prover(self): return MyProver()

Other provers do not need this class. The service then issues credentials of suite 1 if no suite is named, and refuses proofs with
suite 2 (``PREDICATE_UNSUPPORTED``). ``IDENTITY_ROUNDS`` sets how many bits are flipped.
"""

from __future__ import annotations

import os
import random
from datetime import timedelta
from typing import Any

import pytest
from identity_bound_credentials.domain.bound_credential import Particulars
from identity_bound_credentials.domain.presentation import Acceptance
from identity_bound_credentials.ports import PresentingProver

from identity_codec.multibase import base64url_decode, base64url_encode
from identity_codec.values import replace
from identity_core.domain.proofs.proof import WitnessInvalid
from identity_core.errors import PredicateNotSatisfied, ProofInvalid
from identity_kit.conformance.presenting_cases import (
    DAY,
    HANDLE,
    REVOKED,
    BoundCase,
    BoundIssuer,
    HolderOfSecret,
    particulars_of,
)
from identity_kit.conformance.prover_cases import HANA, NOW, context, traces


class PresentingProverConformance:
    """The tests of a presenting prover: subclass it with a ``prover`` fixture. A slow prover sets ``rounds`` lower."""

    rounds = int(os.environ.get("IDENTITY_ROUNDS", "40"))

    @pytest.fixture
    def case(self) -> BoundCase:
        """Return a case that Hana's credential satisfies."""
        return BoundCase.build(("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]))

    @pytest.fixture
    def text(self, prover: PresentingProver, case: BoundCase) -> str:
        """Return Hana's presentation of it."""
        return prover.present(case.statement, case.witness, bound=case.bound)

    def test_it_presents(self, prover: PresentingProver, case: BoundCase, text: str) -> None:
        """A presentation is verified, and contains its question."""
        assert isinstance(prover, PresentingProver)
        prover.verify_presentation(case.statement, text, bound=case.bound, acceptance=Acceptance(NOW))
        said = prover.read_presentation(text)
        assert (said.question, said.day) == (case.question, case.statement.day)
        assert said.epochs == (case.issuer.epoch,)
        assert said.bound == case.bound
        assert said.statement({case.issuer.method: case.issuer.public_key}) == case.statement

    @pytest.mark.parametrize(
        "predicate", [("balance", "lt", 5), ("score", "set_member", [1, 2]), ("debt", "gte", 0)], ids=str
    )
    def test_false_statement_is_refused(self, prover: PresentingProver, predicate: Any) -> None:
        """A false predicate, and any about a null, has no presentation; the refusal contains no more."""
        case = BoundCase.build(predicate)
        with pytest.raises(PredicateNotSatisfied) as refusal:
            prover.present(case.statement, case.witness, bound=case.bound)
        assert refusal.value.details == {}, "the refusal says more than that"

    @pytest.mark.parametrize(
        "particulars",
        [particulars_of(last=NOW - DAY), particulars_of(first=NOW + DAY), particulars_of(handle=REVOKED[1])],
        ids=["expired", "not yet valid", "revoked"],
    )
    def test_credential_not_in_force_is_refused(self, prover: PresentingProver, particulars: Particulars) -> None:
        """``PredicateNotSatisfied`` for a credential that is expired, not valid yet, or not in the gap."""
        case = BoundCase.build(("balance", "gte", 5), particulars=particulars)
        with pytest.raises(PredicateNotSatisfied):
            prover.present(case.statement, case.witness, bound=case.bound)

    def test_a_witness_that_is_none(self, prover: PresentingProver, case: BoundCase) -> None:
        """Values that were not signed, another issuer's credential, a gap of another key or epoch, another holder's consent and none are no
        witness."""
        values = replace(case.credential, attributes={**HANA, "balance": 6})
        mallory, otto = BoundIssuer("mallory"), HolderOfSecret("otto")
        for witness in (
            case.changed(credentials=(values,)),
            case.changed(credentials=(mallory.issue(case.holder),)),
            case.changed(gaps=(mallory.gap(),)),
            case.changed(gaps=(case.issuer.gap(epoch=replace(case.issuer.epoch, epoch=case.issuer.epoch.epoch - 1)),)),
            case.changed(consent=otto.agrees(case.question, case.bound)),
            case.changed(consent=None),
        ):
            with pytest.raises(WitnessInvalid) as refusal:
                prover.present(case.statement, witness, bound=case.bound)
            assert refusal.value.__cause__ is None, "the cause may tell a value"

    def test_a_consent_to_something_else(self, prover: PresentingProver, case: BoundCase) -> None:
        """A consent to another question or verifier is no witness: no verifier would take the proof."""
        other = replace(case.bound, context=replace(context(), audience="https://other.example"))
        question = BoundCase.build(("balance", "gte", 6)).question
        for agreed in (case.holder.agrees(case.question, other), case.holder.agrees(question, case.bound)):
            with pytest.raises(WitnessInvalid):
                prover.present(case.statement, case.changed(consent=agreed), bound=case.bound)

    def test_it_is_of_one_statement_context_and_time(
        self, prover: PresentingProver, case: BoundCase, text: str
    ) -> None:
        """``ProofInvalid`` for another question, key, day, epoch, verifier or time."""
        status = case.statement.status[0]
        other_key = BoundIssuer("mallory").public_key
        earlier = replace(status, epoch=replace(status.epoch, epoch=status.epoch.epoch - 1))
        statements = [
            BoundCase.build(("balance", "gte", 6), ("country", "set_member", ["DE", "JP"])).statement,
            BoundCase.build(("balance", "gte", 5)).statement,
            replace(case.statement, keys=(other_key,)),
            replace(case.statement, day=(case.statement.day or 0) + 1),
            replace(case.statement, status=(earlier,)),
            replace(case.statement, status=(replace(status, public_key=other_key),)),
        ]
        contexts = [
            replace(case.bound, context=replace(case.bound.context, **changed))
            for changed in (
                {"audience": "https://other.example"},
                {"nonce": b"another nonce of 16 bytes."},
                {"proof_id": "proof-2"},
            )
        ]
        moments = [NOW - timedelta(hours=1), NOW + timedelta(hours=1), NOW + DAY]
        tries: list[tuple[Any, Any, Any]] = [(one, case.bound, NOW) for one in statements]
        tries += [(case.statement, one, NOW) for one in contexts]
        tries += [(case.statement, case.bound, one) for one in moments]
        for statement, bound, now in tries:
            with pytest.raises(ProofInvalid):
                prover.verify_presentation(statement, text, bound=bound, acceptance=Acceptance(now))

    def test_flipped_bits(self, prover: PresentingProver, case: BoundCase, text: str) -> None:
        """No byte may be changed."""
        data, chosen = base64url_decode(text), random.Random(7)  # noqa: S311 - which bits, and no secret
        for _ in range(self.rounds):
            place = chosen.randrange(8 * len(data))
            changed = bytearray(data)
            changed[place // 8] ^= 1 << place % 8
            with pytest.raises(ProofInvalid):
                prover.verify_presentation(
                    case.statement, base64url_encode(bytes(changed)), bound=case.bound, acceptance=Acceptance(NOW)
                )

    @pytest.mark.parametrize("junk", ["", "e30", "bnVsbA", "W10", "{}", "é" * 40, "A" * 400_000, "e30=", " e30"])
    def test_junk(self, prover: PresentingProver, case: BoundCase, junk: str) -> None:
        """Check that what is not a presentation is ``ProofInvalid``, and nothing else is raised."""
        with pytest.raises(ProofInvalid):
            prover.read_presentation(junk)
        with pytest.raises(ProofInvalid):
            prover.verify_presentation(case.statement, junk, bound=case.bound, acceptance=Acceptance(NOW))

    def test_it_tells_nothing_of_the_holder(
        self, prover: PresentingProver, case: BoundCase, text: str, caplog: Any
    ) -> None:
        """Neither values nor signature, id, subject, handle and commitment show, and two presentations share neither consent nor proof."""
        witness, shown = case.witness, base64url_decode(text) + caplog.text.encode() + repr(prover).encode()
        for name in HANA.keys() - {"country", "debt", "resident"}:
            assert not any(trace in shown for trace in traces(name, HANA[name])), f"{name} shows"
        about = case.credential.particulars
        for secret in (about.id, about.subject, str(HANDLE), base64url_encode(case.credential.signature)):
            assert secret.encode() not in shown
        again = prover.present(case.statement, witness, bound=case.bound)
        assert len(again) == len(text), "the size tells presentations apart"
        assert again != text, "a presentation is repeated"
