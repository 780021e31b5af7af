"""Trees, proofs and tiles: RFC vectors, every small tree, and random larger ones."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from identity_tlog.proofs import (
    Span,
    consistency_spans,
    inclusion_spans,
    span_hash,
    subtrees,
    verify_consistency,
    verify_inclusion,
)
from identity_tlog.tiles import (
    TILE_BYTES,
    WIDTH,
    Tile,
    TileKey,
    bundled,
    edge_of,
    grown,
    levels_of,
    needed,
    node_from,
    tiles_of,
    unbundled,
)
from identity_tlog.tree import EMPTY_ROOT, Frontier, Malformed, Refuted, complete_root, leaf_hash, node_hash

# The leaves and roots of the reference implementation's tests (certificate-transparency, merkle_tree_test), which RFC
# 6962 implementations share.
LEAVES = [bytes.fromhex(text) for text in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


def mth(hashes: Sequence[bytes]) -> bytes:
    """RFC 6962 §2.1, as it is written there."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    k = 1 << ((len(hashes) - 1).bit_length() - 1)
    return hashlib.sha256(b"\x01" + mth(hashes[:k]) + mth(hashes[k:])).digest()


def path(m: int, hashes: Sequence[bytes]) -> list[bytes]:
    """RFC 6962 §2.1.1."""
    if len(hashes) == 1:
        return []
    k = 1 << ((len(hashes) - 1).bit_length() - 1)
    if m < k:
        return [*path(m, hashes[:k]), mth(hashes[k:])]
    return [*path(m - k, hashes[k:]), mth(hashes[:k])]


def subproof(m: int, hashes: Sequence[bytes], whole: bool) -> list[bytes]:
    """RFC 6962 §2.1.2."""
    if m == len(hashes):
        return [] if whole else [mth(hashes)]
    k = 1 << ((len(hashes) - 1).bit_length() - 1)
    if m <= k:
        return [*subproof(m, hashes[:k], whole), mth(hashes[k:])]
    return [*subproof(m - k, hashes[k:], False), mth(hashes[:k])]


def some_hashes(count: int, seed: int = 0) -> list[bytes]:
    return [leaf_hash(b"%d/%d" % (seed, number)) for number in range(count)]


def tiled(hashes: Sequence[bytes], steps: Sequence[int]) -> dict[TileKey, bytes]:
    """Tiles that grew in these steps."""
    tiles: dict[TileKey, bytes] = {}
    for first, end in pairwise([0, *steps]):
        tiles |= grown(first, {key: tiles[key] for key in edge_of(first)}, hashes[first:end])
    return tiles


def prove(spans: Sequence[Span], tiles: dict[TileKey, bytes]) -> list[bytes]:
    node = node_from({key: tiles[key] for key in needed(spans)})
    return [span_hash(span, node) for span in spans]


def test_the_vectors_of_the_reference_implementation() -> None:
    assert Frontier().root == EMPTY_ROOT
    for count, root in enumerate(ROOTS, 1):
        assert Frontier().appended(map(leaf_hash, LEAVES[:count])).root.hex() == root
        assert mth([leaf_hash(leaf) for leaf in LEAVES[:count]]).hex() == root


HASHES = some_hashes(70)


@pytest.mark.parametrize("size", range(1, 70))
def test_every_inclusion_in_small_trees(size: int) -> None:
    hashes = HASHES[:size]
    root, tiles = mth(hashes), tiled(hashes, [size])
    assert Frontier().appended(hashes).root == root
    for index in range(size):
        proof = prove(inclusion_spans(index, size), tiles)
        assert proof == path(index, hashes)
        verify_inclusion(hashes[index], index, size, proof, root)
        for wrong in broken(proof):
            with pytest.raises(Refuted):
                verify_inclusion(hashes[index], index, size, wrong, root)
        for elsewhere in {(index + 1) % size, size - 1 - index, size} - {index}:
            with pytest.raises(Refuted):
                verify_inclusion(hashes[index], elsewhere, size, proof, root)


