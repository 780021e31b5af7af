"""The choice of a backend: order, wish, self-test, laziness."""

from __future__ import annotations

import subprocess
import sys

import pytest

from identity_core.crypto.bls12381 import BackendUnavailable, InvalidPoint, available, choice, prefer, select


@pytest.fixture
def fresh(monkeypatch):
    """No backend has been tried, none is preferred, and the loaders may be exchanged."""
    monkeypatch.setattr(choice, "_states", {})
    monkeypatch.setattr(choice, "_preferred", [])
    loaders = dict(choice.LOADERS)
    monkeypatch.setattr(choice, "LOADERS", loaders)
    return loaders


def absent():
    raise ImportError("No module named 'pyblst'")


def broken(methods):
    """A native curve on which these methods are exchanged; calling it is loading it."""
    for load in (choice.LOADERS["pyblst"], choice.LOADERS["arkworks"]):
        try:
            return type("Broken", (type(load()),), methods)
        except ImportError:
            continue
    pytest.skip("no native backend is installed")


def test_the_first_that_works_is_taken(fresh):
    curve = select()
    first = next(state for state in available() if state.curve is not None)
    assert curve is first.curve
    assert select() is curve
    assert select(curve.name) is curve


def test_one_that_is_not_installed_is_passed_over(fresh):
    fresh["pyblst"] = absent
    assert select().name != "pyblst"
    assert available()[0].reason == "not installed (No module named 'pyblst')"
    with pytest.raises(BackendUnavailable, match="pyblst: not installed"):
        select("pyblst")


def test_an_unknown_name(fresh):
    with pytest.raises(BackendUnavailable, match="unknown; the backends are pyblst, arkworks, py_ecc"):
        select("openssl")


def test_none_at_all(fresh):
    for name in fresh:
        fresh[name] = absent
    with pytest.raises(BackendUnavailable, match="py_ecc"):
        select()


def test_a_preference_holds_for_the_process(fresh):
    prefer("py_ecc")
    assert select().name == "py_ecc"
    prefer(None)
    assert select().name == next(state.name for state in available() if state.curve is not None)


def test_a_preference_that_cannot_be_met_changes_nothing(fresh):
    fresh["arkworks"] = absent
    with pytest.raises(BackendUnavailable):
        prefer("arkworks")
    assert choice._preferred == []


def cut_off_msm(self, points, scalars, /):
    shorter = min(len(points), len(scalars))
    return super(type(self), self).g1_msm(points[:shorter], scalars[:shorter])


def takes_infinity(self, octets, /):
    try:
        return super(type(self), self).octets_to_g1(octets)
    except InvalidPoint:
        return self.g1_identity()


def panics(self, pairs, /):
    raise RuntimeError("panic")


BREAKAGES = {
    "every pairing is one": {"pairing_product_is_one": lambda self, pairs, /: True},
    "no pairing is one": {"pairing_product_is_one": lambda self, pairs, /: False},
    "pairing panics": {"pairing_product_is_one": panics},
    "sums of products are cut off": {"g1_msm": cut_off_msm},
    "refuses no encoding": {"octets_to_g1": takes_infinity},
    "negation does nothing": {"g1_neg": lambda self, a, /: a},
    "everything is equal": {"g1_equal": lambda self, a, b, /: True},
    "everything is the identity": {"g1_is_identity": lambda self, a, /: True},
    "hashes to the generator": {"hash_to_g1": lambda self, message, dst, /: self.g1_generator()},
    "multiplication is missing": {"g1_mul": None},
    "multiplication in G2 does nothing": {"g2_mul": lambda self, a, k, /: a},
}


@pytest.mark.parametrize("methods", BREAKAGES.values(), ids=BREAKAGES)
def test_a_broken_backend_is_never_taken(fresh, methods, caplog):
    fresh["pyblst"] = broken(methods)
    assert not isinstance(select(), fresh["pyblst"])
    # And not available()[0]: that tries py_ecc as well, which takes a second.
    state = choice._states["pyblst"]
    assert (state.name, state.curve) == ("pyblst", None)
    assert state.reason.startswith("failed its self-test")
    assert "pyblst failed its self-test" in caplog.text
    with pytest.raises(BackendUnavailable):
        select("pyblst")


def test_importing_imports_no_backend():
    program = (
        "import sys, identity_core.crypto.bls12381.keys, identity_core.crypto.bbs.interface\n"
        "print([name for name in ('pyblst', 'py_arkworks_bls12381', 'py_ecc') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_backend_raises_the_recursion_limit() -> None:
    """py_ecc's import does; nested JSON would then crash the process."""
    code = (
        "import sys; before = sys.getrecursionlimit(); from identity_core.crypto.bls12381 import available;"
        "assert len(available()) == 3; assert 'py_ecc' in sys.modules; assert sys.getrecursionlimit() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
