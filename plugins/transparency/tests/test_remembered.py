"""The file of the last checkpoint: any content is parsed or refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_transparency.remembered import Remembered
from nacl.signing import SigningKey

from identity_tlog.note import Checkpoint, VerifierKey, sign_checkpoint
from identity_tlog.tree import Malformed

KEY = SigningKey(bytes(32))


def remembered(size: int = 7, lines: int = 9) -> Remembered:
    checkpoint = Checkpoint("id.example/log", size, bytes([size] * 32))
    key = VerifierKey(checkpoint.origin, bytes(KEY.verify_key))
    return Remembered(sign_checkpoint(checkpoint, key, KEY.sign(checkpoint.text.encode()).signature), lines, bytes(32))


@pytest.mark.parametrize("lines", [0, 9, 2**63 - 1])
def test_it_is_read_as_it_was_written(lines: int) -> None:
    one = remembered(lines=lines)
    assert Remembered.parse(one.encode()) == one
    assert (one.checkpoint.size, one.audit_lines) == (7, lines)


def test_later_is_later_in_both() -> None:
    assert remembered(8, 9).covers(remembered(7, 9))
    assert remembered(7, 1_000).covers(remembered(7, 999))
    assert remembered(7, 9).covers(remembered(7, 9))
    assert not remembered(8, 8).covers(remembered(7, 9))
    assert not remembered(6, 10).covers(remembered(7, 9))


@pytest.mark.parametrize(
    "change",
    [
        {"auditLines": -1},
        {"auditLines": 2**63},
        {"auditLines": True},
        {"auditLines": 1.0},
        {"auditLink": "00"},
        {"auditLink": 1},
        {"checkpoint": "\ud800"},
        {"checkpoint": "a\n1\n"},
        {"checkpoint": None},
    ],
)
def test_changed_member_is_refused(change: dict[str, object]) -> None:
    read = json.loads(remembered().encode()) | change
    with pytest.raises(Malformed):
        Remembered.parse(json.dumps(read).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"[" * 60_000, b"{}", b"\xff", remembered().encode()[:-9]])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Remembered.parse(data)


@given(st.binary(max_size=200))
def test_any_octets_are_parsed_or_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Remembered.parse(data)
