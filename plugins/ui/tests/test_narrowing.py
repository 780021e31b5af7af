"""The members that a narrower delegation inherits from the wider one, and the remaining limits."""

from typing import Any

import pytest
from identity_ui.holder import narrowed

WIDE: dict[str, Any] = {
    "id": "1",
    "holderDid": "did:ids:hana",
    "agentDid": "did:ids:aki",
    "credentialIds": ["urn:uuid:1"],
    "schemaIds": None,
    "verifiers": ["https://shop.example"],
    "maxDepth": 2,
    "maxRefusals": 3,
    "refusals": 1,
    "maxThresholds": None,
    "thresholds": 7,
    "status": "active",
    "notBefore": "2026-01-01T00:00:00Z",
    "purpose": None,
}


def test_the_scope_stays_and_limits_are_what_is_left() -> None:
    assert narrowed(WIDE) == {
        "holderDid": "did:ids:hana",
        "agentDid": "did:ids:aki",
        "credentialIds": ["urn:uuid:1"],
        "schemaIds": None,
        "verifiers": ["https://shop.example"],
        "maxDepth": 2,
        "maxRefusals": 2,
        "maxThresholds": None,
    }


@pytest.mark.parametrize("used", [3, 4])
def test_a_limit_that_is_used_up_leaves_none(used: int) -> None:
    assert narrowed(WIDE | {"maxThresholds": 3, "thresholds": used})["maxThresholds"] == 0


def test_one_that_has_not_begun_begins_when_it_would_have() -> None:
    assert narrowed(WIDE | {"status": "scheduled", "purpose": "wine"})["notBefore"] == "2026-01-01T00:00:00Z"
    assert narrowed(WIDE | {"status": "scheduled", "purpose": "wine"})["purpose"] == "wine"
