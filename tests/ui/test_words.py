"""Words of the pages that a reader needs to answer without guessing: who asks, what was allowed, what has ended."""

from __future__ import annotations

import re

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
    expect(page.locator("#stop-all")).to_contain_text("Stops Aki and Cy at once.")


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
    deep = (
        "/agents/new/nope",
        "/did",
        "/proof/a/b",
        "/transaction/",
        "/operator/dids/nope",
        "/consent/reply",
        "/static/x/y",
    )
    for path in ("/nope", "/nope/nope", "/operator/nope", *deep):
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


def test_proof_states_who_checked_it_and_under_which_permission(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", f"/proof/{scene.named['proof']}")
    expect(page.locator(".feed li").first).to_contain_text("checked it. It was valid.")
    expect(page.locator(f".feed b[title='{site.did('vera')}']")).to_be_visible()
    expect(page.locator("main dl").first).to_contain_text("“Buying at the shop”")


def test_credential_states_its_uses_and_who_asked(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", "/credentials")
    expect(page.locator("article dl").first).to_contain_text("One time, last")
    for name in ("Aki", "“Bo”"):
        expect(page.locator("article dl").first).to_contain_text(name)
    # Who issued it is not a party to its use.
    expect(page.locator("article dl").first).not_to_contain_text("City registry")


def test_ledger_has_its_newest_entry_in_the_tree(scene: Scene, site: Site, open_window: Open) -> None:
    page, watched = open_window()
    operator_signs_in(page, watched, site)
    page.goto(f"{site.url}/ui/operator/ledger")
    size = int(page.locator("#size").inner_text())
    expect(page.locator("#inc")).to_have_text(f"Entry {size} is in the tree")
    expect(page.locator("main .pill.ok")).to_have_text("Computed: this is the root")
    expect(page.locator("svg.draw text").last).to_be_attached()
    page.goto(f"{site.url}/ui/operator/dids")
    expect(page.locator("nav.pages")).to_contain_text(f"1–{min(size, 25)} of {size}")
    examine(page)


def test_answer_is_told_in_one_sentence_and_no_longer_waits(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", f"/consent?id={scene.named['consent']}")
    page.get_by_role("button", name="Approve and sign").click()
    expect(page.locator("h1")).to_have_text("Approved")
    expect(page.locator("#told")).to_have_text("“Bo” has your answer")
    expect(page.locator("#approved")).to_contain_text("may prove once, within 1 hour, to shop.example that your age")
    expect(page.locator(".side .count")).to_be_hidden()
    expect(page.get_by_text("If you do not know this agent")).to_be_hidden()
    examine(page)


def test_titles_in_another_language_have_a_lang_attribute(scene: Scene, site: Site, open_window: Open) -> None:
    page, _ = open_window(locale="de-DE")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    sign_in(page, site, "hana", keep=True)
    page.goto(f"{site.url}/ui/credentials")
    assert page.locator("html").get_attribute("lang") == "de"
    # The type has one title, and nothing says in which language.
    expect(page.locator("article h2 bdi")).to_have_attribute("lang", "")
    page.goto(f"{site.url}/ui/did/did:ids:absent")
    expect(page.locator("[role=alert] [lang=en]").first).to_be_visible()
    examine(page)


def test_example_is_valid_and_shows_what_is_refused(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.goto(f"{site.url}/ui/verify")
    page.get_by_role("button", name="Try an example").click()
    expect(page.locator("#result h2").first).to_have_text("Valid, and made for you")
    assert page.locator("#value").input_value() == "18"
    page.fill("#value", "21")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#result h2").first).to_contain_text("Not valid")
    assert [url for url in sent if "/api/" in url] == []
    examine(page)


def test_file_may_be_dropped_on_its_part(site: Site, open_window: Open) -> None:
    """A file that is dropped beside the button of the field would replace the page."""
    page, _ = open_window()
    page.goto(f"{site.url}/ui/verify")
    page.evaluate(
        """() => {
          const carried = new DataTransfer();
          carried.items.add(new File(["{}"], "proof.json"));
          const event = (name) => new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer: carried });
          const part = document.querySelector(".drop b");
          window.taken = [part.dispatchEvent(event("dragover")), part.dispatchEvent(event("drop"))];
        }"""
    )
    assert page.evaluate("window.taken") == [False, False]
    expect(page.locator("#proof")).to_have_value("{}")


@pytest.mark.parametrize("with_scripts", [True, False])
def test_website_is_taken_as_pages_show_it(scene: Scene, site: Site, open_window: Open, with_scripts: bool) -> None:
    """Pages show no scheme, so a reader types none. Another website is still refused."""
    page, _ = open_window(java_script_enabled=with_scripts)
    for domain, told in (
        ("shop.example", "Genuine"),
        ("https://shop.example", "Genuine"),
        ("other.example", "Not valid"),
    ):
        page.goto(f"{site.url}/ui/verify")
        page.fill("#proof", scene.named["proof-text"])
        page.fill("#domain", domain)
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.locator("#result h2").first).to_contain_text(told)


def test_german_pages_fit_a_small_phone(scene: Scene, site: Site, open_window: Open) -> None:
    """Its words are longer than English ones; 320 px is the smallest width that WCAG 1.4.10 asks for."""
    page, watched = open_window(locale="de-DE")
    page.set_viewport_size({"width": 320, "height": 700})
    for path in ("", "/verify", "/check-log?kind=place", "/sign-in", "/nope"):
        page.goto(f"{site.url}/ui{path}")
        watched.look(page)
    sign_in(page, site, "city", keep=True)
    for path in ("/keys", "/agents/new", "/issued", f"/issue?type={scene.named['type']}", "/results", "/ask"):
        page.goto(f"{site.url}/ui{path}")
        watched.look(page)


def test_keys_state_since_when_they_are_there(scene: Scene, site: Site, open_window: Open) -> None:
    page = open_page(open_window, site, "hana", "/keys")
    expect(page.locator("td[data-th=Since] time")).to_have_count(1)
    expect(page.locator("td[data-th=Since] time")).to_have_attribute("datetime", re.compile(r"^20\d\d-"))


def test_sentence_of_a_permission_is_what_is_signed(scene: Scene, site: Site, open_window: Open) -> None:
    """Lines replace the question above them. One verifier is one, also then."""
    page = open_page(open_window, site, "hana", "/agents/new")
    page.fill("#agent", site.did("aki"))
    page.fill("#attribute", "age")
    page.fill("#value", "18")
    sentence, warning = page.locator("#sentence"), page.get_by_text("You sign these actions as they are")
    expect(sentence).to_contain_text("age is at least 18")
    expect(warning).to_be_hidden()
    page.get_by_text("More than one question").click()
    page.fill("#actions", "zkp.prove.*.*\nzkp.credential")
    expect(sentence).to_contain_text("zkp.prove.*.*, zkp.credential")
    expect(sentence).not_to_contain_text("at least 18")
    expect(warning).to_be_visible()
    expect(page.get_by_text("The verifier learns that this is so")).to_be_hidden()
    page.click("#create-delegation button[type=submit]")
    assert not page.eval_on_selector("#verifier", "one => one.validity.valid"), "one verifier, and none is named"
    page.fill("#verifier", "shop.example")
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/delegations")) as sent:
        page.click("#create-delegation button[type=submit]")
    body = sent.value.post_data_json
    assert (body["actions"], body["verifiers"]) == (["zkp.prove.*.*", "zkp.credential"], ["https://shop.example"])
