"""Inclusion and consistency proofs: RFC 6962 §2.1.1 and §2.1.2; verified as in RFC 9162 §2.1.3.2 and §2.1.4.2.

A proof is a list of hashes, each over a span of leaves. Which spans follows from the sizes alone (``inclusion_spans``,
``consistency_spans``); a span is made of complete subtrees (``subtrees``), and those are what storage can give.

A proof that can be kept and checked offline, as text: C2SP tlog-proof.

``extra`` is ours to fill: the lines of the leaf that its reader cannot know from elsewhere. It is not authenticated by
itself; the inclusion proof authenticates the leaf that is made with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from identity_tlog.note import MAX_NOTE, base64_decode, base64_encode
from identity_tlog.tree import EMPTY_ROOT, HASH_BYTES, Malformed, Refuted, node_hash

Span = tuple[int, int]
"""Leaves ``first`` to ``end``, the end not included."""

Subtree = tuple[int, int]
"""(height, number): the complete subtree over the leaves number·2^height to (number+1)·2^height."""

NodeAt = Callable[[int, int], bytes]


def inclusion_spans(index: int, size: int) -> list[Span]:
    """Return the spans of the proof that leaf ``index`` is in the tree of ``size``, the leaf's sibling first."""
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
    """Return the spans of the proof that the tree of ``new`` leaves begins with the tree of ``old``."""
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
    """Yield the complete subtrees that make up a span of a proof, from left to right."""
    first, end = span
    while first < end:
        height = (end - first).bit_length() - 1
        yield height, first >> height
        first += 1 << height


def span_hash(span: Span, node: NodeAt) -> bytes:
    """Return the hash over a span."""
    hashes = [node(height, number) for height, number in subtrees(span)]
    if not hashes:
        return EMPTY_ROOT
    hash_ = hashes.pop()
    while hashes:
        hash_ = node_hash(hashes.pop(), hash_)
    return hash_


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raise ``Refuted`` unless ``leaf`` (a leaf hash) is at ``index`` of the tree of ``size`` with this root."""
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
    """Raise ``Refuted`` unless the tree of ``new`` leaves begins with that of ``old``."""
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
    """Return the largest power of two below ``count`` (RFC 6962 §2.1: k)."""
    if count < 2:
        raise Malformed("a single leaf cannot be split")
    return 1 << ((count - 1).bit_length() - 1)


FIRST_LINE: Final = "c2sp.org/tlog-proof@v1"
MAX_HASHES: Final = 63
MAX_PROOF: Final = 2 * MAX_NOTE
"""Bytes."""

_INDEX: Final = re.compile(r"index (0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TlogProof:
    """The place of an entry, the hashes that lead from it to the root, and the signed checkpoint with that root."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None

    def encode(self) -> bytes:
        """Return the text in UTF-8."""
        extra = [] if self.extra is None else [f"extra {base64_encode(self.extra)}"]
        lines = [FIRST_LINE, *extra, f"index {self.index}", *map(base64_encode, self.hashes), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes) -> TlogProof:
        """Raise ``Malformed``. The checkpoint in it is not yet looked at."""
        if len(data) > MAX_PROOF:
            raise Malformed("the proof is too large")
        head, blank, checkpoint = data.partition(b"\n\n")
        try:
            lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError as error:
            raise Malformed("the proof is not text") from error
        if not blank or lines.pop(0) != FIRST_LINE:
            raise Malformed(f"a proof begins with {FIRST_LINE} and ends with a checkpoint")
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = base64_decode(lines.pop(0).removeprefix("extra "))
        index = _INDEX.fullmatch(lines.pop(0)) if lines else None
        hashes = tuple(base64_decode(line) for line in lines)
        if index is None or len(hashes) > MAX_HASHES or any(len(one) != HASH_BYTES for one in hashes):
            raise Malformed("the proof has no index, or what follows it are not hashes")
        return cls(int(index[1]), hashes, checkpoint, extra)
