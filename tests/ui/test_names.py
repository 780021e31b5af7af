"""Names on the pages: titles of credential types and attributes stand where identifiers stood."""

from __future__ import annotations

from playwright.sync_api import expect

from identity_client import Client
from tests.ui.visiting import Open, Site, examine, issue, sign_in


def test_titles_stand_for_types_and_limit_the_builder(site: Site, opened: Open) -> None:
    issue(Client(site.url, api_key=site.api_key), site.did("hana"), age=37, income=1, country="Wakanda")
    page, watched = opened(locale="de-DE")
    sign_in(page, site, to="credentials")
    expect(page.locator(".cards h2").first).to_have_text("Person of age")
    watched.look(page)
    page.goto(f"{site.url}/ui/agents/new")
    expect(page.locator("#credential option").nth(1)).to_contain_text("Person of age")
    expect(page.locator("#attributes option[value=age]")).to_have_text("Alter in Jahren")
    page.fill("#attribute", "age")
    page.fill("#value", "151")
    expect(page.locator("#value-hint")).to_have_text("0 – 150")
    assert page.locator("#value").evaluate("field => field.validationMessage") != ""
    page.fill("#value", "18")
    assert page.locator("#value").evaluate("field => field.validationMessage") == ""
    watched.look(page)
    examine(page)
