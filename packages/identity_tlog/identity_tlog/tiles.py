"""Tiles of 256 hashes and the paths that they are served under: C2SP tlog-tiles.

A tile of level 0 holds leaf hashes; one of level n the roots of full tiles of level n-1. Only the rightmost tile of a
level is partial, and it only grows. Left out: pruning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from identity_tlog.proofs import Span, subtrees
from identity_tlog.tree import HASH_BYTES, Malformed, complete_root

WIDTH: Final = 256
TILE_BYTES: Final = WIDTH * HASH_BYTES
ENTRIES: Final = "entries"

_HEIGHT: Final = 8
_NUMBER: Final = re.compile(r"((?:x[0-9]{3}/){0,4}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)
_LEVEL: Final = re.compile(r"[0-9]|[1-5][0-9]|6[0-3]", re.ASCII)

TileKey = tuple[int, int]
"""(level, number)."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The place of a tile: ``level`` None is the bundle of the entries under tile ``number`` of level 0."""

    level: int | None
    number: int
    width: int = WIDTH

    @classmethod
    def parse(cls, level: str, place: str) -> Tile:
        """Parse the two parts of ``tile/<L>/<N>[.p/<W>]``. Raises ``Malformed``."""
        found = _NUMBER.fullmatch(place)
        if found is None or not (level == ENTRIES or _LEVEL.fullmatch(level)):
            raise Malformed("not the path of a tile")
        number = int(found[1].replace("x", "").replace("/", ""))
        tile = cls(None if level == ENTRIES else int(level), number, int(found[2] or WIDTH))
        if tile.width > WIDTH or tile.path != f"{level}/{place}":
            raise Malformed("the path of the tile has another form")
        return tile

    @property
    def path(self) -> str:
        """``0/x001/x234/067.p/12``, behind ``tile/``."""
        groups = [f"{self.number % 1000:03}"]
        rest = self.number // 1000
        while rest:
            groups.insert(0, f"x{rest % 1000:03}")
            rest //= 1000
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"{ENTRIES if self.level is None else self.level}/{'/'.join(groups)}{partial}"


def tiles_of(size: int, level: int | None) -> Iterator[Tile]:
    """Yield the tiles of one level (None: the bundles of entries) of a tree of ``size``, from left to right."""
    count = size >> (_HEIGHT * (level or 0))
    for number in range(count // WIDTH):
        yield Tile(level, number)
    if count % WIDTH:
        yield Tile(level, count // WIDTH, count % WIDTH)


def tile_at(size: int, level: int, number: int) -> Tile:
    """Return the tile of this level and number as wide as it is in a tree of ``size``, which has it."""
    return Tile(level, number, min(WIDTH, (size >> (_HEIGHT * level)) - number * WIDTH))


def levels_of(size: int) -> int:
    """Return how many levels a tree of ``size`` has tiles on."""
    return (max(size, 1).bit_length() - 1) // _HEIGHT + 1 if size else 0


def edge_of(size: int) -> list[TileKey]:
    """Return the partial tiles of a tree of ``size``: what an append has to read."""
    counts = [(level, size >> (_HEIGHT * level)) for level in range(levels_of(size))]
    return [(level, count // WIDTH) for level, count in counts if count % WIDTH]


def grown(size: int, edge: Mapping[TileKey, bytes], hashes: Sequence[bytes]) -> dict[TileKey, bytes]:
    """Return the tiles that are new or larger when leaf ``hashes`` are appended to a tree of ``size`` whose partial tiles are
    ``edge``."""
    changed: dict[TileKey, bytes] = {}
    level, new = 0, b"".join(hashes)
    while new:
        count = size >> (_HEIGHT * level)
        number, width = divmod(count, WIDTH)
        held = edge[level, number] if width else b""
        if len(held) != width * HASH_BYTES:
            raise ValueError(f"tile {number} of level {level} has not the width of a tree of {size}")
        data, roots = held + new, []
        for at in range(0, len(data), TILE_BYTES):
            part = data[at : at + TILE_BYTES]
            changed[level, number] = part
            number += 1
            if len(part) == TILE_BYTES:
                roots.append(complete_root(part))
        level, new = level + 1, b"".join(roots)
    return changed


def needed(spans: Iterable[Span]) -> set[TileKey]:
    """Return the tiles from which the hashes of ``spans`` can be made."""
    return {_place(height, number)[0] for span in spans for height, number in subtrees(span)}


def node_from(tiles: Mapping[TileKey, bytes]) -> Callable[[int, int], bytes]:
    """Return the function from (height, number) to the root of that complete subtree. It raises ``Malformed`` for a tile that is
    not there or too short."""

    def node(height: int, number: int) -> bytes:
        key, offset = _place(height, number)
        end = offset + (1 << height % _HEIGHT)
        data = tiles.get(key, b"")
        if len(data) < end * HASH_BYTES:
            raise Malformed(f"tile {key[1]} of level {key[0]} is missing or too short")
        return complete_root(data[offset * HASH_BYTES : end * HASH_BYTES])

    return node


def _place(height: int, number: int) -> tuple[TileKey, int]:
    """Return the tile that a complete subtree lies in, and its first hash there."""
    level, within = divmod(height, _HEIGHT)
    tile, offset = divmod(number << within, WIDTH)
    return (level, tile), offset


def bundled(entries: Sequence[bytes]) -> bytes:
    """Return a bundle: each entry behind its length in two bytes."""
    return b"".join([len(entry).to_bytes(2, "big") + entry for entry in entries])


def unbundled(data: bytes) -> list[bytes]:
    """Return the entries of a bundle. Raises ``Malformed``."""
    entries, at = [], 0
    while at < len(data):
        start = at + 2
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise Malformed("the bundle ends within an entry")
        entries.append(data[start:at])
    return entries
