"""The vectors of PROTOCOL.md §2.1 are what this package signs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from identity_core.domain.credentials.attributes import NULL_OCTETS, NULL_SCALAR, Attribute, AttributeType, ValueRefused
from identity_core.domain.credentials.schema import Schema
from plugins.prover_bbs.tests.canonical_values import REFUSED, TAKEN, TARGET

VECTORS: dict[str, Any] = json.loads(Path(TARGET).read_text(encoding="utf-8"))


def attribute(case: dict[str, Any]) -> Attribute:
    return Attribute("a", AttributeType(case["type"]), case["scale"])


@pytest.mark.parametrize("case", VECTORS["taken"], ids=lambda case: f"{case['type']} {case['text'][:32]}")
def test_signed_bytes_of_values(case: dict[str, Any]) -> None:
    one = attribute(case)
    messages = Schema("s", (one,)).messages({"a": case["value"]})
    numeric = [] if case["numeric"] is None else [int(case["numeric"])]
    assert [*messages] == [bytes.fromhex(case["hashed"]), *numeric]
    assert one.accept(case["value"]).text == case["text"]
    # The canonical form is its own: what is answered can be signed again.
    assert one.read(one.read(case["value"]).json).text == case["text"]


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: f"{case['type']} {str(case['value'])[:32]}")
def test_no_value_has_an_invalid_form(case: dict[str, Any]) -> None:
    with pytest.raises(ValueRefused):
        attribute(case).accept(case["value"])


def test_null_and_the_whole_file() -> None:
    assert bytes.fromhex(VECTORS["null"]["hashed"]) == NULL_OCTETS
    assert int(VECTORS["null"]["numeric"]) == NULL_SCALAR
    assert (len(VECTORS["taken"]), len(VECTORS["refused"])) == (len(TAKEN), len(REFUSED))
