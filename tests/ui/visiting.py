"""Windows of a real browser that are watched, and the people who sign in in them.

What a page writes to the console, what its policy refuses, what it loads from elsewhere and what it sends are looked at when the test ends.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, expect

from identity_client import ServiceError, Session, Signer
from tests.servers import run

MARKUP = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
PAGES = (
    "home",
    "agents",
    "agents/new",
    "consent",
    "activity",
    "credentials",
    "keys",
    "issued",
    "types",
    "issue",
    "results",
    "ask",
)
NARROW = {"width": 360, "height": 740}
WAIT_MILLISECONDS = 60_000


@dataclass
class Site:
    """A served instance and the people who use it: their keys files, as the command line writes them."""

    url: str
    api_key: str
    folder: Path

    def keys(self, name: str) -> Path:
        file = self.folder / f"{name}.json"
        if not file.exists():
            environment = dict(os.environ) | {"IDENTITY_API_KEY": self.api_key, "API_KEY": self.api_key}
            made = run("did", "create", "--keys", file, "--url", self.url, environment=environment)
            assert made.returncode == 0, made.stderr
        return file

    def did(self, name: str) -> str:
        return str(json.loads(self.keys(name).read_text())["did"])


def signer(site: Site, name: str) -> Signer:
    """Return the signer of a person, as the client uses it."""
    value = json.loads(site.keys(name).read_text())
    return Signer(value["did"], value["keys"]["authentication"]["privateKey"])


@dataclass
class Watched:
    """What pages did that they should not."""

    origin: str
    secrets: tuple[str, ...] = ()
    sent_once: str = ""
    others: tuple[str, ...] = ()
    faults: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.on("console", lambda message: self._console(message.type, message.text))
        context.on("weberror", lambda error: self.faults.append(f"error: {error.error}"))
        context.on("request", self._sent)
        context.add_init_script(
            "document.addEventListener('securitypolicyviolation', (event) => "
            "console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))"
        )

    def _console(self, kind: str, text: str) -> None:
        # A refusal of the service is an answer; the console reports it as a resource that failed.
        if kind in ("error", "warning") and not text.startswith("Failed to load resource"):
            self.faults.append(f"console: {text}")

    def _sent(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" not in (
            self.origin,
            *self.others,
        ):
            self.faults.append(f"off-site: {request.url}")
        said = json.dumps([request.url, request.headers, request.post_data])
        for secret in self.secrets:
            takes_it = request.url.endswith("/ui/operator/session") or "/api/v1/admin/api-keys" in request.url
            if secret in said and not (secret == self.sent_once and takes_it):
                self.faults.append("a secret was sent")

    def look(self, page: Page) -> None:
        """At a page when it has its style: nothing hangs out at the side, no secret is in it, it has one heading."""
        page.wait_for_load_state()
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, page.url
        content = page.content()
        assert [secret for secret in self.secrets if secret in content] == []
        assert page.locator("main h1").count() == 1
        named = page.evaluate(
            "[...document.querySelectorAll('input,textarea')].filter((e) => !e.labels.length && !e.ariaLabel).map((e) => e.id)"
        )
        assert named == []


Open = Callable[..., tuple[Page, Watched]]


def sign_in(page: Page, site: Site, name: str = "hana", *, keep: bool = False, to: str = "home") -> None:
    page.goto(f"{site.url}/ui/{to}")
    expect(page).to_have_url(re.compile(rf"/ui/sign-in\?to={to}$"))
    page.set_input_files("#keys", site.keys(name))
    page.set_checked("#keep", keep)
    page.click("#sign-in button")
    arrives(page, f"{site.url}/ui/{to}")


def arrives(page: Page, url: str) -> None:
    """At a page that something pressed leads to. Its script runs when it is loaded: a button that is pressed before does nothing."""
    expect(page).to_have_url(url)
    page.wait_for_load_state()


def has_states(page: Page, *states: str) -> None:
    """Wait until the cards of the page of agents have ``states``; the page is loaded again after each change."""
    expect(page.locator(".cards .pill")).to_have_text([*states])
    page.wait_for_load_state()


def sign_out(page: Page, site: Site) -> None:
    """The form forgets the key and is then sent: what is opened before its answer came is aborted by it."""
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    arrives(page, f"{site.url}/ui")


def operator_signs_in(page: Page, watched: Watched, site: Site) -> None:
    """The form sends the key, so from here on only that it is shown nowhere is looked at."""
    watched.sent_once = site.api_key
    page.goto(f"{site.url}/ui/operator/sign-in")
    page.fill("#key", site.api_key)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Overview")
    page.wait_for_load_state()


def give_delegation(page: Page, site: Site, purpose: str, actions: str = "zkp.prove.age.gte.18", uses: int = 3) -> None:
    """Fill the form of a new permission, where her key is kept or the file is asked for."""
    page.goto(f"{site.url}/ui/agents/new")
    page.fill("#agent", site.did("aki"))
    page.get_by_text("More than one question").click()
    page.fill("#actions", actions)
    page.get_by_text("Any verifier of the agent").click()
    page.fill("#uses", str(uses))
    page.fill("#purpose", purpose)
    page.click("#create-delegation button[type=submit]")


def issue(client: Session, holder: str, schema: str = "https://schemas.example/person", **values: Any) -> str:
    """The id of a credential of ``holder``, by an issuer whose keys the service keeps."""
    attributes: list[dict[str, Any]] = [{"name": "age", "type": "integer", "minimum": 0, "maximum": 150}]
    attributes[0] |= {"title": "Age in years", "titles": {"de": "Alter in Jahren"}}
    attributes += [{"name": "income", "type": "integer"}, {"name": "country", "type": "string"}]
    try:
        client.call(
            "POST", "/credential-schemas", body={"id": schema, "title": "Person of age", "attributes": attributes}
        )
    except ServiceError as error:
        if error.status != 409:  # It is there already.
            raise
    key = {"type": "Bls12381G2Key2020", "purpose": ["assertionMethod"]}
    ivo = client.call(
        "POST", "/dids", body={"method": "ids", "options": {"additionalKeys": [key], "storeSecrets": True}}
    )
    claims = {"issuerDid": ivo["did"], "holderDid": holder, "schemaId": schema, "attributes": values}
    return str(client.call("POST", "/credentials", body=claims)["id"])


AXE = (Path(__file__).parent / "axe.min.js").read_text()
# ``violations`` of WCAG and of what axe calls best practice, of each impact.
_EXAMINE = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.map(
  (one) => `${one.impact} ${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`)"""


def examine(page: Page) -> None:
    """Accessibility by axe-core 4.14.1 (npm, MPL-2.0; it is in no wheel): nothing, minor or worse."""
    page.wait_for_load_state()
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    assert page.evaluate(_EXAMINE) == [], page.url


def tab_to(page: Page, selector: str) -> None:
    """Moves the focus there with the Tab key alone."""
    expect(page.locator(selector).first).to_be_visible()
    for _ in range(60):
        if page.evaluate("(selector) => document.querySelector(selector) === document.activeElement", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with Tab on {page.url}")


def press(page: Page, selector: str, key: str = "Enter") -> None:
    tab_to(page, selector)
    page.keyboard.press(key)
