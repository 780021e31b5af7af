"""Sign-in, consent and verification in Firefox. A nightly test: the default run has the same in Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.marionette import Firefox
from tests.ui.scenes import SHOP, Scene
from tests.ui.visiting import Site


@pytest.fixture(scope="module")
def scene(site: Site) -> Scene:
    return Scene(site)


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    if shutil.which("firefox-esr") is None and shutil.which("firefox") is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("firefox-esr is not installed")
    started = Firefox(tmp_path)
    yield started
    started.close()


def test_holder_signs_in_and_approves_a_request(scene: Scene, firefox: Firefox) -> None:
    firefox.goto(f"{scene.site.url}/ui/sign-in")
    firefox.type("#keys", str(scene.site.keys("hana")))
    firefox.click("#keep")
    firefox.click("#sign-in button")
    firefox.wait_for_text("h1", "Home")
    firefox.click(".waits a.main")
    firefox.wait_for_text("#open", "To buy wine")
    firefox.click("#approve button[type=submit]")
    firefox.wait("const told = document.querySelector('#told'); return told !== null && told.checkVisibility()")
    assert scene.act("bo", "getConsentRequest", consent_id=scene.named["consent"])["status"] == "approved"


def test_verifier_checks_a_proof(scene: Scene, firefox: Firefox) -> None:
    firefox.goto(f"{scene.site.url}/ui/verify")
    firefox.type("#proof", scene.named["proof-text"])
    values = {"attribute": "age", "value": "18", "challenge": scene.named["challenge"], "domain": SHOP}
    for name, value in (values | {"issuer": scene.named["city"]}).items():
        firefox.type(f"main form [name={name}]", value)
    firefox.click("main button.main")
    firefox.wait_for_text("#result h2", "Valid, and made for you")
