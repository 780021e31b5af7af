"""The suite on each backend, and the draft's fixtures (``IDENTITY_VECTORS``, else beside the checkout)."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from identity_core.crypto.bbs.suite import ciphersuite
from identity_core.crypto.bls12381 import BackendUnavailable, select

_CHECKOUT = Path(__file__).parents[4]


@cache
def _read(name: str):
    root = Path(os.environ.get("IDENTITY_VECTORS") or _CHECKOUT / "../shared/vectors")
    return json.loads((root / "bbs-bls12-381-sha-256" / f"{name}.json").read_bytes())


@pytest.fixture(params=["pyblst", "arkworks", "py_ecc"])
def suite(request):
    try:
        return ciphersuite(select(request.param))
    except BackendUnavailable as fault:
        if os.environ.get("CI") or "not installed" not in str(fault):
            raise
        pytest.skip(str(fault))


@pytest.fixture
def vector():
    def read(name: str):
        try:
            return _read(name)
        except FileNotFoundError as fault:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"the vectors are absent: {fault.filename}")

    return read
