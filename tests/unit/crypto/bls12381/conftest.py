"""Every test that takes ``curve`` runs on each backend."""

from __future__ import annotations

import pytest

from identity_bbs.bls12381 import choice
from tests.curves import BACKENDS, curve_on


@pytest.fixture(params=BACKENDS)
def curve(request, monkeypatch):
    chosen = curve_on(request.param)
    # What takes the first backend that works takes this one too.
    monkeypatch.setattr(choice, "LOADERS", {request.param: choice.LOADERS[request.param], **choice.LOADERS})
    return chosen
