"""The pairings of many proofs as one product, and the wrong ones among them by halving.

Everything else of a proof goes into a hash, so that nothing but e(Abar, W) = e(Bbar, BP2) can be checked for many at once. The points
of each proof are multiplied by weights of 128 bits that the verifier draws after it has all proofs: a wrong one hides from a product with a
chance of 2^-128. Proofs under one key share a Miller loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from identity_bbs import core
from identity_bbs.suite import BbsPublicKey, Ciphersuite, Proof

_WEIGHT_OCTETS: Final = 16

Claim = tuple[BbsPublicKey, Proof]
"""e(Abar, W) = e(Bbar, BP2) of a key W and a proof."""


def wrong_groups(suite: Ciphersuite, groups: Sequence[Sequence[Claim]], random: Callable[[int], bytes]) -> set[int]:
    """Return the numbers of the groups of claims that do not hold, each group as a whole. ``random`` gives bytes that no prover can
    foretell.

    One product where all hold; each wrong group costs two more for every halving, and all wrong twice as many as there are groups.
    """
    weighted = [[(key, proof, _weight(random)) for key, proof in group] for group in groups]
    wrong: set[int] = set()
    open_ranges = [range(len(weighted))] if weighted else []
    while open_ranges:
        found = open_ranges.pop()
        if core.pairings_hold(suite, [one for number in found for one in weighted[number]]):
            continue
        if len(found) == 1:
            wrong.add(found[0])
        else:
            middle = len(found) // 2
            open_ranges += [found[:middle], found[middle:]]
    return wrong


def _weight(random: Callable[[int], bytes]) -> int:
    data = random(_WEIGHT_OCTETS)
    if len(data) != _WEIGHT_OCTETS:
        raise ValueError(f"the source of randomness gave {len(data)} of {_WEIGHT_OCTETS} bytes")
    return int.from_bytes(data, "big")
