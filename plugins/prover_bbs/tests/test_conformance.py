"""The kit's promises, on every curve backend."""

import os

import pytest
from identity_prover_bbs import BbsProver

from identity_core.conformance.prover import ProverConformance
from identity_core.crypto.bls12381 import BackendUnavailable, select


def prover_on(backend):
    try:
        return BbsProver(select(backend), os.urandom)
    except BackendUnavailable as fault:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(fault))


class TestNative(ProverConformance):
    @pytest.fixture(params=["pyblst", "arkworks"])
    def prover(self, request):
        return prover_on(request.param)


class TestPyEcc(ProverConformance):
    rounds = ProverConformance.rounds // 10

    @pytest.fixture
    def prover(self):
        return prover_on("py_ecc")
