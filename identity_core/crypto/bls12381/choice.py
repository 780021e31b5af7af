"""Which backend is used: the one that was asked for, or the first of the order that passes its self-test.

A backend is imported and tested at its first use and never before; the answer is kept for the life of the process. One
that fails is reported by ``available`` and never handed out.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from identity_core.crypto.bls12381 import self_test
from identity_core.crypto.bls12381.backend import BackendUnavailable, Curve

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackendState:
    """What became of a backend. ``curve`` is ``None`` where it cannot be used, and ``reason`` then says why."""

    name: str
    curve: Curve | None
    reason: str


def _load_pyblst() -> Curve:
    from identity_core.crypto.bls12381.pyblst_curve import PyblstCurve

    return PyblstCurve()


def _load_arkworks() -> Curve:
    from identity_core.crypto.bls12381.arkworks_curve import ArkworksCurve

    return ArkworksCurve()


def _load_py_ecc() -> Curve:
    # Its import raises the limit to 100,000; a few kilobytes of nested JSON would then end the process instead of raising.
    limit = sys.getrecursionlimit()
    try:
        from identity_core.crypto.bls12381.py_ecc_curve import PyEccCurve
    finally:
        sys.setrecursionlimit(limit)
    return PyEccCurve()


LOADERS: Final[dict[str, Callable[[], Curve]]] = {
    "pyblst": _load_pyblst,
    "arkworks": _load_arkworks,
    "py_ecc": _load_py_ecc,
}
"""The backends in the order of preference."""

_FAULTS: Final = (
    self_test.SelfTestFailed,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a foreign library that is broken or of another version may raise in the self-test."""

_states: dict[str, BackendState] = {}
_preferred: list[str] = []


def select(name: str | None = None) -> Curve:
    """The backend of that name; without a name the one that ``prefer`` named, else the first that works.

    Raises ``BackendUnavailable``. A name is a wish that is granted or refused, never exchanged for another.
    """
    if name is None and _preferred:
        name = _preferred[0]
    refusals: list[str] = []
    for candidate in LOADERS if name is None else (name,):
        state = _state(candidate)
        if state.curve is not None:
            return state.curve
        refusals.append(f"{candidate}: {state.reason}")
    raise BackendUnavailable("; ".join(refusals))


def prefer(name: str | None) -> None:
    """Makes ``select()`` mean this backend in the whole process; ``None`` restores the order. Called once by whoever
    reads the settings. Raises ``BackendUnavailable``."""
    if name is not None:
        select(name)
    _preferred[:] = [] if name is None else [name]


def available() -> list[BackendState]:
    """The state of every backend in the order of preference. Tries each one, which takes up to a second with py_ecc."""
    return [_state(name) for name in LOADERS]


def _state(name: str) -> BackendState:
    if name not in _states:
        _states[name] = _tried(name)
    return _states[name]


def _tried(name: str) -> BackendState:
    loader = LOADERS.get(name)
    if loader is None:
        return BackendState(name, None, f"unknown; the backends are {', '.join(LOADERS)}")
    try:
        curve = loader()
        self_test.run(curve)
    except ImportError as fault:
        return BackendState(name, None, f"not installed ({fault})")
    except _FAULTS as fault:
        _log.warning("curve backend %s failed its self-test and is not used: %s", name, fault)
        return BackendState(name, None, f"failed its self-test ({type(fault).__name__}: {fault})")
    timing = "constant-time multiplication" if curve.constant_time else "not constant-time"
    return BackendState(name, curve, f"works, {timing}")
