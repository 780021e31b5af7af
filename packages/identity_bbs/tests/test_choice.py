"""The choice of a backend: order, wish, self-test, laziness."""

from __future__ import annotations

import subprocess
import sys

import pytest

from identity_bbs.bls12381 import BackendUnavailable, InvalidPoint, available, choice, select


@pytest.fixture
def fresh(monkeypatch):
    """No backend has been tried, and the loaders may be exchanged."""
    monkeypatch.setattr(choice, "_states", {})
    loaders = dict(choice.LOADERS)
    monkeypatch.setattr(choice, "LOADERS", loaders)
    return loaders


def absent():
    raise ImportError("No module named 'ckzg'")


def broken(methods):
    """A native curve on which these methods are exchanged; calling it is loading it."""
    for load in (choice.LOADERS["blst"], choice.LOADERS["pyblst"]):
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
    fresh["blst"] = absent
    assert select().name != "blst"
    assert available()[0].reason == "not installed (No module named 'ckzg')"
    with pytest.raises(BackendUnavailable, match="blst: not installed"):
        select("blst")


def test_the_state_says_whether_time_depends_on_scalars(fresh):
    timings = {state.name: state.reason for state in available() if state.curve is not None}
    expected = {
        "blst": "works, constant-time multiplication",
        "pyblst": "works, constant-time multiplication",
        "py_ecc": "works, not constant-time",
    }
    assert timings == {name: expected[name] for name in timings}
    assert timings


def test_an_unknown_name(fresh):
    with pytest.raises(BackendUnavailable, match="unknown; the backends are blst, pyblst, py_ecc"):
        select("openssl")


def test_none_at_all(fresh):
    for name in fresh:
        fresh[name] = absent
    with pytest.raises(BackendUnavailable, match="py_ecc"):
        select()


def original(curve):
    return super(type(curve), curve)


def cut_off_msm(self, points, scalars, /):
    shorter = min(len(points), len(scalars))
    return original(self).g1_msm(points[:shorter], scalars[:shorter])


def takes_infinity(self, data, /):
    try:
        return original(self).octets_to_g1(data)
    except InvalidPoint:
        return self.g1_identity()


def takes_infinity_in_g2(self, data, /):
    try:
        return original(self).octets_to_g2(data)
    except InvalidPoint:
        return self.g2_mul(self.g2_generator(), 0)


class Bases:
    """Fixed bases that leave out what ``also`` adds."""

    def __init__(self, bases):
        self.bases = bases

    def msm(self, scalars, indexes=None, *, also=()):
        return self.bases.msm(scalars, indexes)


def forgetful_bases(self, points, /, *, window=None):
    return Bases(original(self).fixed_bases(points, window=window))


def other_bases(self, points, /, *, window=None):
    return original(self).fixed_bases([*reversed(points)], window=window)


def panics(self, pairs, /):
    raise RuntimeError("panic")


