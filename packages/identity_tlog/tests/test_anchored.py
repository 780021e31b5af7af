"""Commitments, paths and roots: what a stranger checks."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from identity_codec.values import replace
from identity_tlog.anchored import AnchorPath, root_and_paths
from identity_tlog.tree import Frontier, Malformed, Refuted, leaf_hash

SEALED = "2026-01-01T00:00:00Z"


def leaves(count: int) -> list[bytes]:
    return [hashlib.sha256(b"%d" % number).digest() for number in range(count)]


def build_path(count: int, index: int) -> AnchorPath:
    root, paths = root_and_paths(leaves(count))
    return AnchorPath("sql", root, index, count, tuple(paths[index]), SEALED)


@pytest.mark.parametrize("count", [*range(1, 18), 31, 32, 33, 100, 257])
def test_every_path_of_every_size_leads_to_the_root_of_rfc_6962(count: int) -> None:
    root, paths = root_and_paths(leaves(count))
    assert root == Frontier().appended(map(leaf_hash, leaves(count))).root
    for index, leaf in enumerate(leaves(count)):
        AnchorPath("sql", root, index, count, tuple(paths[index]), SEALED).verify(leaf)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_nothing_else_does(count: int) -> None:
    path = build_path(count, count // 2)
    leaf, others = leaves(count)[count // 2], leaves(count + 1)
    wrong = [
        (path, others[-1]),
        (path, leaf_hash(leaf)),
        (replace(path, root=path.root[::-1]), leaf),
        (replace(path, path=(*path.path, bytes(32))), leaf),
        (replace(path, index=count), leaf),
        (replace(path, index=-1), leaf),
    ]
    if path.path:
        wrong += [(replace(path, path=path.path[1:]), leaf), (replace(path, path=(*path.path[::-1], leaf)), leaf)]
    for one, commitment in wrong:
        with pytest.raises(Refuted):
            one.verify(commitment)


def test_it_is_read_as_it_was_written() -> None:
    path = build_path(5, 3)
    assert AnchorPath.parse(json.loads(path.encode())) == path
    assert path.json["sealedAt"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "change",
    [
        {"root": "AA"},
        {"root": 7},
        {"root": "*" * 43},
        {"root": "A" * 42 + "B"},
        {"root": "A" * 42 + "é"},
        {"root": "A" * 42},
        {"path": "AA"},
        {"path": [7]},
        {"path": ["A" * 43] * 64},
        {"index": True},
        {"index": "1"},
        {"size": 1.0},
        {"ledger": None},
        {"sealedAt": 7},
    ],
)
def test_invalid_details_are_malformed(change: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        AnchorPath.parse(build_path(5, 3).json | change)


@pytest.mark.parametrize("value", [None, [], "x", 7])
def test_value_that_is_no_object_is_malformed(value: Any) -> None:
    with pytest.raises(Malformed):
        AnchorPath.parse(value)
