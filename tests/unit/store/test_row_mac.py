"""The tags of rows: one for each row, whatever the border between two columns."""

from __future__ import annotations

import struct

import pytest

from identity_core.store.row_mac import RowMac, version_octets

ROW = ("did:ids:a", 1, 2, 3, 4, 5, b"hash", b"state", b"document", b"changes", "key", "owner")
MAC = RowMac(b"s" * 32, b"test")


def test_a_tag_holds_for_its_row_and_its_key_only() -> None:
    data = version_octets(ROW)
    tag = MAC.tag(data)
    assert len(tag) == 32
    assert MAC.holds(data, tag)
    assert MAC.holds(data, memoryview(tag))
    assert not MAC.holds(data + b"x", tag)
    for other in (RowMac(b"t" * 32, b"test"), RowMac(b"s" * 32, b"tesu")):
        assert not other.holds(data, tag)
    for wrong in (None, "text", 1, b"", tag[:-1], tag.hex()):
        assert not MAC.holds(data, wrong)


@pytest.mark.parametrize(
    ("row", "tag"),
    [
        (ROW, "d4121f0565e689074c8dedafa26795094849b86439bd6c3e15e85a140bb66a32"),
        ((*ROW[:10], None, None), "6fcce19f6170ec8a1a45782fc2280098ac1b2dc17af539a667abc7b7c80c1ab4"),
    ],
)
def test_rows_that_earlier_versions_wrote_stay_ours(row: tuple[object, ...], tag: str) -> None:
    assert MAC.tag(version_octets(row)).hex() == tag
    # Some drivers give bytes so.
    assert version_octets([memoryview(one) if isinstance(one, bytes) else one for one in row]) == version_octets(row)


@pytest.mark.parametrize("place", range(len(ROW)))
def test_every_column_counts(place: int) -> None:
    value = ROW[place]
    changed = value + 1 if isinstance(value, int) else value + value[:1]  # type: ignore[operator]
    assert version_octets((*ROW[:place], changed, *ROW[place + 1 :])) != version_octets(ROW)


def test_no_two_rows_are_one_encoding() -> None:
    moved = [
        (*ROW[:6], b"hashs", b"tate", *ROW[8:]),
        (*ROW[:10], "keyo", "wner"),
        (*ROW[:10], None, "keyowner"),
        (*ROW[:10], "keyowner", None),
        (*ROW[:10], "keyowner", ""),
        (*ROW[:10], "", "keyowner"),
        ("did:ids:ak", *ROW[1:10], "ey", "owner"),
    ]
    assert len({version_octets(row) for row in [ROW, *moved]}) == len(moved) + 1


@pytest.mark.parametrize("place", range(len(ROW)))
def test_a_column_of_another_type_is_no_row(place: int) -> None:
    with pytest.raises((TypeError, AttributeError, struct.error)):
        version_octets((*ROW[:place], 1.5, *ROW[place + 1 :]))
