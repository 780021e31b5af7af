"""The kit's promises, on every curve backend."""

import os

import pytest
from identity_kit.conformance.presenting import PresentingProverConformance
from identity_kit.conformance.prover import ProverConformance
from identity_kit.conformance.prover_cases import HANA, HOLDS, SCHEMA, BbsIssuer, context, statement
from identity_prover_bbs import BbsProver

from tests.curves import curve_on

# Which bound it is and of which type of attribute is forgotten before the curve comes in: a range of 64 bits and a small one, an
# equality, a set of numbers and one of strings, a disclosed string and a disclosed boolean remain.
KINDS = {
    ("balance", "gte"),
    ("score", "gte"),
    ("height", "eq"),
    ("birthDate", "set_member"),
    ("country", "set_member"),
    ("country", "eq"),
    ("resident", "eq"),
}
ONE_OF_EACH_KIND = [predicate for predicate in HOLDS if predicate[:2] in KINDS]


def prover_on(backend):
    return BbsProver(curve_on(backend), os.urandom)


class TestNative(ProverConformance):
    @pytest.fixture(params=["blst", "pyblst"])
    def prover(self, request):
        return prover_on(request.param)


class TestPresentations(PresentingProverConformance):
    @pytest.fixture(scope="class", params=["blst", "pyblst"])
    @classmethod
    def prover(cls, request):
        return prover_on(request.param)


@pytest.mark.nightly
class TestPyEcc(ProverConformance):
    """A run takes seconds where the others take milliseconds, and gives the same bytes (``test_parity.py``): here one
    proof serves all that only present one, and what is proved is one predicate of each kind."""

    rounds = ProverConformance.rounds // 10

    @pytest.fixture(scope="class")
    @classmethod
    def prover(cls):
        return prover_on("py_ecc")

    @pytest.fixture(scope="class")
    @classmethod
    def issuer(cls):
        return BbsIssuer()

    @pytest.fixture(scope="class")
    @classmethod
    def asked(cls, issuer):
        return statement(issuer.key, ("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]))

    @pytest.fixture(scope="class")
    @classmethod
    def proof(cls, prover, issuer, asked):
        return prover.prove(asked, issuer.credential(SCHEMA, HANA), context=context())

    @pytest.mark.parametrize("predicate", ONE_OF_EACH_KIND, ids=str)
    def test_true_statement_is_proved(self, prover, issuer, predicate):
        super().test_true_statement_is_proved(prover, issuer, predicate)
