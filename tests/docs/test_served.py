"""The site as a service serves it, in a real browser: pages, search and theme work under the policy; errors lead to their anchors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from identity_commands.local_server import LocalServer
from playwright.sync_api import Page, expect, sync_playwright

from tests.docs.built import ROOT, SITE, need_furo
from tests.servers import local_server

need_furo()

WAIT_MILLISECONDS = 60_000


@pytest.fixture(scope="module")
def server(built: Path) -> Iterator[LocalServer]:
    with local_server(path=ROOT / "docs") as running:
        yield running


@pytest.fixture(scope="module")
def tab(server: LocalServer) -> Iterator[Page]:
    program = shutil.which("chromium")
    if program is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("no Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        expect.set_options(timeout=WAIT_MILLISECONDS)
        page = browser.new_page()
        page.set_default_timeout(WAIT_MILLISECONDS)
        yield page
        browser.close()


def test_every_file_of_the_site_is_served(server: LocalServer) -> None:
    with httpx.Client(base_url=f"{server.url}/docs/guide/", trust_env=False, timeout=60) as http:
        http.headers["X-API-Key"] = server.api_key
        for path in sorted(SITE.rglob("*.html")):
            answer = http.get(path.relative_to(SITE).as_posix())
            assert (answer.status_code, answer.content) == (200, path.read_bytes()), path


def test_an_error_leads_to_its_anchor(server: LocalServer) -> None:
    details = httpx.get(f"{server.url}/api/v1/dids/no-did", trust_env=False, timeout=60).json()["error"]["details"]
    place, _, anchor = details["docUrl"].partition("#")
    page = httpx.get(server.url + place, trust_env=False, timeout=60)
    assert (page.status_code, anchor) == (200, "invalid-did")
    assert f'id="{anchor}"' in page.text


def test_pages_search_and_theme_work_under_the_policy(server: LocalServer, tab: Page) -> None:
    told: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: told.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{server.url}/docs/guide")
    expect(tab.get_by_role("heading", level=1)).to_contain_text("identity-service")
    assert tab.evaluate("document.body.dataset.theme") == "auto"
    tab.locator("article").get_by_role("link", name="From the first DID to the first proof").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("From the first DID")
    tab.goto(f"{server.url}/docs/guide/search.html?q=bisection")
    expect(tab.locator("#search-results .search li").first).to_be_visible()
    assert told == []
    assert {url.split("/docs/guide")[0] for url in asked} == {server.url}


def test_the_site_fits_a_phone(server: LocalServer, tab: Page) -> None:
    tab.set_viewport_size({"width": 360, "height": 740})
    for name in ("index", "tutorial/first-proof", "reference/errors", "reference/generated/settings"):
        tab.goto(f"{server.url}/docs/guide/{name}.html")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, name
