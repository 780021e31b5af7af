"""A program asks Hana by OAuth; she reads it, approves or declines in her browser, and is back at the program, which gets its token."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from identity_client import Client
from plugins.oauth.tests.test_http_oauth import FORM
from tests.attack.stranger import Wire
from tests.ui.visiting import Open, Site, examine, press, sign_in, signer

VERIFIER = "v" * 64
APPROVE = "#authorize button[type=submit]"


class _Callback(BaseHTTPRequestHandler):
    """The program's own page, which says that she is back."""

    def do_GET(self) -> None:
        body = b"<!DOCTYPE html><html lang=en><title>Shop</title><link rel=icon href='data:,'><h1>Back</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """What is asked here the browser knows."""


@pytest.fixture(scope="module")
def shop(site: Site) -> Iterator[str]:
    """The address of the program, which has registered another port of the same place."""
    service = {"id": "oauth", "type": "OAuthNativeRedirect", "serviceEndpoint": "http://127.0.0.1/back"}
    with Client(site.url) as client:
        aki = client.as_(signer(site, "aki"))
        aki.call("updateDid", {"operation": "addService", "service": service}, did=site.did("aki"))
    with HTTPServer(("127.0.0.1", 0), _Callback) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def wish(site: Site, shop: str) -> dict[str, str]:
    """What the program asks for."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
    return {
        "response_type": "code",
        "client_id": site.did("aki"),
        "redirect_uri": f"{shop}/back",
        "scope": "credentials:read delegations:read",
        "state": 'a "state" of <the> program\'s & more',
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }


@pytest.mark.parametrize("keeps", [True, False])
def test_hana_decides_about_a_program(site: Site, open_window: Open, shop: str, keeps: bool) -> None:
    page, watched = open_window()
    if keeps:
        sign_in(page, site, "hana", keep=True)
    asked = wish(site, shop)
    page.goto(f"{site.url}/oauth/authorize?{urlencode(asked)}")
    expect(page.locator("#scopes li")).to_have_count(2)
    expect(page.locator("dl")).to_contain_text(site.did("aki"))
    watched.look(page)
    examine(page)
    # What the program is sent is not a page of ours.
    watched.others = (shop,)
    page.get_by_role("link", name="Decline").click()
    expect(page.locator("h1")).to_have_text("Back")
    said = {name: one for name, (one,) in parse_qs(urlsplit(page.url).query).items()}
    assert said == {"error": "access_denied", "state": asked["state"], "iss": site.url}
    page.goto(f"{site.url}/oauth/authorize?{urlencode(asked)}")
    if keeps:
        expect(page.locator("#as")).to_contain_text(site.did("hana"))
    else:
        page.set_input_files("#keys", site.keys("hana"))
    expect(page.locator(APPROVE)).to_be_enabled()
    press(page, APPROVE)
    expect(page.locator("h1")).to_have_text("Back")
    said = {name: one for name, (one,) in parse_qs(urlsplit(page.url).query).items()}
    assert (said["state"], said["iss"], page.evaluate("document.referrer")) == (asked["state"], site.url, "")
    form = {"grant_type": "authorization_code", "code": said["code"], "redirect_uri": asked["redirect_uri"]}
    body = urlencode(form | {"code_verifier": VERIFIER, "client_id": site.did("aki")}).encode()
    wire = Wire(site.url)
    token = wire.call("POST", "/oauth/token", body, {"Content-Type": FORM}).json
    bearer = {"Authorization": f"Bearer {token['access_token']}"}
    assert wire.call("GET", "/api/v1/delegations", None, bearer).status == 200
    wire.close()


def test_click_that_was_meant_for_another_page_approves_nothing(site: Site, open_window: Open, shop: str) -> None:
    """The second of two clicks, under which another page has put this one in between."""
    page, _ = open_window()
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.goto(f"{site.url}/oauth/authorize?{urlencode(wish(site, shop))}")
    button = page.locator(APPROVE)
    expect(button).to_be_disabled()
    page.clock.run_for(999)
    expect(button).to_be_disabled()
    page.clock.run_for(1)
    expect(button).to_be_enabled()
    for event in ("blur", "focus"):
        page.evaluate("(event) => { dispatchEvent(new Event(event)); }", event)
        expect(button).to_be_disabled()
    page.clock.run_for(1000)
    expect(button).to_be_enabled()
