from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_codec.strict_json import JsonRefused, loads

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
        st.sampled_from(['":', '"', '\\":', ":", '": "', "0000000000000000000000"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=20,
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",\n", "\t:\r\n")])


@given(VALUES, SEPARATORS, st.booleans())
def test_every_clean_value_is_read_as_it_was_written(
    value: object, separators: tuple[str, str], ascii_only: bool
) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
    assert loads(text.encode()) == value


@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=4), SEPARATORS, st.data())
def test_a_name_twice_is_refused_wherever_it_stands(
    members: dict[str, object], separators: tuple[str, str], data: st.DataObject
) -> None:
    again = data.draw(st.sampled_from(sorted(members)))
    comma, colon = separators
    inner = json.dumps(members, separators=separators)
    spelt = data.draw(st.sampled_from([json.dumps(again), '"' + "".join(f"\\u{ord(c):04x}" for c in again) + '"']))
    if any(ord(c) > 0xFFFF for c in again):
        spelt = json.dumps(again)
    twice = f"{inner[:-1]}{comma}{spelt}{colon}1}}"
    for text in (twice, f"[{twice}]", f'{{"x"{colon}[{twice}]}}'):
        with pytest.raises(JsonRefused, match="two members"):
            loads(text.encode())


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = loads(data)
    except JsonRefused:
        return
    assert json.loads(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"", b" ", b"nul", b"NaN", b"[Infinity]", b"-Infinity", b"1e999", b"[-1e400]", b"01", b"+1", b".5", b"1.", b"0x10",
        b"'a'", b"{a:1}", b"[1,]", b'{"a":1,}', b"[1] 2", b"// c\n1", b'"\t"', b'"\\x41"', b'"\\ud800"', b'"\\udc00\\ud800"',
        b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b"\xef\xbb\xbf1", b"\xff\xfe1\x00", b"1\x00", b"\x00",
        b"18446744073709551616", b"-9223372036854775809", b"[123456789012345678901234567890]", b'{"a":1,"a":1}',
        b'{"a" :1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"":1,"":2}', b'{"a":{"b":1,"b":":"}}',
    ],
    ids=ascii,
)  # fmt: skip
def test_refused(data: bytes) -> None:
    with pytest.raises(JsonRefused) as refusal:
        loads(data)
    assert refusal.value.reason


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"18446744073709551615", 2**64 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b'"1234567890123456789012345"', "1234567890123456789012345"),
        (b"1234567890123456789012.5", 1234567890123456789012.5),
        (b'{"a":":","\\":":1}', {"a": ":", '":': 1}),
        (b' {"a" \n:\t1} ', {"a": 1}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'{"a":{"x":1},"b":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}}),
    ],
    ids=ascii,
)
def test_accepted(data: bytes, value: object) -> None:
    assert loads(data) == value


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_the_depth_is_capped(opening: str, closing: str) -> None:
    loads((opening * 32 + "1" + closing * 32).encode())
    for inner in ("1", "[]"):
        with pytest.raises(JsonRefused, match="deeper"):
            loads((opening * 32 + f"[{inner}]" + closing * 32).encode())
    for depth in (1_000, 100_000):
        with pytest.raises(JsonRefused):
            loads((opening * depth + "1" + closing * depth).encode())


def elements(count: int, element: str = "0") -> bytes:
    return ("[" + ",".join([element] * count) + "]").encode()


def members(count: int, value: str = "0") -> bytes:
    return ("{" + ",".join(f'"{number}":{value}' for number in range(count)) + "}").encode()


@pytest.mark.parametrize(
    ("most", "more", "reason"),
    [
        (elements(9_999), elements(10_000), "more than 10000 values"),
        (elements(9_999, '"a"'), elements(10_000, '"a"'), "more than 10000 values"),
        (elements(999, "[]"), elements(1_000, "[]"), "more than 1000 arrays and objects"),
        (elements(999, '{"a":1}'), elements(1_000, '{"a":1}'), "more than 1000 arrays and objects"),
        (members(1_000), members(1_001), "more than 1000 members"),
        (elements(100, "0.5"), elements(101, "0.5"), "more than 100 fractions"),
        (elements(100, "1e2"), elements(101, "1e2"), "more than 100 fractions"),
    ],
)
def test_text_has_a_cost_limit(most: bytes, more: bytes, reason: str) -> None:
    assert loads(most) == json.loads(most)
    with pytest.raises(JsonRefused, match=reason):
        loads(more)


@pytest.mark.parametrize("filling", ["[", "{", ",", ":", '\\"', "\\\\", '\\",\\":[', "\\u0022,", "0.5,", "true,"])
def test_text_content_is_not_counted(filling: str) -> None:
    text = '{"a":"' + filling * 30_000 + '","b":["' + filling * 5 + '",1.5,18446744073709551615,true,false]}'
    assert loads(text.encode()) == json.loads(text)
    for broken in (',"a":0}', ',"c":18446744073709551616}'):
        with pytest.raises(JsonRefused, match=r"two members|64 bits"):
            loads(text[:-1].encode() + broken.encode())


@pytest.mark.parametrize("data", [b'"' * 200_000, b'["' + b'","' * 80_000 + b'"]', b"[" + b'""' * 80_000 + b"]"])
def test_too_many_texts_are_refused_before_they_are_read(data: bytes) -> None:
    with pytest.raises(JsonRefused):
        loads(data)


@given(
    st.lists(
        st.one_of(
            st.integers(-(2**66), 2**66).map(str),
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.sampled_from(
                [
                    "1e2",
                    "1E+2",
                    "0.5e-3",
                    "true",
                    "false",
                    "null",
                    '"1.5"',
                    '"e"',
                    "-0",
                    "-0.0",
                    "1e-0000000000000000000000001",
                ]
            ),
        ),
        max_size=12,
    )
)
def test_integers_beyond_64_bits_are_found(written: list[str]) -> None:
    text = f"[{','.join(written)}]"
    value = json.loads(text)
    if all(not isinstance(each, int) or -(2**63) <= each < 2**64 for each in value):
        assert loads(text.encode()) == value
    else:
        with pytest.raises(JsonRefused, match="64 bits"):
            loads(text.encode())
