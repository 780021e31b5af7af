"""Requests on the pages: a verifier asks by a link, an agent asks in a holder's list, an issuer defines a type and issues."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from identity_client import Client, Session, ibct
from tests.ui.visiting import Open, Site, arrives, examine, issue, press, sign_in, signer

AGE = {"attributeName": "age", "type": "gte", "value": 18}


@pytest.fixture(scope="module")
def credential(site: Site) -> str:
    return issue(Session(site.url, api_key=site.api_key), site.did("hana"), age=37, income=1, country="Wakanda")


def let(site: Site, **more: object) -> str:
    """Return a delegation of Hana to Aki."""
    terms = {
        "holderDid": site.did("hana"),
        "agentDid": site.did("aki"),
        "autonomyLevel": 4,
        "actions": ["zkp.prove.age.gte"],
    }
    with Session(site.url, api_key=site.api_key) as client:
        return str(client.call("POST", "/delegations", body=terms | {"expiresAt": "2026-12-31T00:00:00Z"} | more)["id"])


def proof_for(site: Site, credential: str, request: dict[str, str]) -> str:
    """Return the proof that Aki makes for a request, as the service answers it."""
    wish = ibct.IbctTemplate(site.did("aki"), "zkp.prove.age.gte", let(site), timedelta(hours=1))
    asked = ibct.proof_request(ibct.sign_token(signer(site, "hana"), wish), credential, value=18)
    with Session(site.url, api_key=site.api_key) as client:
        bearer = {"Authorization": f"Bearer {client.token(signer(site, 'aki'))['access_token']}"}
        bound = {name: request[name] for name in ("challenge", "domain")}
        return json.dumps(client.call("POST", "/zkp/delegated-proofs", body=asked | bound, headers=bearer))


def test_verifier_asks_and_the_proof_is_handed_in(site: Site, open_window: Open, credential: str) -> None:
    page, watched = open_window()
    sign_in(page, site, "vera", keep=True, to="ask")
    examine(page)
    for name, text in (("attribute", "age"), ("value", "18"), ("domain", "shop.example"), ("purpose", "To buy wine")):
        page.fill(f"#ask [name={name}]", text)
    page.fill("#ask [name=reference]", "Order 4711")
    press(page, "#ask button[type=submit]")
    expect(page).to_have_url(re.compile(r"/ui/request/[0-9a-f]{32}$"))
    expect(page.locator("svg.qr path")).to_have_attribute("d", re.compile(r"^M4 4h1v1h-1z"))
    examine(page)
    watched.look(page)
    link = page.url
    with Client(site.url) as client:
        request = client.call("getVerifierRequest", request_id=link.rpartition("/")[2])
    assert (request["link"], request["reference"], request["result"]) == (link, None, None)
    other, others = open_window()
    other.goto(link)
    expect(other.locator(".say")).to_contain_text("age is at least 18")
    assert other.locator("svg.qr").count() == 0
    others.look(other)
    examine(other)
    other.get_by_text("I have the proof").click()
    other.fill("#proof", "{}")
    other.get_by_role("button", name="Hand it in").click()
    expect(other.locator("[role=alert]")).to_contain_text("A proof is a JSON object")
    examine(other)
    other.fill("#proof", proof_for(site, credential, request))
    other.get_by_role("button", name="Hand it in").click()
    expect(other.locator(".verdict h2")).to_have_text("Handed in. The verifier has the answer.")
    examine(other)
    page.reload()
    # No issuer was named, so the verdict is not "valid".
    expect(page.locator(".verdict h2")).to_have_text("Genuine, but nothing ties it to you")
    page.goto(f"{site.url}/ui/results")
    expect(page.locator("#asked tbody tr")).to_contain_text("Order 4711")
    expect(page.locator("#asked .pill")).to_have_text("Genuine, not bound")
    watched.look(page)
    examine(page)


def test_verifier_cancels_a_request(site: Site, open_window: Open) -> None:
    with Client(site.url).as_(signer(site, "vera")) as vera:
        made = vera.call("createVerifierRequest", {"domain": "https://shop.example", "predicates": [AGE]})
    page, _ = open_window()
    sign_in(page, site, "vera", keep=True, to="results")
    page.goto(made["link"])
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel the request").click()
    arrives(page, f"{site.url}/ui/results")
    page.goto(made["link"])
    expect(page.locator("h1")).to_be_visible()
    assert page.locator("svg.qr").count() == 0


@pytest.mark.parametrize("approves", [True, False])
def test_request_waits_on_home_until_it_is_answered(
    site: Site, open_window: Open, credential: str, approves: bool
) -> None:
    let(site)
    wish = {
        "holderDid": site.did("hana"),
        "predicates": [AGE],
        "domain": "https://shop.example",
        "purpose": "To buy wine",
    }
    with Client(site.url).as_(signer(site, "aki")) as aki:
        asked = aki.call("createConsentRequest", wish)
    page, watched = open_window()
    sign_in(page, site, keep=True)
    expect(page.locator(".waits")).to_contain_text("asks: is your age at least 18?")
    watched.look(page)
    examine(page)
    page.locator(".waits a.main").click()
    expect(page.locator("#open dl")).to_contain_text("To buy wine")
    watched.look(page)
    examine(page)
    press(page, "#approve button[type=submit]" if approves else "#decline")
    expect(page.locator("#told" if approves else "#declined")).to_be_focused()
    page.goto(f"{site.url}/ui/home")
    assert page.locator(".waits").count() == 0
    with Client(site.url).as_(signer(site, "aki")) as aki:
        found = aki.call("getConsentRequest", consent_id=asked["id"])
    assert found["status"] == ("approved" if approves else "declined")
    assert (found["approval"] is not None) is approves


def test_issuer_defines_a_type_and_issues(site: Site, open_window: Open) -> None:
    with Session(site.url, api_key=site.api_key) as client:
        key = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
        options = {"additionalKeys": [key], "storeSecrets": True}
        made = client.call("POST", "/dids", body={"method": "ids", "options": options})
    (site.folder / "isa.json").write_text(json.dumps(made))
    page, watched = open_window()
    sign_in(page, site, "isa", keep=True, to="types")
    examine(page)
    page.get_by_role("button", name="New type").click()
    page.fill("#title", "Library card")
    page.fill("#attrs", "books, integer, 0, 20\nbranch, string")
    examine(page)
    page.get_by_role("button", name="Sign and create").click()
    expect(page).to_have_url(re.compile(r"/ui/issue\?type="))
    expect(page.locator("#type option")).to_have_text(["Library card"])
    watched.look(page)
    examine(page)
    page.fill("#holder", site.did("hana"))
    page.fill("[data-value=books]", "21")
    assert page.locator("[data-value=books]").evaluate("field => field.validationMessage") != ""
    page.fill("[data-value=books]", "3")
    page.fill("[data-value=branch]", "North")
    page.fill("#until", "2027-01-31")
    press(page, "#issue button[type=submit]")
    arrives(page, f"{site.url}/ui/issued")
    expect(page.locator("tbody tr")).to_contain_text("Library card")
    page.select_option("#type", label="Library card")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.fill("#holder", site.did("vera"))
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(0)
    watched.look(page)
    examine(page)
