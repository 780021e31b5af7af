from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from identity_codec import jcs

ASCII = st.text(alphabet=st.characters(max_codepoint=127))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(),
    st.text(),
    ASCII,
    st.sampled_from(["1.5", ":1.0", "[1e3", "null", ",null", '"', "\\", '\\"', "a.b", "1e5", "\x7f", "\x1f", "\u2028"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.one_of(st.text(max_size=6), ASCII), inner, max_size=5),
    ),
    max_leaves=25,
)


def canonical_or_refused(canonicalize, value):
    try:
        return canonicalize(value)
    except (ValueError, rfc8785.CanonicalizationError):
        return None


@given(VALUES)
def test_it_writes_what_the_rfc8785_library_writes(value: object) -> None:
    assert canonical_or_refused(jcs.canonicalize, value) == canonical_or_refused(rfc8785.dumps, value)


PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(ASCII, inner, max_size=5)),
    max_leaves=25,
)


@given(PLAIN)
def test_plain_text_is_written_unchanged(value: object) -> None:
    assert canonical_or_refused(jcs.canonicalize_plain, value) == canonical_or_refused(rfc8785.dumps, value)


@given(VALUES)
def test_canonical_bytes_read_back_are_canonical(value: object) -> None:
    data = canonical_or_refused(jcs.canonicalize, value)
    if data is not None:
        assert jcs.canonicalize(json.loads(data, parse_int=float)) == data


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({"b": 1, "a": 2}, b'{"a":2,"b":1}'),
        (
            {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7},
            '{"\\r":2,"1":4,"\x80":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'.encode(),
        ),
        ([1.0, -0.0, 1e21, 1e-7, 333333333.33333329], b"[1,0,1e+21,1e-7,333333333.3333333]"),
        ([None, True, False], b"[null,true,false]"),
        ('\u000f\n"\\/', b'"\\u000f\\n\\"\\\\/"'),
        (2**53 - 1, b"9007199254740991"),
    ],
)
def test_the_examples_of_the_standard(value: object, data: bytes) -> None:
    assert jcs.canonicalize(value) == data


@dataclass
class Foreign:
    a: int = 1


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        [-float("inf")],
        2**53,
        -(2**53),
        "\ud800",
        {"\udc00": 1},
        {1: 2},
        b"x",
        {1, 2},
        Foreign(),
        datetime(2026, 1, 1, tzinfo=UTC),
        pytest.param(object(), id="an object"),
    ],
    ids=repr,
)
def test_value_without_canonical_form_raises_value_error(value: object) -> None:
    with pytest.raises(ValueError, match="canonicalizable"):
        jcs.canonicalize(value)


def test_bottomless_nesting_is_a_value_error() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(ValueError, match="canonicalizable"):
        jcs.canonicalize(value)
