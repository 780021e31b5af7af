"""The suite on each backend, and the draft's fixtures."""

from __future__ import annotations

import os

import pytest

from identity_core.crypto.bbs.suite import ciphersuite
from identity_core.crypto.bls12381 import BackendUnavailable, select
from tests.vectors.files import vector_json


@pytest.fixture(params=["blst", "pyblst", "arkworks", "py_ecc"])
def suite(request):
    try:
        return ciphersuite(select(request.param))
    except BackendUnavailable as fault:
        if os.environ.get("CI") or "not installed" not in str(fault):
            raise
        pytest.skip(str(fault))


@pytest.fixture
def vector():
    return lambda name: vector_json(f"bbs-bls12-381-sha-256/{name}.json")
