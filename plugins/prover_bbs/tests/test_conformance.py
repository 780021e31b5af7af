"""The kit's promises, on every curve backend."""

import os

import pytest
from identity_prover_bbs import BbsProver

from identity_core.conformance.prover import ProverConformance
from identity_core.crypto.bls12381 import BackendUnavailable, select


class TestBbsProver(ProverConformance):
    @pytest.fixture(params=["pyblst", "arkworks", "py_ecc"])
    def prover(self, request):
        try:
            return BbsProver(select(request.param), os.urandom)
        except BackendUnavailable as fault:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(fault))
