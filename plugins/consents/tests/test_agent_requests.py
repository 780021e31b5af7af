"""An agent's request as it is read to the holder: what is not a request, what would deceive her, and what she is to sign."""

from __future__ import annotations

import json
from typing import Any

import pytest
from identity_consents.requests import MAX_PREDICATES, read_request

from identity_client.ibct import action_text
from identity_core.errors import InvalidRequest

AGENT = "did:ids:QmbYSfSWrWSqYAm23HgjgmszQTEWAamxKm5WsS5vrBRXaR"
AGE = {"attributeName": "age", "type": "gte", "value": 18}


def asking(**change: Any) -> str:
    return json.dumps({"agentDid": AGENT, "predicates": [AGE]} | change)


def test_signature_pins_shown_values() -> None:
    country = {"attributeName": "country", "type": "set_member", "value": ["DE", "FR"]}
    found = read_request(
        asking(predicates=[AGE, country], domain="https://shop.example", purpose="Einkauf für Größe 7")
    )
    assert found.predicates == (AGE, country)
    assert found.actions == (
        action_text("age", "gte", pin=18),
        action_text("country", "set_member", pin=["DE", "FR"]),
    )
    assert (found.agent, found.domain, found.purpose) == (AGENT, "https://shop.example", "Einkauf für Größe 7")
    assert found.attributes == {"age", "country"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '"x"',
        "{",
        "{}",
        json.dumps({"agentDid": AGENT}),
        json.dumps({"predicates": [AGE]}),
        '{"agentDid":"a","agentDid":"b","predicates":[]}',
        asking(agentDid="Aki"),
        asking(agentDid=7),
        asking(predicates=[]),
        asking(predicates=[AGE | {"value": number} for number in range(MAX_PREDICATES + 1)]),
        asking(predicates=[AGE, AGE]),
        asking(predicates=AGE),
        asking(predicates=[AGE | {"type": "same"}]),
        asking(predicates=[AGE | {"type": "reveal"}]),
        asking(predicates=[{"attributeName": "age", "type": "gte"}]),
        asking(predicates=[AGE | {"value": None}]),
        asking(predicates=[AGE | {"value": {"a": 1}}]),
        asking(predicates=[AGE | {"value": []}]),
        asking(predicates=[AGE | {"attributeName": ""}]),
        asking(predicates=[AGE | {"attributeName": "x" * 500}]),
        asking(predicates=[AGE | {"more": 1}]),
        asking(ibct={}),
        asking(domain=7),
        asking(purpose="x" * 201),
    ],
)
def test_malformed_request_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_request(text)
    assert str(refused.value)


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\n", "\x00", "\x1b", "\ufeff"])
@pytest.mark.parametrize("member", ["domain", "purpose", "attributeName", "value", "element"])
def test_text_that_would_look_like_something_else_is_refused(character: str, member: str) -> None:
    text = f"shop{character}example"
    text_of = {
        "attributeName": asking(predicates=[AGE | {"attributeName": text}]),
        "value": asking(predicates=[AGE | {"type": "eq", "value": text}]),
        "element": asking(predicates=[AGE | {"type": "set_member", "value": ["a", text]}]),
    }
    with pytest.raises(InvalidRequest):
        read_request(text_of.get(member) or asking(**{member: text}))
