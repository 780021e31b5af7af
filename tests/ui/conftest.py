"""One server and one browser for a module: Debian's Chromium, driven by Playwright. Where there is none the tests skip and say so; in CI
they fail."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.servers import local_server
from tests.ui.visiting import NARROW, WAIT_MILLISECONDS, Open, Site, Watched


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with local_server(
        environment={"IDENTITY_PLUGINS_MODULES": "tests.ui.hostile_panels", "IDENTITY_MCP_ENABLED": "true"}
    ) as server:
        yield Site(server.url, server.api_key, tmp_path_factory.mktemp("keys"))


# Not for longer: while Playwright runs, no other test can run an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("chromium is not installed")
    with sync_playwright() as playwright:
        # A container has no namespaces for the sandbox of a browser that visits nothing but loopback.
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield started
        started.close()


@pytest.fixture
def open_window(site: Site, browser: Browser) -> Iterator[Open]:
    """Opens a narrow window of its own; afterwards nothing must have gone wrong in it."""
    contexts: list[BrowserContext] = []
    windows: list[Watched] = []

    def make(origin: str = site.url, **options: Any) -> tuple[Page, Watched]:
        private = json.loads(site.keys("hana").read_text())["keys"]
        secrets = [one["privateKey"] for one in private.values() if isinstance(one, dict)]
        watched = Watched(origin, (*secrets, site.api_key))
        context = browser.new_context(viewport=NARROW, locale=options.pop("locale", "en-GB"), **options)
        context.set_default_timeout(WAIT_MILLISECONDS)
        watched.watch(context)
        contexts.append(context)
        windows.append(watched)
        return context.new_page(), watched

    expect.set_options(timeout=WAIT_MILLISECONDS)
    yield make
    for context in contexts:
        context.close()
    assert [fault for each in windows for fault in each.faults] == []
