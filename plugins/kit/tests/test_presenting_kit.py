"""The kit of presenting provers finds the prover that breaks a promise: each of these liars fails a test of it by name."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("identity_prover_bbs")

from identity_kit.conformance import presenting
from identity_kit.conformance.presenting import PresentingProverConformance
from identity_kit.conformance.presenting_cases import BoundCase, particulars_of
from identity_kit.conformance.prover_cases import NOW
from identity_prover_bbs import BbsProver

from identity_bbs.bls12381 import select
from identity_core.errors import ProofInvalid


class Credulous(BbsProver):
    """Takes any presentation that it can read."""

    def verify_presentation(self, statement: Any, text: str, *, bound: Any, acceptance: Any) -> None:
        self.read_presentation(text)


class Timeless(BbsProver):
    """Takes one of any time."""

    def verify_presentation(self, statement: Any, text: str, *, bound: Any, acceptance: Any) -> None:
        now = bound.context.issued_at
        super().verify_presentation(statement, text, bound=bound, acceptance=type(acceptance)(now))


class Chatty(BbsProver):
    """Says the subject of the credential wherever it is shown."""

    subject = ""

    def present(self, statement: Any, witness: Any, *, bound: Any) -> str:
        self.subject = witness.credentials[0].particulars.subject
        return super().present(statement, witness, bound=bound)

    def __repr__(self) -> str:
        return f"Chatty({self.subject})"


class Obliging(BbsProver):
    """Presents the honest case whatever is asked of it."""

    def present(self, statement: Any, witness: Any, *, bound: Any) -> str:
        case = BoundCase.build(("balance", "gte", 5))
        return super().present(case.statement, case.witness, bound=case.bound)


class Silent(BbsProver):
    """Raises something else than it should for what it cannot read."""

    def read_presentation(self, text: str) -> Any:
        try:
            return super().read_presentation(text)
        except ProofInvalid:
            raise ValueError(text) from None


KIT = PresentingProverConformance()
EXPIRED = particulars_of(last=NOW - presenting.DAY)


def broken(prover: BbsProver, name: str, caplog: Any) -> bool:
    """Return whether the test of the kit refuses the prover."""
    case = BoundCase.build(("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]))
    text = BbsProver.present(prover, case.statement, case.witness, bound=case.bound)
    more: dict[str, tuple[Any, ...]] = {
        "test_credential_not_in_force_is_refused": (EXPIRED,),
        "test_junk": (case, "e30"),
        "test_it_tells_nothing_of_the_holder": (case, text, caplog),
        "test_it_is_of_one_statement_context_and_time": (case, text),
        "test_flipped_bits": (case, text),
    }
    try:
        getattr(KIT, name)(prover, *more[name])
    except (AssertionError, ValueError, pytest.fail.Exception):
        return True
    return False


@pytest.mark.parametrize(
    ("liar", "name"),
    [
        (Credulous, "test_flipped_bits"),
        (Credulous, "test_it_is_of_one_statement_context_and_time"),
        (Timeless, "test_it_is_of_one_statement_context_and_time"),
        (Chatty, "test_it_tells_nothing_of_the_holder"),
        (Obliging, "test_credential_not_in_force_is_refused"),
        (Silent, "test_junk"),
    ],
)
def test_a_liar_fails(liar: type[BbsProver], name: str, caplog: Any) -> None:
    prover = liar(select(), os.urandom)
    if isinstance(prover, Chatty):
        prover.subject = "did:example:hana"
    assert broken(prover, name, caplog)
    assert not broken(BbsProver(select(), os.urandom), name, caplog)
