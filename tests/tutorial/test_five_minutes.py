"""From `git clone` to a proof seen in the browser: the tutorial as a newcomer follows it, browser included.

The run ends with how long each part took. With ``IDENTITY_TUTORIAL_INSTALL=yes``, as ``tox -e tutorial`` sets it, the checkout is cloned
and installed as the page says, and each command starts Python. Otherwise the environment of the tests is what was installed, which took
``TESTS_INSTALL_SECONDS``, as ``tests/run`` has measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.docs.blocks import ForkedCommands, Step, fences, run, steps
from tests.servers import local_server
from tests.ui.visiting import WAIT_MILLISECONDS
from tools.guide.machine import CERTIFICATES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial" / "first-proof.md").read_text(encoding="utf-8")
LONGEST_SECONDS = 1800
TAKEN_BACK = "## Revoke the delegation"
# Of the shell: those that are read-only are told in another file when they are set again.
VARIABLES = "variables"
KEY = re.compile(r"\bidk_live_[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Newcomer:
    """A service that runs, an empty folder, and what commands typed there find in their environment."""

    url: str
    folder: Path
    environment: dict[str, str]


Parts = dict[str, float]
"""What took how many seconds."""


@contextlib.contextmanager
def timed(parts: Parts, what: str) -> Iterator[None]:
    since = time.monotonic()
    yield
    parts[what] = time.monotonic() - since


@pytest.fixture(scope="module")
def parts() -> Parts:
    return {}


@pytest.fixture(scope="module")
def newcomer(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    folder = tmp_path_factory.mktemp("empty")
    if os.environ.get("IDENTITY_TUTORIAL_INSTALL") == "yes":
        yield from _installed(parts, tmp_path_factory.mktemp("clone") / "identity-service", folder)
        return
    installed = os.environ.get("TESTS_INSTALL_SECONDS")
    if installed is not None:
        parts["the installation of all that the tests need"] = float(installed)
    commands = ForkedCommands(tmp_path_factory.mktemp("bin"))
    with contextlib.ExitStack() as stack:
        with timed(parts, "a service that runs"):
            server = stack.enter_context(local_server())
        path = os.pathsep.join([str(commands.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
        variables = {"PATH": path, "HOME": str(folder), "IDENTITY_URL": server.url, "IDENTITY_API_KEY": server.api_key}
        yield Newcomer(server.url, folder, variables)
    commands.close()


def _installed(parts: Parts, checkout: Path, folder: Path) -> Iterator[Newcomer]:
    """A clone, with the first two blocks of the page typed in it."""
    variables = {
        name: value for name, value in os.environ.items() if CERTIFICATES.match(name) or name in ("PATH", "HOME")
    }
    with timed(parts, "git clone"):
        subprocess.run(["git", "clone", "-q", ROOT, checkout], env=variables, check=True, timeout=LONGEST_SECONDS)
    install, serve, _ = [text for _, language, text in fences(PAGE) if language == "sh"]
    # Each line is timed for itself.
    for line in install.replace("\\\n", " ").splitlines():
        with timed(parts, line):
            subprocess.run(["bash", "-ec", line], cwd=checkout, env=variables, check=True, timeout=LONGEST_SECONDS)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = ["bash", "-c", f"exec {serve.strip()} --port {port}"]
    said = (folder.parent / f"serve-{port}.txt").open("w+")
    with said, subprocess.Popen(command, cwd=checkout, env=variables, stdout=said, stderr=said) as server:
        try:
            with timed(parts, "a service that runs"):
                key = _key(server, Path(said.name))
            path = f"{checkout / '.venv' / 'bin'}{os.pathsep}{variables['PATH']}"
            url = f"http://127.0.0.1:{port}"
            environment = {"PATH": path, "HOME": str(folder), "IDENTITY_URL": url, "IDENTITY_API_KEY": key}
            yield Newcomer(url, folder, environment)
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
def typed(newcomer: Newcomer, parts: Parts) -> Newcomer:
    """The commands of the page before its last section but one: the proof is there and Aki may still act."""
    page = [*steps(PAGE.partition(TAKEN_BACK)[0]), Step(0, f"declare -p > {VARIABLES}", "")]
    with timed(parts, "the commands"):
        assert run(page, newcomer.folder, newcomer.environment) == []
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


def test_the_proof_is_seen_in_the_browser(
    typed: Newcomer, parts: Parts, window: Page, record_property: Callable[[str, object], None]
) -> None:
    with timed(parts, "the pages in the browser"):
        look(typed, window)
    for what, seconds in {**parts, "altogether": sum(parts.values())}.items():
        record_property(what, f"{seconds:.1f} s")  # conftest.py prints them


def test_page_revokes_the_delegation(typed: Newcomer) -> None:
    assert TAKEN_BACK in PAGE
    page = [Step(0, f". ./{VARIABLES} 2> {VARIABLES}.txt; true", ""), *steps("".join(PAGE.partition(TAKEN_BACK)[1:]))]
    assert run(page, typed.folder, typed.environment) == []


def look(typed: Newcomer, window: Page) -> None:
    """What "See it in the browser" says."""
    issuer = json.loads((typed.folder / "ivo.json").read_text())["did"]
    proof = (typed.folder / "result.json").read_text()
    window.goto(f"{typed.url}/ui/verify")
    window.fill("#proof", proof)
    window.fill("#attribute", "age")
    window.fill("#value", "18")
    window.fill("#challenge", "order 4711 of today")
    window.fill("#domain", "https://shop.example")
    window.fill("#issuer", issuer)
    window.get_by_role("button", name="Check", exact=True).click()
    expect(window.locator("#result h2").first).to_have_text("Valid, and made for you")
    expect(window.locator("#result")).to_contain_text("18")
    window.goto(f"{typed.url}/ui/activity")
    window.set_input_files("#keys", typed.folder / "hana.json")
    window.click("#sign-in button")
    expect(window).to_have_url(f"{typed.url}/ui/activity")
    expect(window.locator("main")).to_contain_text("that your age is at least 18")
    window.get_by_role("link", name="Details", exact=True).click()
    expect(window.locator("main dl").first).to_contain_text("shop.example")
