"""The suite on each backend, and the draft's fixtures."""

from __future__ import annotations

import pytest

from identity_bbs.suite import ciphersuite
from tests.curves import BACKENDS, curve_on
from tests.vectors.files import vector_json


@pytest.fixture(params=BACKENDS)
def suite(request):
    return ciphersuite(curve_on(request.param))


@pytest.fixture
def vector():
    return lambda name: vector_json(f"bbs-bls12-381-sha-256/{name}.json")
