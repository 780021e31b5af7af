"""BLS12-381 behind one small interface, on three libraries: blst, pyblst and py_ecc.

Importing this package imports none of them. Scalars are integers modulo ``ORDER``; no field arithmetic here is ours.
"""

from __future__ import annotations

from identity_bbs.bls12381.backend import (
    G1,
    G2,
    ORDER,
    BackendUnavailable,
    Curve,
    DigitTable,
    FixedBases,
    InvalidPoint,
    PointSums,
)
from identity_bbs.bls12381.choice import BackendState, available, select

__all__ = [
    "G1",
    "G2",
    "ORDER",
    "BackendState",
    "BackendUnavailable",
    "Curve",
    "DigitTable",
    "FixedBases",
    "InvalidPoint",
    "PointSums",
    "available",
    "select",
]
