"""Differences of documents, the lives of keys, and the path from a leaf to the root."""

from __future__ import annotations

import pytest
from identity_ui.history import difference, key_lives, path_to_root

from identity_codec import multibase
from identity_tlog.proofs import inclusion_spans, verify_inclusion
from identity_tlog.tree import leaf_hash, node_hash


def root_of(hashes: list[bytes]) -> bytes:
    """RFC 6962 §2.1, as it is written there."""
    if len(hashes) == 1:
        return hashes[0]
    split = 1 << ((len(hashes) - 1).bit_length() - 1)
    return node_hash(root_of(hashes[:split]), root_of(hashes[split:]))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_every_leaf_leads_to_root_through_spans_that_are_said(size: int) -> None:
    leaves = [leaf_hash(b"%d" % number) for number in range(size)]
    root = root_of(leaves)
    for index in range(size):
        spans = inclusion_spans(index, size)
        hashes = [root_of(leaves[first:end]) for first, end in spans]
        verify_inclusion(leaves[index], index, size, hashes, root)
        said = {
            "leafIndex": index,
            "treeSize": size,
            "leafHash": multibase.base64url_encode(leaves[index]),
            "hashes": [multibase.base64url_encode(one) for one in hashes],
        }
        levels, reached = path_to_root(said)
        assert reached == multibase.base64url_encode(root)
        for level in levels:
            for hash_, (first, last) in ((level.own, level.own_span), (level.beside, level.beside_span)):
                assert hash_ == multibase.base64url_encode(root_of(leaves[first : last + 1]))
            assert level.is_left is (level.own_span[0] < level.beside_span[0])


def test_a_changed_hash_leads_elsewhere() -> None:
    leaves = [leaf_hash(b"%d" % number) for number in range(2)]
    text = [multibase.base64url_encode(one) for one in leaves]
    _, reached = path_to_root({"leafIndex": 0, "treeSize": 2, "leafHash": text[0], "hashes": [text[0]]})
    assert reached != multibase.base64url_encode(root_of(leaves))


def test_a_difference_names_lines_that_came_and_went() -> None:
    lines = difference({"id": "a", "service": [1]}, {"id": "a", "service": [2]})
    assert [line for line in lines if line[0] != " "] == [("-", "    1"), ("+", "    2")]
    assert (" ", '  "id": "a",') in lines
    assert all(mark == " " for mark, _ in difference({"id": "a"}, {"id": "a"}))


def test_key_is_valid_between_add_and_remove() -> None:
    versions = [
        {"versionId": 3, "changes": ["keyRemoved #a", "serviceAdded #s"]},
        {"versionId": 2, "changes": ["keyAdded #b", "keyRevoked #a at 2026-01-01T00:00:00Z"]},
        {"versionId": 1, "changes": ["keyAdded #a"]},
        {"versionId": 4, "changes": ["keyExpired #b"]},
    ]
    assert key_lives(versions) == {"#a": {"added": 1, "revoked": 2, "removed": 3}, "#b": {"added": 2, "removed": 4}}
