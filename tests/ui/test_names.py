"""Names on the pages: titles of credential types and attributes stand where identifiers stood."""

from __future__ import annotations

from identity_ui.render import short
from playwright.sync_api import expect

from identity_client import Session
from tests.ui.visiting import Open, Site, arrives, examine, give_delegation, issue, sign_in


def test_titles_stand_for_types_and_limit_the_builder(site: Site, open_window: Open) -> None:
    issue(Session(site.url, api_key=site.api_key), site.did("hana"), age=37, income=1, country="Wakanda")
    page, watched = open_window(locale="de-DE")
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


def test_a_nickname_stands_where_the_did_stood(site: Site, open_window: Open) -> None:
    aki = site.did("aki")
    page, watched = open_window()
    sign_in(page, site, keep=True)
    page.goto(f"{site.url}/ui/did/{aki}")
    expect(page.locator("h1")).to_have_text(short(aki))
    page.fill("#label", "My shopping helper")
    page.click("#nickname button")
    expect(page.locator("h1")).to_have_text("My shopping helper")
    page.wait_for_load_state()
    watched.look(page)
    examine(page)
    give_delegation(page, site, "nicknames")
    arrives(page, f"{site.url}/ui/agents")
    expect(page.locator(".cards h2").first).to_contain_text("My shopping helper")
    assert page.locator(f".cards h2 [title='{aki}']").count() >= 1
    # Another reader and an operator see the DID.
    other, _ = open_window()
    sign_in(other, site, "vera")
    other.goto(f"{site.url}/ui/did/{aki}")
    expect(other.locator("h1")).to_have_text(short(aki))
    page.goto(f"{site.url}/ui/did/{aki}")
    page.fill("#label", "")
    page.click("#nickname button")
    expect(page.locator("h1")).to_have_text(short(aki))
