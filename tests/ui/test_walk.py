"""Every page, as everybody who may see it: narrow and wide, light and dark, by keyboard, under axe, with markup where others write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from identity_client import Session, ibct
from tests.ui.visiting import (
    MARKUP,
    NARROW,
    PAGES,
    WAIT_MILLISECONDS,
    Open,
    Site,
    Watched,
    examine,
    give_delegation,
    has_states,
    issue,
    operator_signs_in,
    sign_in,
    sign_out,
    signer,
)

WIDE = {"width": 1280, "height": 800}
ANYBODY = (
    "",
    "/verify",
    "/check-log",
    "/check-log?kind=place",
    "/check-log?kind=growth",
    "/sign-in",
    "/recover",
    "/operator/sign-in",
    "/did/{did}",
    "/did/{did}?version=1",
    "/did/did:ids:absent",
    "/transaction/{transaction}",
    "/transaction/none",
    "/search?q={did}",
    "/search?q={markup}",
)
HOLDER = (
    *(f"/{name}" for name in PAGES),
    "/agents?state=ended",
    "/agents?state=given",
    "/proof/{proof}",
    "/search?q={proof}",
)
PLACES = (
    "",
    "/dids",
    "/ledger",
    "/verifications",
    "/api-keys",
    "/plugins",
    "/plugins?show=panels",
    "/audit",
    "/settings",
    "/doctor",
)
OPERATOR = tuple(f"/operator{place}" for place in PLACES)
# What the Tab key must reach; a radio button stands for its group.
REACHABLE = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")].filter(
  (one) => !one.disabled && one.type !== "hidden" && one.checkVisibility() && (one.type !== "radio" || one.checked))"""
MOST_PARTS = 30
"""Stops of the Tab key within fields of dates."""
PRESSES = 5
"""Of the Tab key, before the page is asked again what it has reached."""

FOCUSED = "() => { window.reached = new Set(); document.addEventListener('focusin', (event) => window.reached.add(event.target)); }"


@dataclass
class Walk:
    """A window for each who looks, signed in, and what is looked at."""

    site: Site
    named: dict[str, str]
    windows: dict[str, tuple[Page, Watched]] = field(default_factory=dict)

    def goes(self, who: str, path: str) -> tuple[Page, Watched]:
        page, watched = self.windows[who]
        page.goto(f"{self.site.url}/ui{path.format(**self.named)}")
        return page, watched


@pytest.fixture(scope="module")
def walk(site: Site, browser: Browser) -> Iterator[Walk]:
    """Yield a site with a credential, a delegation and a proof, where each text that a client may write contains markup."""
    with Session(site.url, api_key=site.api_key) as client:
        credential = issue(client, site.did("hana"), age=37, income=5_213_774, country="Wakanda")
        client.call("POST", "/admin/api-keys", body={"name": MARKUP, "scopes": ["audit:read"]})
        terms: dict[str, Any] = {"holderDid": site.did("hana"), "agentDid": site.did("aki"), "purpose": MARKUP}
        terms |= {
            "actions": ["zkp.prove.age.gte"],
            "autonomyLevel": 4,
            "expiresAt": "2026-12-31T00:00:00Z",
            "maxUses": 3,
        }
        given = client.call("POST", "/delegations", body=terms)
        used = client.call("POST", "/delegations", body=terms)
        client.call("POST", f"/delegations/{given['id']}/revoke", body={"reason": MARKUP})
        wish = ibct.IbctTemplate(site.did("aki"), "zkp.prove.age.gte", used["id"], timedelta(hours=1))
        asked = ibct.proof_request(ibct.sign_token(signer(site, "hana"), wish), credential, value=18)
        bearer = {"Authorization": f"Bearer {client.token(signer(site, 'aki'))['access_token']}"}
        proof = client.call("POST", "/zkp/delegated-proofs", body=asked | {"domain": MARKUP}, headers=bearer)
        (first, *_) = client.history(site.did("hana"))["items"]
    made = Walk(
        site,
        {
            "did": site.did("hana"),
            "transaction": first["transactionHash"],
            "proof": proof["proofId"],
            "markup": quote(MARKUP),
        },
    )
    contexts: list[BrowserContext] = []
    for who in ("anybody", "hana", "olu"):
        watched = Watched(site.url, (site.api_key, "5213774", "Wakanda"))
        # A colour that is still on its way from light to dark has not the contrast that it ends with.
        context = browser.new_context(viewport=NARROW, locale="en-GB", reduced_motion="reduce")
        context.set_default_timeout(WAIT_MILLISECONDS)
        watched.watch(context)
        contexts.append(context)
        made.windows[who] = (context.new_page(), watched)
    expect.set_options(timeout=WAIT_MILLISECONDS)
    sign_in(made.windows["hana"][0], site, keep=True)
    operator_signs_in(*made.windows["olu"], site)
    yield made
    for context in contexts:
        context.close()


