"""The choice of the backend: the requested one, or the first in order that passes its self-test.

A backend is imported and tested at its first use and never before; the answer is kept for the life of the process. One
that fails is reported by ``available`` and never handed out.

Each answer that is known comes from elsewhere: RFC 9380 appendix J.9.1, the BBS draft's key pair, the doubled generator of the ZCash
format. The refusals are the encodings that the libraries are known to treat differently.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Final, NamedTuple

from identity_bbs.bls12381.backend import G1_GENERATOR, G2_GENERATOR, ORDER, BackendUnavailable, Curve, InvalidPoint

_DOUBLED_GENERATOR: Final = bytes.fromhex(
    "a572cbea904d67468808c8eb50a9450c9721db309128012543902d0ac358a62ae28f75bb8f1c7c42c39a8c5529bf0f4e"
)
_HASH_MESSAGE: Final = b"abc"
_HASH_DST: Final = b"QUUX-V01-CS02-with-BLS12381G1_XMD:SHA-256_SSWU_RO_"
_HASHED: Final = bytes.fromhex(
    "83567bc5ef9c690c2ab2ecdf6a96ef1c139cc0b2f284dca0a9a7943388a49a3aee664ba5379a7655d3c68900be2f6903"
)
_SECRET: Final = 0x60E55110F76883A13D030B2F6BD11883422D5ABDE717569FC0731F51237169FC
_PUBLIC: Final = bytes.fromhex(
    "a820f230f6ae38503b86c70dc50b61c58a77e45c39ab25c0652bbaa8fa136f2851bd4781c9dcde39fc9d1d52c9e60268"
    "061e7d7632171d91aa8d460acee0e96f1e7c4cfb12d3ff9ab5d5dc91c277db75c845d649ef3c4f63aebc364cd55ded0c"
)
_INFINITY: Final = b"\xc0" + bytes(47)
_REFUSED_IN_G1: Final = {
    "outside the subgroup": b"\x80" + bytes(46) + b"\x04",
    "off the curve": b"\x80" + bytes(46) + b"\x01",
    "the identity": _INFINITY,
    "the identity with a sign": b"\xe0" + bytes(47),
    "the identity with junk": b"\xc0" + bytes(46) + b"\x01",
    "too short": G1_GENERATOR[:-1],
    "without the flag of compression": bytes([G1_GENERATOR[0] & 0x7F]) + G1_GENERATOR[1:],
}
_REFUSED_IN_G2: Final = {"the identity": _INFINITY + bytes(48), "too long": G2_GENERATOR + b"\x00"}


class SelfTestFailed(Exception):
    """The backend gave a wrong answer; the text names the question."""


def check_answers(curve: Curve) -> None:
    """Raise ``SelfTestFailed`` at the first wrong answer; a broken backend may raise anything else."""
    _check_groups(curve)
    _check_products(curve)
    _check_refusals(curve)
    _check_pairing(curve)


def _demand(answer: bool, question: str) -> None:
    if not answer:
        raise SelfTestFailed(question)


def _check_groups(curve: Curve) -> None:
    generator, identity = curve.g1_generator(), curve.g1_identity()
    double = curve.g1_add(generator, generator)
    _demand(curve.g1_to_octets(generator) == G1_GENERATOR, "generator of G1")
    _demand(curve.g2_to_octets(curve.g2_generator()) == G2_GENERATOR, "generator of G2")
    _demand(curve.g1_to_octets(double) == _DOUBLED_GENERATOR, "doubling in G1")
    _demand(curve.g1_equal(curve.g1_add(double, curve.g1_neg(generator)), generator), "negation in G1")
    _demand(curve.g1_equal(curve.g1_add(identity, generator), generator), "identity of G1")
    _demand(curve.g1_is_identity(identity) and not curve.g1_is_identity(generator), "test for the identity of G1")
    _demand(not curve.g1_equal(generator, double), "equality in G1")
    data = [_DOUBLED_GENERATOR, _INFINITY, G1_GENERATOR]
    _demand(curve.g1s_to_octets([double, identity, generator]) == data, "encoding of several points")
    _demand(not curve.g2_is_identity(curve.g2_generator()), "test for the identity of G2")
    _demand(curve.g2_to_octets(curve.g2_mul(curve.g2_generator(), _SECRET)) == _PUBLIC, "multiplication in G2")
    _demand(curve.g1_to_octets(curve.hash_to_g1(_HASH_MESSAGE, _HASH_DST)) == _HASHED, "hashing to G1")


def _check_products(curve: Curve) -> None:
    generator = curve.g1_generator()
    double = curve.g1_mul(generator, ORDER + 2)
    _demand(curve.g1_to_octets(double) == _DOUBLED_GENERATOR, "multiplication in G1")
    _demand(curve.g1_is_identity(curve.g1_msm([double, generator], [_SECRET, -2 * _SECRET])), "sum of products in G1")
    bases = curve.fixed_bases([generator, double], window=4)
    _demand(curve.g1_is_identity(bases.msm([-2 * _SECRET, _SECRET])), "fixed bases")
    _demand(curve.g1_equal(bases.msm([ORDER - 1], [0], also=[(double, 1)]), generator), "chosen fixed bases")
    _demand(curve.g1_is_identity(curve.g1_public_msm([double, generator], [_SECRET, -2 * _SECRET])), "public products")
    sums = curve.point_sums([generator]).grown([double])
    _demand(curve.g1_is_identity(sums.sum([-2 * _SECRET, _SECRET])), "sums over many points")
    digits = curve.digit_table([generator, double], 4)
    _demand(curve.g1_equal(digits.sum([2, 3]), curve.g1_mul(generator, 8)), "sum of small multiples")
    try:
        curve.g1_msm([generator, double], [1])
    except ValueError:
        return
    raise SelfTestFailed("a sum of products of unequal lengths")


def _check_refusals(curve: Curve) -> None:
    for decode, refused in ((curve.octets_to_g1, _REFUSED_IN_G1), (curve.octets_to_g2, _REFUSED_IN_G2)):
        for name, wrong in refused.items():
            try:
                decode(wrong)
            except InvalidPoint:
                continue
            raise SelfTestFailed(f"a point {name}")


def _check_pairing(curve: Curve) -> None:
    double, key = curve.octets_to_g1(_DOUBLED_GENERATOR), curve.octets_to_g2(_PUBLIC)
    pairs = [(double, key), (curve.g1_mul(curve.g1_generator(), -2 * _SECRET), curve.g2_generator())]
    _demand(curve.pairing_product_is_one(pairs), "pairing product of one")
    _demand(not curve.pairing_product_is_one(pairs[:1]), "pairing product of another value")


_log = logging.getLogger(__name__)


class BackendState(NamedTuple):
    """The state of a backend. ``curve`` is ``None`` if it cannot be used; ``reason`` states why."""

    name: str
    curve: Curve | None
    reason: str


def _load_blst() -> Curve:
    from identity_bbs.bls12381.blst import BlstCurve

    return BlstCurve()


def _load_pyblst() -> Curve:
    from identity_bbs.bls12381.pyblst import PyblstCurve

    return PyblstCurve()


def _load_py_ecc() -> Curve:
    # Its import raises the limit to 100,000; a few kilobytes of nested JSON would then end the process instead of raising.
    limit = sys.getrecursionlimit()
    try:
        from identity_bbs.bls12381.py_ecc import PyEccCurve
    finally:
        sys.setrecursionlimit(limit)
    return PyEccCurve()


LOADERS: Final[dict[str, Callable[[], Curve]]] = {"blst": _load_blst, "pyblst": _load_pyblst, "py_ecc": _load_py_ecc}
"""The backends in the order of preference."""

_FAULTS: Final = (
    SelfTestFailed,
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


def select(name: str | None = None) -> Curve:
    """Return the backend of that name; without a name the first that works.

    Raises ``BackendUnavailable``. A name is a wish that is granted or refused, never exchanged for another.
    """
    refusals: list[str] = []
    for candidate in LOADERS if name is None else (name,):
        state = _state(candidate)
        if state.curve is not None:
            return state.curve
        refusals.append(f"{candidate}: {state.reason}")
    raise BackendUnavailable("; ".join(refusals))


def available() -> list[BackendState]:
    """Return the state of every backend in the order of preference. Tries each one, which takes up to a second with py_ecc."""
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
        check_answers(curve)
    except ImportError as fault:
        return BackendState(name, None, f"not installed ({fault})")
    except _FAULTS as fault:
        _log.warning("curve backend %s failed its self-test and is not used: %s", name, fault)
        return BackendState(name, None, f"failed its self-test ({type(fault).__name__}: {fault})")
    timing = "constant-time multiplication" if curve.constant_time else "not constant-time"
    return BackendState(name, curve, f"works, {timing}")
