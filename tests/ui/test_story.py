"""The story that everything else is for, with eyes and a keyboard: Hana sees what Aki asks for, approves it, sees the proof and stops him;
Vera verifies it; Olu sees it all and no attribute."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from identity_ui.render import short
from playwright.sync_api import Page, expect

from identity_client import ServiceError, Session, Signer
from tests.ui.visiting import (
    MARKUP,
    Open,
    Site,
    Watched,
    examine,
    has_states,
    issue,
    press,
    sign_in,
    sign_out,
    signer,
    tab_to,
)

SCHEMA = "https://schemas.example/person"
VALUES: dict[str, Any] = {"age": 37, "income": 5_213_774, "country": "Wakanda"}
REQUEST = {
    "predicates": [
        {"attributeName": "age", "type": "gte", "value": 18},
        {"attributeName": "country", "type": "set_member", "value": ["Genovia", "Wakanda"]},
    ],
    "domain": "https://shop.example",
    "purpose": "to buy a bottle of wine",
}
OPERATOR = ("", "/dids", "/ledger", "/verifications", "/api-keys", "/plugins", "/audit", "/settings", "/doctor")


@dataclass
class World:
    """What is there before the story begins: Hana's credential from Ivo, and the service as Aki and Vera call it."""

    site: Site
    client: Session

    def person(self, name: str) -> tuple[Signer, dict[str, str]]:
        """Return the signer of a person, and a header with an access token."""
        found = signer(self.site, name)
        return found, {"Authorization": f"Bearer {self.client.token(found)['access_token']}"}

    def asks(self, **change: Any) -> dict[str, Any]:
        return {"agentDid": self.site.did("aki")} | REQUEST | change

    def link(self, **change: Any) -> str:
        text = base64.urlsafe_b64encode(json.dumps(self.asks(**change)).encode()).decode().rstrip("=")
        return f"{self.site.url}/ui/consent#{text}"

    def prove(self, line: str) -> Any:
        """What the service answers to Aki, who sends a line as he got it."""
        _, aki = self.person("aki")
        body = json.loads(line)
        path = "/zkp/delegated-proofs" if "predicate" in body else "/zkp/delegated-presentations"
        return self.client.call("POST", path, body=body, headers=aki)


@pytest.fixture(scope="module")
def world(site: Site) -> World:
    client = Session(site.url, api_key=site.api_key)
    issue(client, site.did("hana"), SCHEMA, **VALUES)
    return World(site, client)


def shows_no_value(page: Page) -> None:
    content = page.content()
    assert [value for value in (str(VALUES["income"]), "Wakanda") if value in content] == [], page.url


def consider(page: Page, watched: Watched, world: World) -> None:
    """Follow Aki's link as Hana and sign in; the request opens read."""
    page.goto(world.link())
    expect(page).to_have_url(re.compile(r"/ui/sign-in\?to=consent#"))
    examine(page)
    page.set_input_files("#keys", world.site.keys("hana"))
    press(page, "#keep", "Space")
    press(page, "#sign-in button")
    expect(page).to_have_url(f"{world.site.url}/ui/consent")
    expect(page.locator("#learnt li")).to_have_text(
        [re.compile(r"your age is at least 18"), re.compile(r"your country is one of Genovia, Wakanda")]
    )


def test_the_story_with_a_keyboard_on_a_narrow_window(world: World, open_window: Open) -> None:
    page, watched = open_window()
    consider(page, watched, world)
    for said in ("to buy a bottle of wine", "shop.example"):
        expect(page.locator("#open dl")).to_contain_text(said)
    expect(page.locator(f"#open dl [title='{world.site.did('aki')}']")).to_have_count(1)
    watched.look(page)
    examine(page)
    tab_to(page, "[name=term]:checked")
    page.keyboard.press("ArrowDown")
    press(page, "#approve button[type=submit]")
    expect(page.locator("#answer")).to_be_focused()
    examine(page)
    lines = page.locator("#answer").input_value().splitlines()
    assert len(lines) == 5

    made = world.prove(lines[0])
    with pytest.raises(ServiceError) as refused:
        world.prove(lines[1].replace('"value":18', '"value":21'))
    assert refused.value.code == "SCOPE_MISMATCH"

    with pytest.raises(ServiceError) as refused:
        world.prove(lines[3].replace("shop.example", "mallory.example"))
    assert refused.value.code == "SCOPE_MISMATCH"

    press(page, ".bar a[href='/ui/home']")
    rows = page.locator("#rows li[data-kind]")
    expect(rows.first).to_contain_text("asked something that its permission does not cover")
    expect(rows.nth(2)).to_contain_text(re.compile(r"proved to shop.example that your age is at least 18"))
    examine(page)
    press(page, f"#rows a[href*='{made['proofId']}']")
    expect(page.locator("main h1")).to_contain_text(re.compile(r"age is at least 18"))
    expect(page.locator("main")).to_contain_text("shop.example")
    watched.look(page)
    examine(page)

    vera, hers = open_window()
    methods: list[str] = []
    vera.on("request", lambda request: methods.append(request.method))
    vera.goto(f"{world.site.url}/ui/verify")
    tab_to(vera, "#proof")
    vera.keyboard.insert_text(json.dumps(made["proof"]))
    press(vera, "main button.main")
    expect(vera.locator("#result h2").first).to_have_text("Genuine, but nothing ties it to you")
    for name in ("predicate", "challenge", "domain", "issuerDid"):
        expect(vera.locator(f"#missing [data-missing={name}]")).to_be_visible()
    expect(vera.locator("#result [data-check=proof]")).to_contain_text("The computation is right")
    # Her browser verified it: the proof went nowhere.
    assert set(methods) == {"GET"}
    hers.look(vera)
    examine(vera)
    _, bearer = world.person("vera")
    verdict = world.client.call("POST", "/zkp/proofs/verify", body=made["proof"], headers=bearer)
    assert verdict["verified"]

    press(page, ".bar a[href='/ui/agents']")
    has_states(page, "Active")
    examine(page)
    press(page, ".cards button.stop")
    has_states(page, "Stopped")
    examine(page)
    with pytest.raises(ServiceError) as refused:
        world.prove(lines[2])
    assert refused.value.code == "DELEGATION_NOT_ACTIVE"

    operator_sees_it_all(world, open_window)