@pytest.mark.parametrize("new", range(1, 70))
def test_every_consistency_of_small_trees(new: int) -> None:
    tiles = tiled(HASHES[:new], [new])
    new_root = mth(HASHES[:new])
    for old in range(new + 1):
        old_root = mth(HASHES[:old])
        proof = prove(consistency_spans(old, new), tiles)
        assert proof == (subproof(old, HASHES[:new], True) if old else [])
        verify_consistency(old, old_root, new, new_root, proof)
        for wrong in broken(proof):
            with pytest.raises(Refuted):
                verify_consistency(old, old_root, new, new_root, wrong)
        with pytest.raises(Refuted, match="too long"):
            verify_consistency(old, old_root, new, new_root, [*proof, bytes(32)])
        fork = bytes([old_root[0] ^ 1]) + old_root[1:]
        with pytest.raises(Refuted):
            verify_consistency(old, fork, new, new_root, proof)
        if old:
            with pytest.raises(Refuted):
                verify_consistency(old, old_root, new, fork, proof)


def broken(proof: list[bytes]) -> list[list[bytes]]:
    """Every way of leaving out, adding or changing one hash."""
    junk = bytes(32)
    ways = [proof[:at] + proof[at + 1 :] for at in range(len(proof))]
    ways += [[*proof[:at], junk, *proof[at + 1 :]] for at in range(len(proof))]
    return [*ways, [*proof, junk], [junk, *proof]]


def test_a_log_that_went_back_is_refuted() -> None:
    with pytest.raises(Refuted, match="went back from 5 to 4"):
        verify_consistency(5, mth(HASHES[:5]), 4, mth(HASHES[:4]), [])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_trees_grow_the_same_in_any_steps(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 1500))
    cuts = data.draw(st.lists(st.integers(0, size), max_size=6))
    hashes, steps = some_hashes(size, 1), sorted({*cuts, size} - {0})
    tiles = tiled(hashes, steps)
    assert tiles == tiled(hashes, [size])
    frontier = Frontier()
    for first, end in pairwise([0, *steps]):
        frontier = Frontier.decode(frontier.size, frontier.encode()).appended(hashes[first:end])
    root = mth(hashes)
    assert (frontier.size, frontier.root) == (size, root)
    index = data.draw(st.integers(0, size - 1))
    proof = prove(inclusion_spans(index, size), tiles)
    assert proof == path(index, hashes)
    verify_inclusion(hashes[index], index, size, proof, root)
    old = data.draw(st.integers(0, size))
    proof = prove(consistency_spans(old, size), tiles)
    verify_consistency(old, mth(hashes[:old]), size, root, proof)


