"""The backends of the curve by name: what is not installed skips its tests visibly, and fails in CI, where all are."""

from __future__ import annotations

import os

import pytest

from identity_bbs.bls12381 import BackendUnavailable, Curve, available, select

BACKENDS = ("blst", "pyblst", "py_ecc")


def curve_on(backend: str) -> Curve:
    """The curve on this backend; one that is installed and does not work fails everywhere."""
    try:
        return select(backend)
    except BackendUnavailable as fault:
        if os.environ.get("CI") or "not installed" not in str(fault):
            raise
        pytest.skip(str(fault))


def every_curve() -> list[Curve]:
    """The curves on all backends that are installed, which in CI are all."""
    installed = [state.name for state in available() if os.environ.get("CI") or "not installed" not in state.reason]
    return [select(name) for name in installed]


def sampled_curves(number: int) -> list[Curve]:
    """Return every curve for the first case of several, and for the others those of compiled backends. With ``IDENTITY_ROUNDS`` every
    case has every curve."""
    every = every_curve()
    if number == 0 or os.environ.get("IDENTITY_ROUNDS"):
        return every
    return [curve for curve in every if curve != select("py_ecc")] or every
