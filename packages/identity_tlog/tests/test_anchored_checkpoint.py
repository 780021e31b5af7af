"""A checkpoint of the log that lies on a ledger, as it is kept and read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from identity_codec.values import replace
from identity_tlog.anchored import AnchoredCheckpoint, AnchorPath, checkpoint_commitment, root_and_paths
from identity_tlog.note import Checkpoint
from identity_tlog.tree import Malformed, Refuted

CHECKPOINT = Checkpoint("log.example", 7, bytes(range(32)))
ROOT, PATHS = root_and_paths([bytes(32), checkpoint_commitment(CHECKPOINT.text.encode())])
PATH = AnchorPath("evm", ROOT, 1, 2, tuple(PATHS[1]), "2026-01-01T00:00:00Z")
ANCHORED = AnchoredCheckpoint(CHECKPOINT, PATH, "ab", 12)


def test_it_is_read_as_it_was_written() -> None:
    for one in (ANCHORED, replace(ANCHORED, tx_hash=None, block_number=None)):
        data = one.encode()
        assert data.endswith(b"}\n")
        assert AnchoredCheckpoint.parse(data) == one
    assert json.loads(ANCHORED.encode()) == {
        "format": "identity-anchored-checkpoint/v1",
        "checkpoint": CHECKPOINT.text,
        "txHash": "ab",
        "blockNumber": 12,
        "anchorDetails": PATH.json,
    }


def test_the_path_leads_from_the_checkpoint_to_the_root() -> None:
    ANCHORED.verify()
    with pytest.raises(Refuted):
        replace(ANCHORED, checkpoint=replace(CHECKPOINT, size=8)).verify()
    with pytest.raises(Refuted):
        replace(ANCHORED, path=replace(PATH, root=bytes(32))).verify()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "identity-anchored-checkpoint/v2"},
        {"format": None},
        {"checkpoint": None},
        {"checkpoint": 1},
        {"checkpoint": ""},
        {"txHash": 1},
        {"blockNumber": "12"},
        {"blockNumber": True},
        {"blockNumber": 1.0},
        {"anchorDetails": None},
        {"anchorDetails": []},
    ],
    ids=str,
)
def test_malformed_checkpoint_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        AnchoredCheckpoint.parse(json.dumps(ANCHORED.json | change).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b'{"format":1,"format":1}'])
def test_malformed_anchor_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed, match="not an anchored checkpoint"):
        AnchoredCheckpoint.parse(data)
