"""Typed values: one form each, nothing guessed, nothing rounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_core.domain.credentials.attributes import (
    DOMAINS,
    OFFSET,
    Attribute,
    AttributeType,
    ValueRefused,
    decimal_text,
)

T = AttributeType


@pytest.mark.parametrize(
    ("attribute", "value", "number"),
    [
        (Attribute("a", T.INTEGER), 0, 0),
        (Attribute("a", T.INTEGER), -1, -1),
        (Attribute("a", T.INTEGER), 2**53 - 1, 2**53 - 1),
        (Attribute("a", T.INTEGER), str(2**53), 2**53),
        (Attribute("a", T.INTEGER), str(2**63 - 1), 2**63 - 1),
        (Attribute("a", T.INTEGER), str(-(2**63)), -(2**63)),
        (Attribute("a", T.DECIMAL, 2), "-12.5", -1250),
        (Attribute("a", T.DECIMAL, 2), "0", 0),
        (Attribute("a", T.DECIMAL, 2), 7, 700),
        (Attribute("a", T.DECIMAL, 2), 7.0, 700),
        (Attribute("a", T.DECIMAL, 2), 7.25, 725),
        (Attribute("a", T.DECIMAL, 2), -12.5, -1250),
        (Attribute("a", T.DECIMAL, 9), 1e-9, 1),
        (Attribute("a", T.DECIMAL, 2), 1234567890123.45, 123456789012345),
        (Attribute("a", T.INTEGER), 18.0, 18),
        (Attribute("a", T.INTEGER), -0.0, 0),
        (Attribute("a", T.DECIMAL, 0), "17", 17),
        (Attribute("a", T.DECIMAL, 9), "9223372036.854775807", 2**63 - 1),
        (Attribute("a", T.DATE), "1970-01-01", 0),
        (Attribute("a", T.DATE), "1969-12-31", -1),
        (Attribute("a", T.DATE), "1969-04-01", -275),
        (Attribute("a", T.DATE), "1900-01-01", -25567),
        (Attribute("a", T.DATE), "2000-02-29", 11016),
        (Attribute("a", T.DATE), "0001-01-01", -719162),
        (Attribute("a", T.DATE), "9999-12-31", 2932896),
        (Attribute("a", T.DATETIME), "1970-01-01T00:00:00Z", 0),
        (Attribute("a", T.DATETIME), "1969-12-31T23:59:59.999999Z", -1),
        (Attribute("a", T.DATETIME), "1970-01-01T01:00:00+01:00", 0),
        (Attribute("a", T.DATETIME), "0001-01-01T00:00:00Z", DOMAINS[T.DATETIME][0]),
        (Attribute("a", T.DATETIME), "9999-12-31T23:59:59.999999Z", DOMAINS[T.DATETIME][1]),
    ],
)
def test_numbers(attribute, value, number):
    typed = attribute.read(value)
    assert typed.number == number
    assert typed.scalar == number + OFFSET
    assert 0 <= typed.scalar < 1 << 64
    assert attribute.read(typed.json) == typed


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *[
            (Attribute("a", T.INTEGER), value)
            for value in (
                1.5, 0.1 + 0.2, 2.0**53, 1e300,
                True, None, 2**53, "5", "0", "-0", "+9223372036854775807", "09007199254740993", "9007199254740991",
                "9223372036854775808", "-9223372036854775809", " 9007199254740993", "9007199254740993\n",
                "９００７１９９２５４７４０９９３", "9_007_199_254_740_993", "9007199254740993.0", "1e18", [], {},
            )
        ],
        *[
            (Attribute("a", T.DECIMAL, 2), value)
            for value in (
                True, 2**53, 1.234, 0.1 + 0.2, 2.0**53,
                "", ".5", "1.", "01.5", "+1", "-0", "-0.00", "1e2", "1,5", "1.500", "1.234", " 1", "1\n", "NaN", "Infinity",
                "92233720368547758.08", "-92233720368547758.09", "1" * 40, "１",
            )
        ],
        *[
            (Attribute("a", T.DATE), value)
            for value in (
                0, "", "1969-4-1", "1969-02-29", "1900-02-29", "0000-01-01", "10000-01-01", "1969-W01-1", "19690401", "1969-04-01Z",
                "1969-04-01\n", "-1969-04-01", "1969-13-01",
            )
        ],
        *[
            (Attribute("a", T.DATETIME), value)
            for value in (
                0, "", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00z", "2026-01-01T24:00:00Z",
                "2016-12-31T23:59:60Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00Z",
                "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00,5Z",
            )
        ],
        *[(Attribute("a", T.BOOLEAN), value) for value in (0, 1, "true", None)],
        *[(Attribute("a", T.STRING), value) for value in (0, None, "x" * 1025, "é" * 513, "\ud800", ["x"])],
    ],
)  # fmt: skip
def test_refusals(attribute, value):
    with pytest.raises(ValueRefused) as refusal:
        attribute.read(value)
    assert not (isinstance(value, str) and len(value) > 3 and value in str(refusal.value)), (
        "the refusal quotes the value"
    )


def test_a_value_outside_a_narrowed_domain_is_refused():
    age = Attribute("age", T.INTEGER, low=0, high=255)
    assert age.read(0).number == 0
    assert age.read(255).number == 255
    for value in (-1, 256):
        with pytest.raises(ValueRefused):
            age.read(value)


def test_a_name_has_up_to_64_characters():
    assert len(Attribute("x" * 64, T.STRING).name) == 64


@pytest.mark.parametrize(
    "make",
    [
        lambda: Attribute("", T.STRING),
        lambda: Attribute("x" * 65, T.STRING),
        lambda: Attribute("a\n", T.STRING),
        lambda: Attribute("e\u0301", T.STRING),
        lambda: Attribute("a", T.INTEGER, scale=1),
        lambda: Attribute("a", T.DECIMAL, scale=10),
        lambda: Attribute("a", T.DECIMAL, scale=-1),
        lambda: Attribute("a", T.DECIMAL, scale=True),
        lambda: Attribute("a", T.STRING, low=0),
        lambda: Attribute("a", T.BOOLEAN, high=1),
        lambda: Attribute("a", T.INTEGER, low=5, high=5),
        lambda: Attribute("a", T.INTEGER, low=5, high=4),
        lambda: Attribute("a", T.INTEGER, low=-(2**63) - 1),
        lambda: Attribute("a", T.INTEGER, high=2**63),
        lambda: Attribute("a", T.DATE, high=2932897),
    ],
)
def test_attributes_that_no_schema_has(make):
    with pytest.raises(ValueRefused):
        make()


def test_null_empty_and_the_text_null_are_three_messages():
    text = Attribute("a", T.STRING)
    assert len({b"\x00", text.read("").encoded, text.read("null").encoded, text.read("\x00").encoded}) == 4


def test_strings_are_normalised():
    text = Attribute("a", T.STRING)
    assert text.read("e\u0301") == text.read("\u00e9")


def test_a_value_is_not_printed():
    assert "secret" not in repr(Attribute("a", T.STRING).read("secret"))


@given(number=st.integers(-(2**63), 2**63 - 1), scale=st.integers(0, 9))
def test_decimals_are_exact(number, scale):
    assert Attribute("a", T.DECIMAL, scale).read(decimal_text(number, scale)).number == number


@given(number=st.integers(-(2**63), 2**63 - 1))
def test_integers_have_one_json_form(number):
    typed = Attribute("a", T.INTEGER).read(number if abs(number) < 2**53 else str(number))
    assert isinstance(typed.json, int) == (abs(number) < 2**53)
    assert typed.number == number


@given(moment=st.datetimes(), other=st.datetimes())
def test_datetimes_keep_their_order(moment, other):
    attribute = Attribute("a", T.DATETIME)
    first, second = (attribute.read(f"{time.isoformat()}Z") for time in (moment, other))
    assert (first.number < second.number) == (moment < other)
    assert first.json == f"{moment.isoformat()}Z"
