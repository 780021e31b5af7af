"""From `git clone` to a proof seen in the browser: the tutorial as a newcomer follows it, installation and browser included.

It prints how long each part took. With ``IDENTITY_TUTORIAL_INSTALL=no`` the environment of the tests stands in for what ``pip install``
makes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.docs.blocks import fences, run, steps
from tests.guide.machine import CERTIFICATES
from tests.ui.visiting import WAIT_MILLISECONDS

ROOT = Path(__file__).resolve().parents[2]
LONGEST_SECONDS = 1800
KEY = re.compile(r"\bidk_live_[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Newcomer:
    """A checkout with a service that runs, and an empty folder."""

    url: str
    folder: Path
    environment: dict[str, str]


def took(what: str, since: float) -> None:
    print(f"{what}: {time.monotonic() - since:.0f} s", file=sys.__stderr__)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    checkout, folder = tmp_path_factory.mktemp("clone") / "identity-service", tmp_path_factory.mktemp("empty")
    variables = {
        name: value for name, value in os.environ.items() if CERTIFICATES.match(name) or name in ("PATH", "HOME")
    }
    since = time.monotonic()
    subprocess.run(["git", "clone", "-q", ROOT, checkout], env=variables, check=True, timeout=LONGEST_SECONDS)
    page = (checkout / "docs" / "tutorial" / "first-proof.md").read_text(encoding="utf-8")
    install, serve, _ = [text for _, language, text in fences(page) if language == "sh"]
    if os.environ.get("IDENTITY_TUTORIAL_INSTALL") == "no":
        (checkout / ".venv").symlink_to(sys.prefix)
    else:
        script = ["bash", "-ec", install]
        subprocess.run(script, cwd=checkout, env=variables, check=True, timeout=LONGEST_SECONDS)
    took("clone and installation", since)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = ["bash", "-c", f"exec {serve.strip()} --port {port}"]
    said = (folder.parent / f"serve-{port}.txt").open("w+")
    with said, subprocess.Popen(command, cwd=checkout, env=variables, stdout=said, stderr=said) as server:
        try:
            key = _key(server, Path(said.name))
            path = f"{checkout / '.venv' / 'bin'}{os.pathsep}{variables['PATH']}"
            environment = {"PATH": path, "HOME": str(folder), "IDENTITY_URL": f"http://127.0.0.1:{port}"}
            took("clone to a service that runs", since)
            yield Newcomer(environment["IDENTITY_URL"], folder, environment | {"IDENTITY_API_KEY": key})
            took("clone to the end", since)
        finally:
            server.terminate()


def _key(server: subprocess.Popen[bytes], log: Path) -> str:
    """The API key that the first start prints."""
    while server.poll() is None:
        found = KEY.search(log.read_text())
        if found is not None:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(log.read_text()[-2000:])


@pytest.fixture(scope="module")
def typed(newcomer: Newcomer) -> Newcomer:
    """The commands of the tutorial before its last section but one: the proof is there and Aki may still act."""
    page = (ROOT / "docs" / "tutorial" / "first-proof.md").read_text(encoding="utf-8").partition("## Take it back")[0]
    since = time.monotonic()
    assert run(steps(page), newcomer.folder, newcomer.environment) == []
    took("the commands", since)
    return newcomer


@pytest.fixture
def window() -> Iterator[Page]:
    program = shutil.which("chromium")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        expect.set_options(timeout=WAIT_MILLISECONDS)
        page = browser.new_page(locale="en-GB")
        page.set_default_timeout(WAIT_MILLISECONDS)
        yield page
        browser.close()


def test_the_proof_is_seen_in_the_browser(typed: Newcomer, window: Page) -> None:
    issuer = json.loads((typed.folder / "ivo.json").read_text())["did"]
    proof = (typed.folder / "proof.json").read_text()
    window.goto(f"{typed.url}/ui/verify")
    window.fill("#proof", proof)
    window.fill("#challenge", "order 4711 of today")
    window.fill("#domain", "https://shop.example")
    window.fill("#issuer", issuer)
    window.get_by_role("button", name="Verify").click()
    expect(window.locator("#result h2")).to_have_text("The proof holds")
    expect(window.locator("#result")).to_contain_text("18")
    window.goto(f"{typed.url}/ui/proofs")
    window.set_input_files("#keys", typed.folder / "hana.json")
    window.click("#sign-in button")
    expect(window).to_have_url(f"{typed.url}/ui/proofs")
    expect(window.locator("main")).to_contain_text("An agent obtained a proof about you")
    window.get_by_role("link", name="The proof", exact=True).click()
    expect(window.locator("main dl")).to_contain_text("https://shop.example")
