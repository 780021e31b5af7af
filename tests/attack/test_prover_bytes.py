"""Every byte of a proof: bits, points, scalars, lengths. The same verdict on every backend."""

import os
import random

import pytest

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.backend import G1_GENERATOR, InvalidPoint
from tests.attack.prover_forge import CURVE, Forger, ask, honest, parts, verdict, wrap
from tests.curves import every_curve, sampled_curves

ROUNDS = max(600, int(os.environ.get("IDENTITY_ROUNDS", "0")))
P = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
ASKED = ask(
    ("balance", "gte", 5), ("score", "set_member", [1, 211]), ("height", "eq", "168.25"), ("resident", "eq", True)
)
CONTEXT = Forger(ASKED).context


@pytest.fixture(scope="module")
def data():
    """BBS proof, range proof, set proof."""
    bbs_proof, subs = parts(honest(ASKED))
    return bbs_proof, *subs


def judged(data, curve=CURVE):
    return verdict(ASKED, wrap(ASKED, CONTEXT, data[0], tuple(data[1:])), curve=curve)


def changed(data, part, start, new):
    made = list(data)
    made[part] = made[part][:start] + new + made[part][start + len(new) :]
    return made


def points(data):
    """(part, start) of every point, by what it is."""
    yield from (("Abar", 0, 0), ("Bbar", 0, 48), ("D", 0, 96))
    for part, count in ((1, 4), (2, 2)):
        yield from ((f"sub-proof {part} point {n}", part, 48 * n) for n in range(count))


def scalars(data):
    """(part, start) of every scalar."""
    for part, first in ((0, 144), (1, 192), (2, 96)):
        yield from ((part, start) for start in range(first, len(data[part]), 32))


def test_the_proof_is_accepted_everywhere(data):
    assert {judged(data, curve) for curve in every_curve()} == {True}


def test_no_single_bit_can_change(data):
    source = random.Random(1)
    sizes = [8 * len(part) for part in data]
    places = [(part, bit) for part, size in enumerate(sizes) for bit in range(size)]
    chosen = places if len(places) <= ROUNDS else source.sample(places, ROUNDS)
    accepted = []
    for part, bit in chosen:
        made = [bytearray(one) for one in data]
        made[part][bit // 8] ^= 1 << bit % 8
        if judged([bytes(one) for one in made]) is True:
            accepted.append((part, bit))
    print(f"{len(chosen)} of {len(places)} single-bit flips, {len(accepted)} accepted")
    assert accepted == []


def bad_points():
    generator = bytearray(G1_GENERATOR)
    x = int.from_bytes(generator, "big") & ((1 << 381) - 1)
    yield "x = 1, off the curve", (1 | 1 << 383).to_bytes(48, "big")
    yield "x = 4, on the curve and off the subgroup", (4 | 1 << 383).to_bytes(48, "big")
    yield "infinity", bytes([0xC0]) + bytes(47)
    yield "infinity with the sign", bytes([0xE0]) + bytes(47)
    yield "infinity with junk", bytes([0xC0]) + bytes(46) + b"\x01"
    yield "infinity without the compression bit", bytes([0x40]) + bytes(47)
    yield "zeros", bytes(48)
    yield "x = p", (P | 1 << 383).to_bytes(48, "big")
    yield "x + p", ((x + P) % (1 << 381) | 1 << 383).to_bytes(48, "big")
    yield "no compression bit", x.to_bytes(48, "big")
    yield "ones", b"\xff" * 48


def _fails(data, curve):
    try:
        curve.octets_to_g1(bytes(data))
    except InvalidPoint:
        return True
    return False


@pytest.mark.parametrize("bad", list(bad_points()), ids=lambda bad: bad[0])
def test_every_backend_knows_a_bad_point(bad):
    # Infinity is a point of the subgroup, and refused as a value.
    if bad[0] != "infinity":
        assert all(_fails(bad[1], curve) for curve in every_curve())


@pytest.mark.parametrize("bad", list(bad_points()), ids=lambda bad: bad[0])
def test_bad_points_in_every_place(data, bad):
    for number, (_, part, start) in enumerate(points(data)):
        reasons = {judged(changed(data, part, start, bad[1]), curve) for curve in sampled_curves(number)}
        assert len(reasons) == 1, "the backends disagree"
        assert True not in reasons


def test_good_points_in_the_wrong_place(data):
    """The generator, another point of the same proof, and the negative of each point."""
    found = {name: data[part][start : start + 48] for name, part, start in points(data)}
    for name, part, start in points(data):
        negative = bytearray(found[name])
        negative[0] ^= 0x20
        others = [G1_GENERATOR, bytes(negative), *(point for other, point in found.items() if other != name)]
        for other in others:
            assert judged(changed(data, part, start, other)) == "the proof does not match"


def test_bad_scalars_in_every_place(data):
    for part, start in scalars(data):
        value = int.from_bytes(data[part][start : start + 32], "big")
        for bad in (0, ORDER, ORDER + 1, 2**256 - 1, ORDER - value, value + 1, value - 1):
            assert judged(changed(data, part, start, (bad % 2**256).to_bytes(32, "big"))) is not True
        if value + ORDER < 2**256:
            assert judged(changed(data, part, start, (value + ORDER).to_bytes(32, "big"))) is not True


def test_backends_agree_on_bad_scalars(data):
    for number, (part, start) in enumerate(list(scalars(data))[::9]):
        for bad in (0, ORDER, 2**256 - 1):
            made = changed(data, part, start, bad.to_bytes(32, "big"))
            reasons = {judged(made, curve) for curve in sampled_curves(number)}
            assert len(reasons) == 1, "the backends disagree"
            assert True not in reasons


def test_lengths(data):
    for part in range(3):
        for cut in (1, 31, 32, 48, 64, len(data[part])):
            assert judged([one[:-cut] if n == part else one for n, one in enumerate(data)]) is not True
            assert judged([one[cut:] if n == part else one for n, one in enumerate(data)]) is not True
        for more in (b"\x00", bytes(32), data[part][-32:], data[part]):
            assert judged([one + more if n == part else one for n, one in enumerate(data)]) is not True
    # One response of the range moves into the set's proof.
    assert judged([data[0], data[1][:-32], data[2] + data[1][-32:]]) is not True


def test_sizes_are_those_of_the_protocol():
    for predicates, size in (
        ([("balance", "gte", 5)], 192 + 32 * 33),
        ([("balance", "gte", str(-(2**63) + 1))], 192 + 32 * 34),
        ([("score", "gte", 1)], 192 + 32 * 6),
    ):
        asked = ask(*predicates)
        assert len(parts(honest(asked))[1][0]) == size
    asked = ask(("balance", "gte", 5), ("score", "gte", 1))
    assert len(parts(honest(asked))[1][0]) == 192 + 32 * (32 + 5 - 2 + 2)