@pytest.mark.parametrize(
    ("who", "path"),
    [*(("anybody", one) for one in ANYBODY), *(("hana", one) for one in HOLDER), *(("olu", one) for one in OPERATOR)],
)
def test_a_page_can_be_read_and_used_by_everybody(walk: Walk, who: str, path: str) -> None:
    page, watched = walk.goes(who, path)
    page.evaluate(FOCUSED)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        examine(page)
    watched.look(page)
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    watched.look(page)
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    # Markup that others wrote is text.
    assert page.title() not in ("1", "2")
    assert page.locator("main img, main script, main [hx-get]").count() == 0
    unreached = f"({REACHABLE})().filter((one) => !window.reached.has(one)).map((one) => one.outerHTML)"
    presses = page.evaluate(f"({REACHABLE})().length") + MOST_PARTS
    while page.evaluate(unreached) and presses > 0:
        for _ in range(PRESSES):
            page.keyboard.press("Tab")
        presses -= PRESSES
    assert page.evaluate(unreached) == []
    assert watched.faults == []


def test_markup_of_panel_is_shown_as_text_and_session_stays(walk: Walk) -> None:
    page, watched = walk.goes("olu", "/operator/plugins?show=panels")
    expect(page.locator(".panel h2").filter(has_text="<img src=x")).to_have_count(1)
    assert page.locator(".panel tbody tr").count() == 100
    page, _ = walk.goes("olu", "/operator")
    expect(page.locator("h1")).to_have_text("Overview")
    assert watched.faults == []


def test_slow_network_sends_change_once(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sign_in(page, site, "slow", keep=True)
    network = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 300, "downloadThroughput": 50_000, "uploadThroughput": 20_000}
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    network.send("Network.emulateNetworkConditions", slow)
    give_delegation(page, site, "slowly")
    # While it is under way nothing can be pressed a second time.
    expect(page.locator("#create-delegation button")).to_be_disabled()
    has_states(page, "Active")
    assert sent == [f"{site.url}/api/v1/delegations"]
    network.send("Network.emulateNetworkConditions", slow | {"offline": True})
    page.get_by_role("button", name="End for good").scroll_into_view_if_needed()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="End for good").click()
    expect(page.locator("[data-message=network]")).to_be_visible()
    expect(page.get_by_role("button", name="End for good")).to_be_enabled()


def test_two_tabs_and_back_button_show_what_is_and_not_what_was(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    sign_in(page, site, "tina", keep=True)
    give_delegation(page, site, "once")
    has_states(page, "Active")
    other = page.context.new_page()
    other.goto(f"{site.url}/ui/agents")
    other.click("#stop-everything")
    has_states(other, "Stopped")
    # The first tab still shows a delegation that is active; revoking it works, and going back shows no older state.
    page.goto(f"{site.url}/ui/keys")
    page.go_back()
    has_states(page, "Stopped")
    sign_out(other, site)
    page.get_by_role("button", name="Let it continue").click()
    expect(page.locator("#signing")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    page.reload()
    expect(page).to_have_url(re.compile("sign-in"))
