"""The pages for anybody and for holders in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.ui.visiting import (
    MARKUP,
    PAGES,
    Open,
    Site,
    examine,
    give_delegation,
    has_states,
    operator_signs_in,
    sign_in,
    sign_out,
    tab_to,
)


def test_anybody_finds_a_did_its_transaction_and_what_this_is(site: Site, open_window: Open) -> None:
    page, watched = open_window()
    page.goto(f"{site.url}/")
    expect(page.locator("h1")).to_have_text("Prove something about you without showing it")
    watched.look(page)
    page.fill("#q", f"  {site.did('hana')}#key-1 ")
    page.press("#q", "Enter")
    expect(page.locator("main dd code").first).to_have_text(site.did("hana"))
    expect(page.locator("dl").first).to_contain_text(re.compile(r"Entry [1-9]\d* of [1-9]\d*"))
    watched.look(page)
    page.click("td a[href*=transaction]")
    expect(page.locator("h1")).to_contain_text("is in the tree")
    watched.look(page)
    transaction = page.locator("dd code").first.inner_text()
    page.goto(f"{site.url}/ui")
    page.fill("#q", f"0x{transaction.upper()}")
    page.press("#q", "Enter")
    expect(page).to_have_url(f"{site.url}/ui/transaction/{transaction}")
    page.goto(f"{site.url}/ui/did/did:ids:absent")
    expect(page.get_by_role("alert")).to_be_visible()
    watched.look(page)


def test_the_verdict_about_a_pasted_proof_comes_into_the_page(site: Site, open_window: Open) -> None:
    page, watched = open_window()
    page.goto(f"{site.url}/ui/verify")
    page.evaluate("window.stays = true")
    page.fill("#proof", json.dumps({"proof": MARKUP}))
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#result h2").first).to_contain_text("Not valid")
    page.fill("#proof", MARKUP)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#result [role=alert]")).to_contain_text("This is not JSON")
    assert page.evaluate("window.stays")
    watched.look(page)


def test_the_pages_for_anybody_need_no_script(site: Site, open_window: Open) -> None:
    page, _ = open_window(java_script_enabled=False)
    page.goto(f"{site.url}/ui")
    page.fill("#q", site.did("hana"))
    page.get_by_role("button", name="Look up").click()
    expect(page.locator("main dd code").first).to_have_text(site.did("hana"))
    page.goto(f"{site.url}/ui/verify")
    page.fill("#proof", '{"proof":"x"}')
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#result h2").first).to_contain_text("Not valid")
    page.goto(f"{site.url}/ui/sign-in")
    expect(page.locator("noscript p")).to_be_visible()


def test_the_keyboard_is_enough(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    page.goto(f"{site.url}/ui")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "#q")
    page.keyboard.type(site.did("hana"))
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("…")


def test_german_and_dark_are_the_readers_choice(site: Site, open_window: Open) -> None:
    light, _ = open_window(color_scheme="light")
    dark, watched = open_window(locale="de-DE", color_scheme="dark")
    for page in (light, dark):
        page.goto(f"{site.url}/ui")
    expect(dark.locator("html")).to_have_attribute("lang", "de")
    expect(dark.locator("h1")).to_have_text("Beweisen Sie etwas über sich, ohne es zu zeigen")
    background = "getComputedStyle(document.body).backgroundColor"
    assert light.evaluate(background) == "rgb(246, 247, 249)"
    assert sum(map(int, re.findall(r"\d+", dark.evaluate(background))[:3])) < 150
    watched.look(dark)


def test_holder_gives_stops_and_revokes_delegation_and_sees_it(site: Site, open_window: Open) -> None:
    page, watched = open_window()
    sign_in(page, site, keep=True, to="agents")
    give_delegation(page, site, MARKUP)
    expect(page.locator(".cards article")).to_contain_text(MARKUP)
    expect(page.locator(f".cards h2 [title='{site.did('aki')}']")).to_have_count(1)
    has_states(page, "Active")
    watched.look(page)
    page.click("#stop-everything")
    has_states(page, "Stopped")
    expect(page.locator("#stop-everything")).to_have_count(0)
    page.get_by_role("button", name="Let it continue").click()
    has_states(page, "Active")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="End for good").click()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="End for good").click()
    expect(page.locator(".cards")).to_have_count(0)
    page.goto(f"{site.url}/ui/agents?state=ended")
    has_states(page, "Ended for good")
    page.goto(f"{site.url}/ui/home")
    said = page.locator("#rows li p:first-child").all_inner_texts()
    words = ("for good", "You let", "You stopped", "a permission")
    assert [word in line for word, line in zip(words, said, strict=True)] == [True] * 4
    for name in PAGES:
        page.goto(f"{site.url}/ui/{name}")
        watched.look(page)
    page.goto(f"{site.url}/ui/keys")
    expect(page.get_by_text("In use now")).to_have_count(1)


def test_change_without_stored_key_needs_file(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sign_in(page, site, "ida")
    give_delegation(page, site, "first")
    expect(page.locator("#signing")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#create-delegation button[type=submit]")).to_be_enabled()
    page.click("#create-delegation button[type=submit]")
    # The dialog forgets an earlier file when it opens.
    expect(page.locator("#signing")).to_be_visible()
    page.set_input_files("#change-keys", site.keys("hana"))
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator("[data-message=other]")).to_be_visible()
    page.click("#create-delegation button[type=submit]")
    # The dialog forgets an earlier file when it opens.
    expect(page.locator("#signing")).to_be_visible()
    page.set_input_files("#change-keys", site.keys("ida"))
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator(f".cards h2 [title='{site.did('aki')}']")).to_have_count(1)
    assert page.locator(".cards article").count() == 1


def test_a_holder_stops_agents_without_scripts_and_without_a_key(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sign_in(page, site, "eva", keep=True)
    for purpose in ("older", "newer"):
        give_delegation(page, site, purpose)
        expect(page.locator(".cards")).to_contain_text(purpose)
    plain, watched = open_window(java_script_enabled=False)
    plain.context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
    plain.goto(f"{site.url}/ui/agents")
    plain.locator(".cards button.stop").first.click()
    has_states(plain, "Active", "Stopped")
    plain.click("#stop-everything")
    has_states(plain, "Stopped", "Stopped")
    watched.look(plain)
    page.goto(f"{site.url}/ui/home")
    expect(page.locator("#rows li[data-kind='delegation.suspended']")).to_have_count(2)


def test_signing_out_forgets_the_session_and_the_key(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sign_in(page, site, keep=True)
    stored = """new Promise((resolve) => { const asked = indexedDB.open("identity", 1); asked.onsuccess = () => {
      const found = asked.result.transaction("signer").objectStore("signer").get("signer");
      found.onsuccess = () => { asked.result.close(); resolve(found.result ? found.result.key.extractable : null); }; }; })"""
    assert page.evaluate(stored) is False
    assert page.evaluate("document.cookie") == ""
    sign_out(page, site)
    assert page.evaluate(stored) is None
    assert page.context.cookies() == []
    page.go_back()
    page.reload()
    expect(page).to_have_url(re.compile("sign-in"))


def test_a_session_that_ended_meanwhile_asks_to_sign_in_again(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sign_in(page, site)
    page.context.clear_cookies()
    page.get_by_role("link", name="Agents", exact=True).click()
    expect(page).to_have_url(re.compile(r"sign-in\?to=agents"))


def test_a_file_that_holds_no_key_is_said_to_be_none(site: Site, open_window: Open, tmp_path: Path) -> None:
    page, _ = open_window()
    file = tmp_path / "keys.json"
    for content in ("", "[]", '{"did": "did:ids:x", "keys": {"authentication": {"privateKey": "z0"}}}'):
        file.write_text(content)
        page.goto(f"{site.url}/ui/sign-in")
        expect(page.locator("[data-message=file]")).to_be_hidden()
        page.set_input_files("#keys", file)
        page.click("#sign-in button")
        expect(page.locator("[data-message=file]")).to_be_visible()


def test_a_challenge_of_another_origin_is_not_signed(site: Site, open_window: Open) -> None:
    """What a service in between would do: hand on a challenge that is good elsewhere."""
    elsewhere = site.url.replace("127.0.0.1", "localhost")
    page, _ = open_window(elsewhere)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.goto(f"{elsewhere}/ui/sign-in")
    page.set_input_files("#keys", site.keys("hana"))
    page.click("#sign-in button")
    expect(page.locator("[data-message=challenge]")).to_be_visible()
    assert [url for url in sent if url.endswith("/ui/session")] == []


def test_a_challenge_that_says_more_than_was_asked_is_not_signed(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    # The DID, the purpose, and the hash of what is to be sent.
    lies = [(2, site.did("aki")), (3, "delegate"), (4, "-")]

    def lie(route: Any) -> None:
        answer = route.fetch()
        value = answer.json()
        words = value["challenge"].split(" ")
        place, word = lies.pop()
        words[place] = word
        route.fulfill(response=answer, json=value | {"challenge": " ".join(words)})

    page.route("**/auth/challenge?*", lie)
    for _ in range(len(lies)):
        page.goto(f"{site.url}/ui/sign-in")
        expect(page.locator("[data-message=challenge]")).to_be_hidden()
        page.set_input_files("#keys", site.keys("hana"))
        page.click("#sign-in button")
        expect(page.locator("[data-message=challenge]")).to_be_visible()
    assert lies == []


def test_operator_sees_last_hour_as_plot_or_table(site: Site, open_window: Open) -> None:
    page, watched = open_window(color_scheme="dark")
    operator_signs_in(page, watched, site)
    while page.locator(".plot").count() == 0:
        # The second sample is taken two seconds after the start.
        page.reload()
    expect(page.locator(".plot canvas")).to_have_count(3)
    watched.look(page)
    examine(page)
    plain, hers = open_window(java_script_enabled=False)
    operator_signs_in(plain, hers, site)
    plain.get_by_text("All figures as a table").click()
    expect(plain.locator("#figures td").first).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    assert plain.locator("#figures tbody tr").count() > 1