def operator_sees_it_all(world: World, opened: Open) -> None:
    page, watched = opened(color_scheme="dark")
    page.goto(f"{world.site.url}/ui/operator")
    expect(page).to_have_url(f"{world.site.url}/ui/operator/sign-in")
    examine(page)
    tab_to(page, "#key")
    # A key that is none, then the right one; neither is shown or sent anywhere but to the service.
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    watched.secrets = tuple(secret for secret in watched.secrets if secret != world.site.api_key)
    tab_to(page, "#key")
    page.keyboard.type(world.site.api_key)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Overview")
    watched.secrets += (world.site.api_key,)
    for path in OPERATOR:
        press(page, ".bar summary")
        press(page, f".sheet a[href='/ui/operator{path}']")
        expect(page).to_have_url(f"{world.site.url}/ui/operator{path}")
        expect(page.locator("main h1")).to_be_visible()
        watched.look(page)
        shows_no_value(page)
        content = page.locator("main").inner_text()
        assert [name for name in VALUES if re.search(rf"\b{name}\b", content)] == [], page.url
    page.goto(f"{world.site.url}/ui/operator/verifications")
    expect(page.locator("tbody")).to_contain_text(short(world.site.did("vera")))
    page.goto(f"{world.site.url}/ui/operator/audit")
    expect(page.locator("#chain")).to_contain_text(re.compile(r"(\d+) of \1 lines were checked"))
    for operation in ("Create a delegated presentation", "Suspend a delegation", "Stopped agents", "Signed in"):
        expect(page.locator("tbody")).to_contain_text(operation)
    page.goto(f"{world.site.url}/ui/operator/dids")
    press(page, "#changes a[href*='version=']")
    expect(page.locator("svg.draw rect")).to_have_count(1)
    page.get_by_text("As a table").click()
    expect(page.locator("#lives")).to_be_visible()
    examine(page)
    watched.look(page)
    page.go_back()
    press(page, "#changes a[href*='/ui/transaction/']")
    expect(page.locator("ol.tree .own").last).to_contain_text("entry")
    expect(page.locator("main .pill.ok")).to_contain_text("this is the root")
    examine(page)
    watched.look(page)
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Sign out as an operator").click()
    expect(page).to_have_url(f"{world.site.url}/ui/operator/sign-in")
    page.go_back()
    page.reload()
    page.goto(f"{world.site.url}/ui/operator/audit")
    expect(page).to_have_url(f"{world.site.url}/ui/operator/sign-in")


def test_declining_signs_nothing(world: World, open_window: Open) -> None:
    page, watched = open_window()
    before = len(world.client.call("GET", "/delegations", query={"limit": 200})["items"])
    consider(page, watched, world)
    other = page.context.new_page()
    other.goto(f"{world.site.url}/ui/home")
    sign_out(other, world.site)
    # The other tab has forgotten the key for both: it takes the file to approve.
    page.get_by_role("button", name="Approve and sign").click()
    expect(page.locator("#signing")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#approved")).to_be_hidden()
    page.get_by_role("link", name="Decline").click()
    expect(page).to_have_url(re.compile(r"sign-in\?to=home"))
    # Back is a page that is requested anew: nothing is sent a second time.
    page.go_back()
    expect(page).to_have_url(re.compile(r"sign-in\?to=consent"))
    assert len(world.client.call("GET", "/delegations", query={"limit": 200})["items"]) == before


def test_markup_in_a_request_stays_text(world: World, open_window: Open) -> None:
    page, watched = open_window()
    sign_in(page, world.site, keep=True)
    request = world.asks(
        purpose=MARKUP, domain=MARKUP, predicates=[{"attributeName": "country", "type": "eq", "value": MARKUP}]
    )
    page.goto(f"{world.site.url}/ui/consent")
    page.fill("#request", json.dumps(request))
    page.click("#consent button")
    expect(page.locator("#learnt")).to_contain_text(MARKUP)
    watched.look(page)
    assert page.title() not in ("1", "2")
    assert page.locator("main img").count() == 0
    assert page.locator("main script").count() == 0
