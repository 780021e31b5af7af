"""Frames: two lists of fields never have one text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from identity_bbs.frames import frame, number, optional, scalar

FIELDS = st.lists(st.binary(max_size=12), max_size=4)


@given(st.binary(max_size=6), FIELDS, st.binary(max_size=6), FIELDS)
def test_a_frame_says_its_tag_and_fields(tag, fields, other_tag, other_fields):
    is_same = (tag, fields) == (other_tag, other_fields)
    assert (frame(tag, fields) == frame(other_tag, other_fields)) is is_same


def test_its_octets():
    assert frame(b"t", [b"ab", b""]) == number(1) + b"t" + number(2) + number(2) + b"ab" + number(0)
    assert number(258) == b"\0\0\0\0\0\0\1\2"
    assert scalar(1) == bytes(31) + b"\1"
    assert (optional(None), optional(b""), optional(b"x")) == (b"", b"\1", b"\1x")
