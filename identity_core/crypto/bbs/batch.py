"""The pairings of many proofs as one product, and the wrong ones among them by halving.

Everything else of a proof goes into a hash, so that nothing but e(Abar, W) = e(Bbar, BP2) can be checked for many at once. The points
of each proof are multiplied by weights of 128 bits that the verifier draws after it has all proofs: a wrong one hides from a product with a
chance of 2^-128. Proofs under one key share a Miller loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Final, NamedTuple

from identity_core.crypto.bbs.suite import BbsPublicKey, Ciphersuite, Proof
from identity_core.crypto.bls12381 import G1, G2, Curve

_WEIGHT_OCTETS: Final = 16

Claim = tuple[BbsPublicKey, Proof]
"""e(Abar, W) = e(Bbar, BP2) of a key W and a proof."""


class _Sum(NamedTuple):
    """The weighted sums of Abar for each key, with its point, and of Bbar for all."""

    left: dict[bytes, tuple[G1, G2]]
    right: G1


def wrong_groups(suite: Ciphersuite, groups: Sequence[Sequence[Claim]], random: Callable[[int], bytes]) -> set[int]:
    """The numbers of the groups of claims that do not hold, each group as a whole. ``random`` gives octets that no prover can foretell.

    One product where all hold; each wrong group costs two more for every halving, and all wrong twice as many as there are groups.
    """
    sums = [_weighted(suite.curve, group, random) for group in groups]
    wrong: set[int] = set()
    open_ranges = [range(len(sums))] if sums else []
    while open_ranges:
        found = open_ranges.pop()
        if _holds(suite.curve, [sums[number] for number in found]):
            continue
        if len(found) == 1:
            wrong.add(found[0])
        else:
            middle = len(found) // 2
            open_ranges += [found[:middle], found[middle:]]
    return wrong


def _weighted(curve: Curve, group: Sequence[Claim], random: Callable[[int], bytes]) -> _Sum:
    one = _Sum({}, curve.g1_identity())
    for key, proof in group:
        octets = random(_WEIGHT_OCTETS)
        if len(octets) != _WEIGHT_OCTETS:
            raise ValueError(f"the source of randomness gave {len(octets)} of {_WEIGHT_OCTETS} octets")
        weight = int.from_bytes(octets, "big")
        left = {key.octets: (curve.g1_mul(proof.a_bar, weight), key.point)}
        one = _joined(curve, one, _Sum(left, curve.g1_mul(proof.b_bar, weight)))
    return one


def _joined(curve: Curve, one: _Sum, other: _Sum) -> _Sum:
    left = dict(one.left)
    for octets, (point, key) in other.left.items():
        left[octets] = (curve.g1_add(left[octets][0], point) if octets in left else point, key)
    return _Sum(left, curve.g1_add(one.right, other.right))


def _holds(curve: Curve, sums: Sequence[_Sum]) -> bool:
    total = reduce(partial(_joined, curve), sums)
    return curve.pairing_product_is_one([*total.left.values(), (curve.g1_neg(total.right), curve.g2_generator())])
