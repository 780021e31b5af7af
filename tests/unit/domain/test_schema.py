"""The signed header and the messages: one form, both slots from one value."""

import pytest

from identity_core.domain.credentials.attributes import (
    NULL_OCTETS,
    NULL_SCALAR,
    OFFSET,
    Attribute,
    AttributeType,
    ValueRefused,
)
from identity_core.domain.credentials.schema import HEADER_TAG, Schema

T = AttributeType
SCHEMA = Schema(
    "urn:schema:1",
    (
        Attribute("name", T.STRING),
        Attribute("age", T.INTEGER, low=0, high=255),
        Attribute("ok", T.BOOLEAN),
        Attribute("height", T.DECIMAL, scale=2),
    ),
)
VALUES = {"name": "Hana", "age": 20, "ok": True, "height": "1.50"}


def test_the_header_is_frozen():
    assert SCHEMA.header == HEADER_TAG + (
        b'{"attributes":[{"name":"name","slot":0,"type":"string"},'
        b'{"domain":["0","255"],"name":"age","numericSlot":4,"slot":1,"type":"integer"},'
        b'{"name":"ok","slot":2,"type":"boolean"},'
        b'{"domain":["-9223372036854775808","9223372036854775807"],"name":"height","numericSlot":5,"scale":2,"slot":3,'
        b'"type":"decimal"}],"schema":"urn:schema:1"}'
    )
    assert Schema.from_header(SCHEMA.header) == SCHEMA


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HEADER_TAG, b""),
        (b"-V1:", b"-V2:"),
        (b'"slot":0', b'"slot":1'),
        (b'"numericSlot":4', b'"numericSlot":5'),
        (b'"numericSlot":4,', b""),
        (b'["0","255"]', b"[0,255]"),
        (b'["0","255"]', b'["00","255"]'),
        (b'["0","255"]', b'["0","255","9"]'),
        (b'["0","255"]', b'["0"]'),
        (b'"domain":["0","255"],', b""),
        (b'"scale":2', b'"scale":2.0'),
        (b'"scale":2', b'"scale":true'),
        (b'"scale":2,', b""),
        (b'"type":"integer"', b'"type":"float"'),
        (b'"type":"string"', b'"scale":0,"type":"string"'),
        (b'"name":"ok"', b'"name":"name"'),
        (b'"name":"ok"', b'"name":5'),
        (b'"schema":"urn:schema:1"', b'"schema":["urn:schema:1"]'),
        (b'"schema":"urn:schema:1"', b'"schema":"urn:schema:1","schema":"urn:schema:1"'),
        (b'"schema":"urn:schema:1"', b'"schema":"urn:schema:1","x":1'),
        (b'{"attributes"', b'{ "attributes"'),
        (b'"urn:schema:1"}', b'"urn:schema:1"}\n'),
        (b"urn:schema:1", b"urn:\\u0073chema:1"),
    ],
)
def test_any_other_header_is_refused(old, new):
    assert old in SCHEMA.header
    with pytest.raises(ValueRefused):
        Schema.from_header(SCHEMA.header.replace(old, new, 1))


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b'{"attributes":[],"schema":"x"}', b"\xff", b"1"])
def test_junk_is_no_header(body):
    with pytest.raises(ValueRefused):
        Schema.from_header(HEADER_TAG + body)


def test_a_header_says_nothing_about_its_holder_and_every_domain():
    implicit = Schema("x", (Attribute("n", T.INTEGER),))
    explicit = Schema("x", (Attribute("n", T.INTEGER, low=-OFFSET, high=OFFSET - 1),))
    assert implicit == explicit


def test_equal_schemas_share_the_header_that_was_made_once():
    data = SCHEMA.header
    assert Schema(SCHEMA.id, SCHEMA.attributes).header is data
    assert Schema.from_header(data) is Schema.from_header(bytes(bytearray(data)))


def test_messages():
    assert SCHEMA.messages(VALUES) == (b"\x01Hana", b"\x0120", b"\x01true", b"\x011.50", OFFSET + 20, OFFSET + 150)
    nulls = dict.fromkeys(VALUES)
    assert SCHEMA.messages(nulls) == (NULL_OCTETS,) * 4 + (NULL_SCALAR,) * 2
    assert SCHEMA.message_count == 6
    assert (SCHEMA.hashed_slot("age"), SCHEMA.numeric_slot("age")) == (1, 4)
    for name in ("name", "ok", "nonesuch"):
        with pytest.raises(KeyError):
            SCHEMA.numeric_slot(name)


@pytest.mark.parametrize(
    "values", [{}, {**VALUES, "more": 1}, {k: v for k, v in VALUES.items() if k != "ok"}, {**VALUES, "age": "20"}]
)
def test_values_that_are_not_the_schemas(values):
    with pytest.raises(ValueRefused):
        SCHEMA.messages(values)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Schema("", SCHEMA.attributes),
        lambda: Schema("x" * 513, SCHEMA.attributes),
        lambda: Schema("a\n", SCHEMA.attributes),
        lambda: Schema("x", ()),
        lambda: Schema("x", tuple(Attribute(f"a{n}", T.STRING) for n in range(65))),
        lambda: Schema("x", (Attribute("a", T.STRING), Attribute("a", T.INTEGER))),
        lambda: Schema("x", tuple(Attribute(f"{n:02}" + "語" * 62, T.DATETIME) for n in range(64))).header,
    ],
)
def test_schemas_that_are_refused(make):
    with pytest.raises(ValueRefused):
        make()
