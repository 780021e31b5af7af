"""Signing in with a browser that refuses: each failure of IndexedDB or WebCrypto ends in a message, and none leaves the button disabled."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.visiting import Open, Site, arrives, give_delegation, sign_out

ED25519 = "new DOMException('Unrecognized name.', 'NotSupportedError')"
CRYPTO = {
    "import": f"SubtleCrypto.prototype.importKey = () => Promise.reject({ED25519})",
    "import throws": f"SubtleCrypto.prototype.importKey = () => {{ throw {ED25519}; }}",
    "sign": f"SubtleCrypto.prototype.sign = () => Promise.reject({ED25519})",
    "digest": "SubtleCrypto.prototype.digest = () => Promise.reject(new DOMException('no', 'OperationError'))",
}
STORAGE = {
    "no IndexedDB": "Object.defineProperty(window, 'indexedDB', { value: null })",
    "open throws": "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); }",
    "open fails": (
        "IDBFactory.prototype.open = () => { const asked = { error: new DOMException('no', 'UnknownError') };"
        " setTimeout(() => asked.onerror()); return asked; }"
    ),
    "open never answers": "IDBFactory.prototype.open = () => ({})",
    "no object store": (
        "IDBDatabase.prototype.transaction = () => { throw new DOMException('no such store', 'NotFoundError'); }"
    ),
    "put throws": "IDBObjectStore.prototype.put = () => { throw new DOMException('no clone', 'DataCloneError'); }",
    "put aborts": "IDBObjectStore.prototype.put = function () { this.transaction.abort(); return {}; }",
}


def opened_sign_in(page: Page, site: Site, script: str) -> None:
    page.add_init_script(script)
    page.goto(f"{site.url}/ui/sign-in?to=agents")
    page.set_input_files("#keys", site.keys("hana"))


@pytest.mark.parametrize("name", CRYPTO)
def test_webcrypto_failure_shows_a_message(site: Site, open_window: Open, name: str) -> None:
    page, watched = open_window()
    opened_sign_in(page, site, CRYPTO[name])
    page.click("#sign-in button")
    expect(page.locator("[data-message=browser]")).to_be_visible()
    expect(page.locator("[data-message=browser] span")).to_contain_text(re.compile("NotSupported|Operation"))
    expect(page.locator("#sign-in button")).to_be_enabled()
    watched.look(page)


@pytest.mark.parametrize("keep", [True, False], ids=["keep", "forget"])
@pytest.mark.parametrize("name", STORAGE)
def test_storage_failure_still_signs_in(site: Site, open_window: Open, name: str, keep: bool) -> None:
    page, watched = open_window()
    opened_sign_in(page, site, STORAGE[name])
    page.set_checked("#keep", keep)
    page.click("#sign-in button")
    arrives(page, f"{site.url}/ui/agents")
    # Where nothing is stored ``put`` is not called.
    fails = keep or not name.startswith("put")
    expect(page.locator("[data-message=unkept]")).to_be_visible(visible=fails)
    watched.look(page)


@pytest.mark.parametrize("name", ["no IndexedDB", "open never answers", "no object store"])
def test_change_asks_for_the_file_without_storage(site: Site, open_window: Open, name: str) -> None:
    page, _ = open_window()
    opened_sign_in(page, site, STORAGE[name])
    page.click("#sign-in button")
    arrives(page, f"{site.url}/ui/agents")
    give_delegation(page, site, f"without storage: {name}")
    expect(page.locator("#signing")).to_be_visible()
    page.set_input_files("#change-keys", site.keys("hana"))
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator("main")).to_contain_text(f"without storage: {name}")
    page.wait_for_load_state()
    sign_out(page, site)


def test_storage_that_answers_shows_no_message(site: Site, open_window: Open) -> None:
    page, _ = open_window()
    opened_sign_in(page, site, "")
    page.set_checked("#keep", True)
    page.click("#sign-in button")
    arrives(page, f"{site.url}/ui/agents")
    expect(page.locator("[data-message=unkept]")).to_be_hidden()