# What is broken, and the question of the self-test that finds it.
BREAKAGES = {
    "another generator": ("generator of G1", {"g1_generator": lambda self: self.g1_identity()}),
    "another generator of G2": (
        "generator of G2",
        {"g2_generator": lambda self: original(self).g2_mul(original(self).g2_generator(), 2)},
    ),
    "addition does nothing": ("doubling in G1", {"g1_add": lambda self, a, b, /: a}),
    "negation does nothing": ("negation in G1", {"g1_neg": lambda self, a, /: a}),
    "another identity": ("identity of G1", {"g1_identity": lambda self: self.g1_generator()}),
    "everything is the identity": ("test for the identity of G1", {"g1_is_identity": lambda self, a, /: True}),
    "nothing is the identity": ("test for the identity of G1", {"g1_is_identity": lambda self, a, /: False}),
    "several points are encoded as the first of them": (
        "encoding of several points",
        {"g1s_to_octets": lambda self, points, /: [self.g1_to_octets(points[0])] * len(points)},
    ),
    "everything is equal": ("equality in G1", {"g1_equal": lambda self, a, b, /: True}),
    "everything is the identity of G2": ("test for the identity of G2", {"g2_is_identity": lambda self, a, /: True}),
    "multiplication in G2 does nothing": ("multiplication in G2", {"g2_mul": lambda self, a, k, /: a}),
    "hashes to the generator": (
        "hashing to G1",
        {"hash_to_g1": lambda self, message, dst, /: self.g1_generator()},
    ),
    "multiplication does nothing": ("multiplication in G1", {"g1_mul": lambda self, a, k, /: a}),
    "multiplication is missing": ("'NoneType' object is not callable", {"g1_mul": None}),
    "sums of products are the generator": (
        "sum of products in G1",
        {"g1_msm": lambda self, points, scalars, /: self.g1_generator()},
    ),
    "sums of products are cut off": ("a sum of products of unequal lengths", {"g1_msm": cut_off_msm}),
    "other fixed bases": ("fixed bases", {"fixed_bases": other_bases}),
    "fixed bases alone": ("chosen fixed bases", {"fixed_bases": forgetful_bases}),
    "small multiples are forgotten": (
        "sum of small multiples",
        {"digit_table": lambda self, points, radix, /: original(self).digit_table([*reversed(points)], radix)},
    ),
    "refuses no encoding": ("a point outside the subgroup", {"octets_to_g1": takes_infinity}),
    "refuses no encoding in G2": ("a point the identity", {"octets_to_g2": takes_infinity_in_g2}),
    "no pairing is one": ("pairing product of one", {"pairing_product_is_one": lambda self, pairs, /: False}),
    "every pairing is one": (
        "pairing product of another value",
        {"pairing_product_is_one": lambda self, pairs, /: True},
    ),
    "pairing panics": ("panic", {"pairing_product_is_one": panics}),
}


@pytest.mark.parametrize(("question", "methods"), BREAKAGES.values(), ids=BREAKAGES)
def test_a_broken_backend_is_never_taken(fresh, question, methods, caplog):
    fresh["blst"] = broken(methods)
    assert not isinstance(select(), fresh["blst"])
    # And not available()[0]: that tries py_ecc as well, which takes a second.
    state = choice._states["blst"]
    assert (state.name, state.curve) == ("blst", None)
    assert state.reason.startswith("failed its self-test")
    assert state.reason.endswith(f": {question})")
    assert "blst failed its self-test" in caplog.text
    with pytest.raises(BackendUnavailable):
        select("blst")


def wrong_point(group, right, is_smaller):
    """A method that answers with the first other multiple of the generator whose bytes come before, or after, the right ones."""

    def answer(self, *_):
        curve = original(self)
        generator, multiply, to_octets = (
            (curve.g1_generator(), curve.g1_mul, curve.g1_to_octets)
            if group == "G1"
            else (curve.g2_generator(), curve.g2_mul, curve.g2_to_octets)
        )
        points = (multiply(generator, factor) for factor in range(1, 200))
        return next(point for point in points if to_octets(point) != right and (to_octets(point) < right) is is_smaller)

    return answer


@pytest.mark.parametrize("is_smaller", [True, False], ids=["before it", "after it"])
@pytest.mark.parametrize(
    ("question", "method", "right"),
    [
        ("generator of G1", "g1_generator", choice.G1_GENERATOR),
        ("generator of G2", "g2_generator", choice.G2_GENERATOR),
        ("doubling in G1", "g1_add", choice._DOUBLED_GENERATOR),
        ("multiplication in G1", "g1_mul", choice._DOUBLED_GENERATOR),
        ("multiplication in G2", "g2_mul", choice._PUBLIC),
        ("hashing to G1", "hash_to_g1", choice._HASHED),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value,
)
def test_no_other_point_passes_for_the_right_one(fresh, question, method, right, is_smaller):
    group = "G1" if len(right) == 48 else "G2"
    fresh["blst"] = broken({method: wrong_point(group, right, is_smaller)})
    select()
    assert choice._states["blst"].reason.endswith(f": {question})")


def test_importing_imports_no_backend():
    program = (
        "import sys, identity_bbs.bls12381.keys, identity_bbs.interface\n"
        "print([name for name in ('ckzg', 'pyblst', 'py_ecc') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_backend_raises_the_recursion_limit() -> None:
    """py_ecc's import does; nested JSON would then crash the process."""
    code = (
        "import sys; before = sys.getrecursionlimit(); from identity_bbs.bls12381 import available;"
        "assert len(available()) == 3; assert 'py_ecc' in sys.modules; assert sys.getrecursionlimit() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
