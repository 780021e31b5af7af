"""BLS12-381 behind one small interface, on three libraries: pyblst, py_arkworks_bls12381 and py_ecc.

Importing this package imports none of them. Scalars are integers modulo ``ORDER``; no field arithmetic here is ours.
"""

from __future__ import annotations

from identity_core.crypto.bls12381.backend import (
    G1,
    G2,
    ORDER,
    BackendUnavailable,
    Curve,
    FixedBases,
    InvalidPoint,
)
from identity_core.crypto.bls12381.choice import BackendState, available, select
from identity_core.crypto.bls12381.fixed_bases import DigitTable

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
    "available",
    "select",
]
