"""The clicks and seconds of five tasks on the pages, each as a new user would do it, in Chromium.

    python -m tools.bench.bench_tasks [--width 1280]

A task begins on the front page without a session, or where its link leads. The program clicks what is named on the page, waits until
the answer is visible, and types no address of a page. A chosen file and a filled field count as one action, as a click does. Signing
in is part of each task that takes a session. The seconds are those of the program: pages, signatures and answers, without reading.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.servers import local_server
from tests.ui.scenes import SHOP, Scene
from tests.ui.visiting import Site

PATIENCE_MILLISECONDS = 10_000


@dataclass
class User:
    """A person with a browser that has seen no page of the service."""

    page: Page
    site: Site
    name: str
    actions: int = 0

    def click(self, place: Locator) -> None:
        place.click()
        self.actions += 1

    def press(self, text: str | re.Pattern[str], role: str = "button") -> None:
        """Click the first visible button or link with the text."""
        named = self.page.get_by_role(role, name=text)  # type: ignore[arg-type]
        self.click(named.filter(visible=True).first)

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label).first.fill(text)
        self.actions += 1

    def choose_keys(self) -> None:
        self.page.set_input_files("input[type=file]:visible", self.site.keys(self.name))
        self.actions += 1

    def sign_in(self) -> None:
        """From the sign-in page; the key is kept, as the page offers."""
        self.choose_keys()
        self.click(self.page.get_by_text("Remember the key in this browser"))
        self.press(re.compile("^Sign in"))

    def sees(self, text: str | re.Pattern[str]) -> None:
        expect(self.page.locator("main")).to_contain_text(text)


def find_agents(user: User, scene: Scene) -> None:
    """Find who may act for me, and read what each may prove."""
    user.press(re.compile("I hold credentials"), "link")
    user.sign_in()
    user.press("See your agents", "link")
    user.sees(re.compile(r"May prove that your\s+age is at least 18\s+to\s+shop\.example"))


def stop_agent(user: User, scene: Scene) -> None:
    """Stop one agent, and let the others act."""
    user.press(re.compile("I hold credentials"), "link")
    user.sign_in()
    user.press("See your agents", "link")
    user.press(re.compile("^Stop Aki$"))
    expect(user.page.locator("article").filter(has_text="Aki").locator(".pill")).to_have_text("Stopped")
    expect(user.page.locator("article").filter(has_text="Cy").locator(".pill")).to_contain_text("Starts")


def answer_request(user: User, scene: Scene) -> None:
    """Answer a request that waits: read it, and approve it."""
    user.press(re.compile("I hold credentials"), "link")
    user.sign_in()
    user.press("Review", "link")
    user.sees("To buy wine")
    user.press("Approve and sign")
    expect(user.page.locator("#told")).to_be_visible()


def check_proof(user: User, scene: Scene) -> None:
    """Check a proof that was sent to me, with what I asked."""
    user.press(re.compile("I was sent a proof"), "link")
    user.page.get_by_label("Or paste the proof").fill(scene.named["proof-text"])
    user.actions += 1
    user.fill("Attribute", "age")
    user.fill("Value", "18")
    user.fill("Challenge you gave", scene.named["challenge"])
    user.fill("Your website", SHOP)
    user.fill("Issuer you trust", scene.named["city"])
    user.press("Check")
    user.sees("Valid, and made for you")


def revoke_credential(user: User, scene: Scene) -> None:
    """Revoke a credential that I issued."""
    user.press(re.compile("I issue credentials"), "link")
    user.sign_in()
    row = user.page.locator("tr").filter(has_text="Hana Sato")
    user.page.once("dialog", lambda dialog: dialog.accept())
    user.click(row.get_by_role("button", name="Revoke"))
    user.actions += 1  # The question of the browser.
    expect(row.locator(".pill")).to_have_text("Revoked")


TASKS: tuple[tuple[str, Callable[[User, Scene], None]], ...] = (
    ("hana", find_agents),
    ("hana", answer_request),
    ("hana", stop_agent),
    ("vera", check_proof),
    ("city", revoke_credential),
)


@contextlib.contextmanager
def new_user(scene: Scene, name: str, width: int) -> Iterator[User]:
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": width, "height": 844}, locale="en-GB")
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        expect.set_options(timeout=PATIENCE_MILLISECONDS)
        page.goto(f"{scene.site.url}/ui")
        yield User(page, scene.site, name)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1280)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, local_server() as server:
        scene = Scene(Site(server.url, server.api_key, Path(folder)))
        for name, task in TASKS:
            with new_user(scene, name, arguments.width) as user:
                began = time.perf_counter()
                task(user, scene)
                seconds = time.perf_counter() - began
            print(json.dumps({"task": task.__name__, "clicks": user.actions, "seconds": round(seconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