def test_wider_tiles_than_a_smaller_tree_has_prove_it_too() -> None:
    hashes = some_hashes(800, 2)
    tiles = tiled(hashes, [800])
    for size in (1, 255, 256, 257, 511, 513, 799):
        spans = inclusion_spans(size // 2, size)
        verify_inclusion(hashes[size // 2], size // 2, size, prove(spans, tiles), mth(hashes[:size]))
        assert span_hash((0, size), node_from(tiles)) == mth(hashes[:size])


def test_three_levels() -> None:
    count = 256 * 256 + 300
    hashes = [number.to_bytes(32, "big") for number in range(count)]
    tiles = tiled(hashes, [60_000, count])
    frontier = Frontier().appended(hashes)
    assert sorted({level for level, _ in tiles}) == [0, 1, 2]
    assert len(tiles[2, 0]) == 32
    for level in range(levels_of(count)):
        for tile in tiles_of(count, level):
            assert len(tiles[level, tile.number]) == tile.width * 32
    chance = random.Random(3)
    for index in [0, 65_535, 65_536, count - 1, *(chance.randrange(count) for _ in range(20))]:
        verify_inclusion(hashes[index], index, count, prove(inclusion_spans(index, count), tiles), frontier.root)


def test_a_frontier_grows_by_subtrees() -> None:
    hashes = some_hashes(600, 4)
    by_leaf = Frontier().appended(hashes)
    roots = [complete_root(b"".join(hashes[at : at + 256])) for at in (0, 256)]
    assert Frontier().appended(roots, height=8).appended(hashes[512:]) == by_leaf
    with pytest.raises(ValueError, match="multiple"):
        by_leaf.appended(roots, height=8)
    with pytest.raises(Malformed):
        Frontier.decode(600, by_leaf.encode()[32:])


def test_the_spans_of_a_proof_are_made_of_complete_subtrees() -> None:
    for size in range(1, 300):
        for index in (0, size // 3, size - 1):
            for first, end in inclusion_spans(index, size):
                pieces = list(subtrees((first, end)))
                assert sum(1 << height for height, _ in pieces) == end - first
                assert pieces[0][1] << pieces[0][0] == first


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 1), (-1, 5)])
def test_spans_outside_a_tree(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="not in the tree"):
        inclusion_spans(index, size)
    with pytest.raises(ValueError, match="larger"):
        consistency_spans(size + 1, size)


def test_a_missing_tile_is_no_proof() -> None:
    tiles = tiled(some_hashes(300), [300])
    del tiles[0, 1]
    with pytest.raises(Malformed, match="tile 1 of level 0"):
        prove(inclusion_spans(0, 300), tiles | {(0, 1): b""})


# Tiles


def test_the_tiles_of_the_specification() -> None:
    """tlog-tiles: a tree of 70,000 has 273 full tiles and one of 112, one full and one of 17, and one of width 1."""
    widths = [[tile.width for tile in tiles_of(70_000, level)] for level in range(levels_of(70_000))]
    assert widths == [[WIDTH] * 273 + [112], [WIDTH, 17], [1]]
    assert [[tile.width for tile in tiles_of(256, level)] for level in range(levels_of(256))] == [[256], [1]]
    assert levels_of(0) == 0
    assert edge_of(70_000) == [(0, 273), (1, 1), (2, 0)]


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0), "0/000"),
        (Tile(0, 1_234_067), "0/x001/x234/067"),
        (Tile(63, 1000, 7), "63/x001/000.p/7"),
        (Tile(None, 67, 255), "entries/067.p/255"),
    ],
)
def test_paths_of_tiles(tile: Tile, path: str) -> None:
    assert tile.path == path
    level, _, place = path.partition("/")
    assert Tile.parse(level, place) == tile


@pytest.mark.parametrize(
    ("level", "place"),
    [
        ("64", "000"), ("00", "000"), ("-1", "000"), ("entry", "000"), ("0", "0"), ("0", "0000"), ("0", "x000/000"),
        ("0", "001/000"), ("0", "x001/00"), ("0", "000.p/0"), ("0", "000.p/256"), ("0", "000.p/01"), ("0", "000.p"),
        ("0", "000/"), ("0", "../000"), ("0", "000.p/1\n"), ("0", "٠٠٠"), ("0", ""), ("0", "x001/x000/000/000"),
    ],
)  # fmt: skip
def test_paths_that_are_none(level: str, place: str) -> None:
    with pytest.raises(Malformed):
        Tile.parse(level, place)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=20))
def test_bundles(entries: list[bytes]) -> None:
    data = bundled(entries)
    assert unbundled(data) == entries
    for cut in range(1, min(len(data), 3) + 1):
        with contextlib.suppress(Malformed):
            assert unbundled(data[:-cut]) != entries


def test_tiles_of_a_wrong_width_do_not_grow() -> None:
    with pytest.raises(ValueError, match="width"):
        grown(3, {(0, 0): bytes(64)}, [bytes(32)])
    assert len(grown(0, {}, [node_hash(bytes(32), bytes(32))] * 256)[0, 0]) == TILE_BYTES
