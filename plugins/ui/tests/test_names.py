"""The name of a DID on a page, and that no page prints a DID without it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from identity_ui.catalogues import TEMPLATES
from identity_ui.names import DidName, Names, dids_in, name_of, title_of
from identity_ui.operations import ask_until

from identity_core.api.request import Answer, Request
from identity_core.domain.callers import Caller
from identity_core.errors import InvalidDid
from identity_core.wire import ListDidsQuery

DID = "did:ids:QmSQdE7kRbgMzsSxPyKgUq7tgwJKmocZUDn5UyUHVFAY94"
DOMAIN = {"domain": {"origin": "https://shop.example"}, "claim": "The Shop"}


@pytest.mark.parametrize(
    ("labels", "described", "expected"),
    [
        ({DID: "My shop"}, DOMAIN, DidName("My shop", "label")),
        ({}, DOMAIN, DidName("https://shop.example", "domain")),
        ({}, DOMAIN | {"domain": None}, DidName("“The Shop”", "claim")),
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


def test_dids_of_a_page_are_found_in_their_members() -> None:
    shown = {"agentDid": "did:ids:aki", "items": [{"did": "did:ids:hana"}, {"holderDid": None}], "domain": "did:ids:no"}
    assert dids_in(shown) == {"did:ids:aki", "did:ids:hana"}


def test_malformed_did_on_a_page_costs_only_the_names() -> None:
    async def describe_dids(_: object) -> Answer:
        raise InvalidDid

    names = Names(None, SimpleNamespace(describe_dids=describe_dids))  # type: ignore[arg-type]
    session = SimpleNamespace(caller=None)
    asked = Request(request_id="r", headers={})
    assert asyncio.run(names.describe(asked, session, {"issuerDid": "shop"})) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("titled", "expected"),
    [
        ({"title": "Person", "titles": {"de": "Mensch"}}, ("Mensch", None)),
        ({"title": "Person", "titles": {"fr": "Personne"}}, ("Person", "")),
        ({"titles": {"fr": "Personne"}}, ("Personne", "fr")),
        ({}, ("", "")),
    ],
)
def test_title_states_the_language_that_is_not_the_reader_s(titled: Any, expected: tuple[str, str | None]) -> None:
    title = title_of(Request(request_id="r", headers={"accept-language": "de"}), titled)
    assert (str(title), title.lang) == expected


@pytest.mark.parametrize(("most", "pages", "count"), [(1, 3, 1), (2, 4, 2), (99, 5, 2), (0, 1, 0)])
def test_a_list_is_read_until_enough_is_found(most: int, pages: int, count: int) -> None:
    read = list[str | None]()

    async def list_dids(request: Request) -> Answer:
        read.append(request.query.cursor)
        place = len(read)
        cursor = f"after {place}" if place < 5 else None
        return Answer(200, {"items": [{"n": place}, {"n": place + 10}], "nextCursor": cursor})

    asked = Request(request_id="r")
    found, cursor = asyncio.run(
        ask_until(list_dids, asked, ListDidsQuery(), Caller(), lambda one: one["n"] in (3, 14), most)
    )
    assert [one["n"] for one in found] == [3, 14][:count]
    assert read == [None, *(f"after {place}" for place in range(1, pages))]
    assert cursor == (f"after {pages}" if pages < 5 else None)
