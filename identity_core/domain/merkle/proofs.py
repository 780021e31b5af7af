"""Inclusion and consistency proofs: RFC 6962 §2.1.1 and §2.1.2; verified as RFC 9162 §2.1.3.2 and §2.1.4.2 say.

A proof is a list of hashes, each over a span of leaves. Which spans follows from the sizes alone (``inclusion_spans``,
``consistency_spans``); a span is made of complete subtrees (``subtrees``), and those are what storage can give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from identity_core.domain.merkle.refusals import Malformed, Refuted
from identity_core.domain.merkle.tree import EMPTY_ROOT, node_hash

Span = tuple[int, int]
"""Leaves ``first`` to ``end``, the end not included."""

Subtree = tuple[int, int]
"""(height, number): the complete subtree over the leaves number·2^height to (number+1)·2^height."""

NodeAt = Callable[[int, int], bytes]


def inclusion_spans(index: int, size: int) -> list[Span]:
    """The spans of the proof that leaf ``index`` is in the tree of ``size``, the leaf's sibling first."""
    if not 0 <= index < size:
        raise ValueError("the leaf is not in the tree")
    first, end, spans = 0, size, []
    while end - first > 1:
        split = first + _split(end - first)
        if index < split:
            spans.append((split, end))
            end = split
        else:
            spans.append((first, split))
            first = split
    return spans[::-1]


def consistency_spans(old: int, new: int) -> list[Span]:
    """The spans of the proof that the tree of ``new`` leaves begins with the tree of ``old``."""
    if not 0 <= old <= new:
        raise ValueError("the old tree is larger than the new one")
    if old in (0, new):
        return []
    first, end, whole, spans = 0, new, True, []
    while old != end:
        split = first + _split(end - first)
        if old <= split:
            spans.append((split, end))
            end = split
        else:
            spans.append((first, split))
            first, whole = split, False
    if not whole:
        spans.append((first, end))
    return spans[::-1]


def subtrees(span: Span) -> Iterator[Subtree]:
    """The complete subtrees that make up a span of a proof, from left to right."""
    first, end = span
    while first < end:
        height = (end - first).bit_length() - 1
        yield height, first >> height
        first += 1 << height


def span_hash(span: Span, node: NodeAt) -> bytes:
    """The hash over a span."""
    hashes = [node(height, number) for height, number in subtrees(span)]
    if not hashes:
        return EMPTY_ROOT
    hash_ = hashes.pop()
    while hashes:
        hash_ = node_hash(hashes.pop(), hash_)
    return hash_


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raises ``Refuted`` unless ``leaf`` (a leaf hash) is at ``index`` of the tree of ``size`` with this root."""
    if not 0 <= index < size:
        raise Refuted(f"the tree of {size} leaves has no leaf {index}")
    place, last, hash_ = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise Refuted("the inclusion proof is too long")
        if place & 1 or place == last:
            hash_ = node_hash(sibling, hash_)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            hash_ = node_hash(hash_, sibling)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise Refuted("the inclusion proof is too short")
    if hash_ != root:
        raise Refuted("the inclusion proof does not lead to the root")


def verify_consistency(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Raises ``Refuted`` unless the tree of ``new`` leaves begins with that of ``old``."""
    if old > new:
        raise Refuted(f"the log went back from {old} to {new} entries")
    if old in (0, new):
        _verify_trivially(old, old_root, new_root, proof)
        return
    steps = list(proof)
    if old & (old - 1) == 0:
        steps.insert(0, old_root)
    if not steps:
        raise Refuted("the consistency proof is too short")
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_hash = new_hash = steps[0]
    for step in steps[1:]:
        if last == 0:
            raise Refuted("the consistency proof is too long")
        if place & 1 or place == last:
            old_hash, new_hash = node_hash(step, old_hash), node_hash(step, new_hash)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new_hash = node_hash(new_hash, step)
        place, last = place >> 1, last >> 1
    if last != 0:
        raise Refuted("the consistency proof is too short")
    if old_hash != old_root:
        raise Refuted(f"the log does not begin with the {old} entries that it had")
    if new_hash != new_root:
        raise Refuted("the consistency proof does not lead to the new root")


def _verify_trivially(old: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    if proof:
        raise Refuted("the consistency proof is too long")
    expected = EMPTY_ROOT if old == 0 else new_root
    if old_root != expected:
        raise Refuted(f"two trees of {old} entries have different roots")


def _split(count: int) -> int:
    """The largest power of two below ``count`` (RFC 6962 §2.1: k)."""
    if count < 2:
        raise Malformed("a single leaf cannot be split")
    return 1 << ((count - 1).bit_length() - 1)
