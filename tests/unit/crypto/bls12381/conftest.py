"""Every test that takes ``curve`` runs on each backend; one that is not installed skips visibly, and fails in CI."""

from __future__ import annotations

import os

import pytest

from identity_core.crypto.bls12381 import BackendUnavailable, Curve, choice, select


@pytest.fixture(params=["blst", "pyblst", "arkworks", "py_ecc"])
def curve(request, monkeypatch):
    try:
        chosen: Curve = select(request.param)
    except BackendUnavailable as fault:
        if os.environ.get("CI") or "not installed" not in str(fault):
            raise
        pytest.skip(str(fault))
    # What takes the first backend that works takes this one too.
    monkeypatch.setattr(choice, "LOADERS", {request.param: choice.LOADERS[request.param], **choice.LOADERS})
    return chosen
