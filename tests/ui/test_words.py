"""Words of the pages that a reader needs to answer without guessing: who asks, what was allowed, what has ended."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from identity_client import Session
from tests.ui.scenes import Scene
from tests.ui.visiting import Open, Site, examine, operator_signs_in, sign_in

WIDE = {"width": 1280, "height": 844}


@pytest.fixture(scope="module")
def scene(site: Site) -> Scene:
    return Scene(site)


def open_page(open_window: Open, site: Site, who: str, path: str) -> Page:
    page, _ = open_window()
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    sign_in(page, site, who, keep=True)
    page.goto(f"{site.url}/ui{path}")
    return page


def test_a_waiting_request_is_counted_in_the_navigation(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", "/keys")
    expect(page.locator(".side .count")).to_have_text("1 waiting")
    expect(page.locator(".face")).to_be_visible()
    page.goto(f"{site.url}/ui/consent?id={scene.named['consent']}")
    expect(page.locator("h1")).to_have_text("“Bo” asks: is your age at least 18?")
    expect(page.locator("main")).to_contain_text("that City registry confirms it")


def test_activity_states_what_was_allowed_and_filters_by_agent(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", "/activity")
    expect(page.locator("#rows")).to_contain_text("You let Aki prove that your age is at least 18 to shop.example.")
    expect(page.locator("#rows")).to_contain_text("City registry issued you a credential: Person.")
    assert "PREDICATE_NOT_SATISFIED" not in page.locator("main").inner_text()
    page.select_option("#agent", label="Aki")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#rows li:not(.day)")).to_have_count(2)
    page.fill("#before", "2020-01-01")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("main")).to_contain_text("Nothing fits")


def test_tabs_of_agents_have_counts(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", "/agents")
    expect(page.locator(".tabs a")).to_have_text(["Acting for you (3)", "Ended (0)", "Given to you (0)"])
    expect(page.locator("#stop-all")).to_contain_text("Stops Cy and Aki at once.")


def test_type_has_counts_and_attributes_in_words(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "city", "/types")
    expect(page.locator("tbody td.num")).to_have_text(["3", "1"])
    expect(page.locator("dl.kv").first).to_contain_text("a whole number, 0 to 150")
    page.goto(f"{site.url}/ui/issued")
    # The credential of Bo ends in twelve days.
    expect(page.locator(".pill.warn")).to_have_count(1)


def test_request_stands_beside_the_form(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "vera", "/ask")
    expect(page.locator("aside h2")).to_have_text("Request 4712")
    expect(page.locator("aside svg.qr")).to_be_visible()


def test_unknown_address_is_a_page(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    for path in ("/nope", "/nope/nope", "/operator/nope"):
        answer = page.goto(f"{site.url}/ui{path}")
        assert answer is not None
        assert answer.status == 404
        expect(page.locator("h1")).to_have_text("There is nothing at this address")
    examine(page)


def test_settings_are_found_by_word_and_by_group(site: Site, open_window: Open) -> None:
    page, watched = open_window()
    operator_signs_in(page, watched, site)
    page.goto(f"{site.url}/ui/operator/settings")
    expect(page.locator("#all tbody")).to_contain_text("server.host")
    page.fill("#filter", "port to listen")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#all tbody th")).to_have_text(["server.port"])
    page.goto(f"{site.url}/ui/operator/settings?group=ledger")
    expect(page.locator("#all tbody")).to_contain_text("ledger.backend")
    assert "server.host" not in page.locator("#all").inner_text()


def test_operator_creates_replaces_and_revokes_an_api_key(site: Site, open_window: Open) -> None:
    """Each change takes the administrator's key again; the new key is shown once and works."""
    page, watched = open_window()
    operator_signs_in(page, watched, site)
    page.goto(f"{site.url}/ui/operator/api-keys")
    page.get_by_role("button", name="New key").click()
    page.fill("#key-name", "shop-backend")
    page.fill("#administrator", "wrong")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("[data-refused]")).to_be_visible()
    examine(page)
    page.fill("#administrator", site.api_key)
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#made")).to_contain_text("shop-backend")
    assert page.locator("#administrator").input_value() == ""
    first = page.locator("#made code").inner_text()
    assert Session(site.url, api_key=first).call("GET", "/version")
    page.get_by_text("I have copied it").click()
    expect(page.locator("#made")).to_be_hidden()
    page.get_by_role("button", name="Replace shop-backend").click()
    page.fill("#administrator", site.api_key)
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    expect(page.locator("#made")).to_be_visible()
    assert page.locator("#made code").inner_text() != first
    page.reload()
    page.get_by_role("button", name="Revoke… shop-backend").click()
    page.fill("#administrator", site.api_key)
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.locator(".pill.bad")).to_have_count(2)
    examine(page)
    watched.look(page)


def test_copy_button_beside_a_name_copies_the_whole_did(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", "/agents")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("article", has_text="Aki").locator("h2 button.copy").click()
    expect(page.locator("#toast")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == site.did("aki")


def test_pages_load_htmx_only_where_a_form_uses_it(site: Site, open_window: Open) -> None:
    """Its 14 kB are a third of a page."""
    page, _ = open_window()
    for path, loads in (("", 0), ("/sign-in", 0), ("/verify", 2)):
        page.goto(f"{site.url}/ui{path}")
        assert page.locator("script[src*='htmx.js'], script[src*='hx-csp.js']").count() == loads
