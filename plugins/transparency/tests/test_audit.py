"""The findings of an auditor in a log that breaks its own rules, entry by entry."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from identity_transparency.domain.audit import Audit, LogFault

from identity_codec.values import replace
from identity_tlog.leaf import LogLeaf
from identity_tlog.note import Checkpoint
from identity_tlog.tiles import Tile
from identity_tlog.tree import Frontier, complete_root

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def honest(count: int) -> list[LogLeaf]:
    """Two entries a block, a microsecond apart, of three DIDs in turn."""
    return [
        LogLeaf(n + 1, f"{n:064x}", n // 2 + 1, AT + n * TICK, f"did:ids:{n % 3}", n // 3 + 1, b"entry %d" % n)
        for n in range(count)
    ]


def signed(data: list[bytes]) -> Checkpoint:
    hashes = [hashlib.sha256(b"\x00" + leaf).digest() for leaf in data]
    return Checkpoint("log.example", len(data), Frontier().appended(hashes).root)


def audited(
    leaves: list[LogLeaf],
    *,
    checkpoint: Checkpoint | None = None,
    held: tuple[Checkpoint, ...] = (),
    served: Callable[[bytes], bytes] = lambda tile: tile,
) -> list[tuple[str, str]]:
    """Kinds and places of what is found. ``served`` is what becomes of each tile of level 0 on its way."""
    return [(found.kind, found.where) for found in findings(leaves, checkpoint=checkpoint, held=held, served=served)]


def findings(
    leaves: list[LogLeaf],
    *,
    checkpoint: Checkpoint | None = None,
    held: tuple[Checkpoint, ...] = (),
    served: Callable[[bytes], bytes] = lambda tile: tile,
) -> list[LogFault]:
    data = [leaf.encode() for leaf in leaves]
    audit = Audit(checkpoint or signed(data), held)
    for start in range(0, len(data), 256):
        bundle = data[start : start + 256]
        tile = b"".join(hashlib.sha256(b"\x00" + leaf).digest() for leaf in bundle)
        audit.feed(bundle, served(tile))
    assert audit.size == len(data)
    audit.close()
    return audit.findings


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 600])
def test_an_honest_log_has_no_finding(count: int) -> None:
    data = [leaf.encode() for leaf in honest(count)]
    held = tuple(signed(data[:size]) for size in {count, 1, 255, 256, 257} if 0 < size <= count)
    assert findings(honest(count), held=held) == []


@pytest.mark.parametrize(
    ("change", "is_found"),
    [
        ({"recorded_at": AT + 2 * TICK}, False),
        ({"recorded_at": AT + TICK}, True),  # equal times: the order of two entries must be told by their times alone
        ({"recorded_at": AT}, True),
        ({"block_number": 1}, False),
        ({"sequence": 4}, True),
        ({"sequence": 2}, True),
        ({"version": 2}, True),
        ({"did": "did:ids:0"}, True),
        ({"did": "did:ids:0", "version": 2}, False),
    ],
)
def test_the_third_entry_follows_the_second(change: dict[str, object], is_found: bool) -> None:
    first, second, third = honest(3)
    third = replace(third, **change)  # type: ignore[arg-type]
    assert audited([first, second, third]) == ([("order", "entry 3")] if is_found else [])


def test_blocks_do_not_go_back() -> None:
    first, second = honest(2)
    assert audited([replace(first, block_number=2), second]) == [("order", "entry 2")]
    assert audited([replace(first, block_number=1), second]) == []


def test_malformed_leaf_is_reported() -> None:
    data = [honest(1)[0].encode(), b"nonsense"]
    audit = Audit(signed(data), ())
    audit.feed(data, b"".join(hashlib.sha256(b"\x00" + leaf).digest() for leaf in data))
    audit.close()
    assert [(found.kind, found.where) for found in audit.findings] == [("form", "entry 2")]


def test_a_log_that_is_too_short_or_too_long() -> None:
    leaves = honest(5)
    data = [leaf.encode() for leaf in leaves]
    root = ("root", "checkpoint of 6")
    longer = Checkpoint("log.example", 6, signed(data).root)
    assert audited(leaves, checkpoint=longer) == [("missing-tail", "entry 6")]
    assert audited(leaves, checkpoint=signed(data[:4])) == [("root", "checkpoint of 4")]
    assert audited(leaves, held=(longer,)) == [("missing-tail", "entry 6")]
    assert root not in audited(leaves, checkpoint=longer)


def test_entries_and_tiles_that_agree_on_another_root() -> None:
    leaves = honest(5)
    (found,) = findings(leaves, checkpoint=Checkpoint("log.example", 5, bytes(32)))
    assert (found.kind, found.where) == ("root", "checkpoint of 5")
    assert "entries and tiles agree" in found.says


@pytest.mark.parametrize("size", [1, 5, 255, 256, 257, 300])
def test_a_kept_checkpoint_of_another_beginning_is_a_fork(size: int) -> None:
    kept = Checkpoint("log.example", size, bytes(32))
    good = tuple(signed([leaf.encode() for leaf in honest(300)[:other]]) for other in (2, 254, 299))
    assert audited(honest(300), held=(*good, kept)) == [("fork", f"checkpoint of {size}")]


def flipped(number: int) -> Callable[[bytes], bytes]:
    """A tile in which one bit of one hash is another."""

    def served(tile: bytes) -> bytes:
        at = 32 * number + 7
        return tile[:at] + bytes([tile[at] ^ 1]) + tile[at + 1 :]

    return served


@pytest.mark.parametrize("number", [0, 3, 4])
def test_tile_that_differs_from_sound_entry_is_tiles_fault(number: int) -> None:
    assert audited(honest(5), served=flipped(number)) == [("tile", f"entry {number + 1}")]


def test_an_entry_that_differs_from_its_tile_is_the_entrys_fault() -> None:
    leaves = honest(5)
    checkpoint = signed([leaf.encode() for leaf in leaves])
    tile = b"".join(hashlib.sha256(b"\x00" + leaf.encode()).digest() for leaf in leaves)
    leaves[3] = replace(leaves[3], entry=b"another")
    assert audited(leaves, checkpoint=checkpoint, served=lambda _: tile) == [
        ("entry", "entry 4"),
        ("root", "checkpoint of 5"),
    ]


@pytest.mark.parametrize("hide", [False, True], ids=["as they were", "with places, blocks and times exchanged"])
def test_swapped_entries_are_found(hide: bool) -> None:
    leaves = honest(6)
    checkpoint = signed([leaf.encode() for leaf in leaves])
    tile = b"".join(hashlib.sha256(b"\x00" + leaf.encode()).digest() for leaf in leaves)
    second, fifth = leaves[1], leaves[4]
    if hide:
        leaves[1] = replace(
            fifth, sequence=2, block_number=second.block_number, recorded_at=second.recorded_at, version=2
        )
        leaves[4] = replace(
            second, sequence=5, block_number=fifth.block_number, recorded_at=fifth.recorded_at, version=1
        )
    else:
        leaves[1], leaves[4] = fifth, second
    found = findings(leaves, checkpoint=checkpoint, served=lambda _: tile)
    moved = {one.where: one.says for one in found if one.kind == "moved"}
    assert moved == {"entry 2": "it was logged as entry 5", "entry 5": "it was logged as entry 2"}


def test_a_tile_of_another_length_is_told_once() -> None:
    assert audited(honest(5), served=lambda tile: tile[:-32]) == [("tile", "tile 0 of level 0")]
    assert audited(honest(300), served=lambda tile: tile if len(tile) == 256 * 32 else tile + bytes(32)) == [
        ("tile", "tile 1 of level 0")
    ]


def test_tiles_of_higher_levels_are_compared_with_those_below() -> None:
    data = [leaf.encode() for leaf in honest(600)]
    audit = Audit(signed(data), ())
    roots = b""
    for start in range(0, 600, 256):
        bundle = data[start : start + 256]
        tile = b"".join(hashlib.sha256(b"\x00" + leaf).digest() for leaf in bundle)
        audit.feed(bundle, tile)
        if len(bundle) == 256:
            roots += Frontier().appended([tile[at : at + 32] for at in range(0, len(tile), 32)]).root
    tile = Tile(1, 0, 2)
    audit.compare_tile(tile, roots)
    assert audit.findings == []
    audit.compare_tile(tile, roots[:-1] + bytes([roots[-1] ^ 1]))
    audit.missing(tile, "404")
    assert [(found.kind, found.where, found.says) for found in audit.findings] == [
        ("tile", f"tile {tile.path}", "it is not what the tiles below it make"),
        ("missing", f"tile {tile.path}", "404"),
    ]


def test_a_tile_of_the_second_level_is_made_of_65536_entries() -> None:
    """Two levels are kept apart: of the same number, one has 256 hashes and the other has one."""
    data = [leaf.encode() for leaf in honest(65_536)]
    audit = Audit(signed(data), ())
    roots = []
    for start in range(0, 65_536, 256):
        hashes = [hashlib.sha256(b"\x00" + leaf).digest() for leaf in data[start : start + 256]]
        audit.feed(data[start : start + 256], b"".join(hashes))
        roots.append(complete_root(b"".join(hashes)))
    audit.compare_tile(Tile(1, 0), b"".join(roots))
    audit.compare_tile(Tile(2, 0, 1), complete_root(b"".join(roots)))
    audit.close()
    assert audit.findings == []
    audit.compare_tile(Tile(2, 0, 1), roots[0])
    assert len(audit.findings) == 1


def test_it_stops_counting_at_a_thousand_findings() -> None:
    audit = Audit(signed([]), ())
    for number in range(1_001):
        audit.missing(Tile(0, number, 256), "404")
    assert len(audit.findings) == 1_000
