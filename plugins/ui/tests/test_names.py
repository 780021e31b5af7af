"""The name of a DID on a page, and that no page prints a DID without it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from identity_ui.catalogues import TEMPLATES
from identity_ui.names import DidName, name_of

DID = "did:ids:QmSQdE7kRbgMzsSxPyKgUq7tgwJKmocZUDn5UyUHVFAY94"
DOMAIN = {"domain": {"origin": "https://shop.example"}, "claim": "The Shop"}


@pytest.mark.parametrize(
    ("labels", "described", "expected"),
    [
        ({DID: "My shop"}, DOMAIN, DidName("My shop", "label")),
        ({}, DOMAIN, DidName("https://shop.example", "domain")),
        ({}, DOMAIN | {"domain": None}, DidName("The Shop", "claim")),
        ({}, {"domain": None, "claim": None}, DidName("did:ids:QmSQ…AY94", "did")),
    ],
    ids=["label", "domain", "claim", "did"],
)
def test_a_name_is_what_the_reader_can_trust_most(labels: Any, described: Any, expected: DidName) -> None:
    assert name_of(DID, labels, {DID: described}) == expected
    assert name_of(DID, {"did:ids:another": "Another"}, {}).kind == "did"


@pytest.mark.parametrize("page", sorted(TEMPLATES.glob("*.html")), ids=lambda page: page.name)
def test_a_template_prints_a_did_by_its_name(page: Path) -> None:
    printed = re.findall(r"\{\{ ?[\w.]+Did(?: \| \w+)? ?\}\}", page.read_text())
    assert [one for one in printed if "urlencode" not in one and "| tojson" not in one] == []
