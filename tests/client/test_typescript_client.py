"""The TypeScript client as it is packed: its README, a whole life of a DID in Node and in Chromium, what it signs, the logs that it checks,
and the answers of a server that means harm."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from playwright.sync_api import sync_playwright

from openapi import clients
from tests.client.node_application import run_node
from tests.client.package_cases import PackageCases, Run, check_flow, check_story
from tests.servers import local_server


@pytest.fixture(scope="module")
def served() -> Iterator[LocalServer]:
    with local_server() as server:
        yield server


def test_the_compiler_takes_and_refuses_what_the_document_does(application: Path) -> None:
    refused = application / "refused"
    assert not refused.exists(), refused.read_text("utf-8")


def test_the_readme_proves_something_in_15_lines(application: Path, served: LocalServer) -> None:
    """As it stands there, but for the address and the key; what it imports is not counted."""
    lines = (application / "first.ts").read_text("utf-8").splitlines()
    assert sum(bool(line) and not line.startswith("import ") for line in lines) <= 15
    program = (application / "first.js").read_text("utf-8")
    assert program.count("http://127.0.0.1:8080") == program.count("idk_…") == 1
    program = program.replace("http://127.0.0.1:8080", served.url).replace("idk_…", served.api_key)
    assert run_node(application, "--input-type=module", said=program) == "true\n"


def test_readme_verifies_the_proof_without_the_service(application: Path, served: LocalServer) -> None:
    """The second program continues where the first ends."""
    program = (application / "offline.js").read_text("utf-8")
    program = program.replace("http://127.0.0.1:8080", served.url).replace("idk_…", served.api_key)
    assert run_node(application, "--input-type=module", said=program) == "true\nvalid []\n"


def test_a_did_lives_in_node(do: Run, served: LocalServer) -> None:
    check_flow(do({"it": {"kind": "flow", "url": served.url, "apiKey": served.api_key}})["it"]["value"])


def test_jobs_survive_a_network_that_loses_answers(do: Run, served: LocalServer) -> None:
    check_story(do({"it": {"kind": "story", "url": served.url, "apiKey": served.api_key}})["it"]["value"])


def test_client_in_a_log_shows_no_api_key(do: Run) -> None:
    (json, shown) = do({"it": {"kind": "shown", "options": {"url": "http://127.0.0.1", "apiKey": "idk_secret"}}})["it"][
        "value"
    ]
    assert "createDid" in shown
    assert "idk_secret" not in json + shown


@pytest.mark.parametrize("url", [None, "127.0.0.1:8080"])
def test_invalid_url_is_refused_at_once(do: Run, url: str | None) -> None:
    told = do({"it": {"kind": "call", "operation": "getHealth", "options": {"url": url}}})["it"]["error"]
    assert told["name"] == "TypeError"
    assert "Invalid URL" in told["message"]


@pytest.mark.parametrize("given", [{}, {"did": ""}])
def test_unnamed_part_is_not_requested(do: Run, given: dict[str, Any]) -> None:
    """Of programs without types, too."""
    wish = {"kind": "call", "operation": "getDidLog", "given": given, "options": {"url": "http://127.0.0.1:1"}}
    told = do({"it": wish})["it"]["error"]
    assert (told["name"], told["message"]) == ("TypeError", "/dids/{did}/log needs did")


def test_a_did_lives_in_chromium(application: Path, served: LocalServer) -> None:
    """The same bytes of the package, on a page of the service's origin."""
    program = shutil.which("chromium")
    if program is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("Chromium is not installed")
    package = application / "node_modules" / "identity-service-client" / "dist"
    files = {"flow.mjs": application / "flow.mjs", **{path.name: path for path in package.glob("*.js")}}
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        ) as browser,
    ):
        page = browser.new_page()
        page.set_default_timeout(60_000)

        def fulfil(route: Any) -> None:
            name = route.request.url.rpartition("/")[2]
            if name in files:
                route.fulfill(body=files[name].read_text("utf-8"), content_type="text/javascript")
            else:
                route.fulfill(body="<!doctype html><title>client</title>", content_type="text/html")

        page.route("**/client/**", fulfil)
        page.goto(f"{served.url}/client/page")
        told = page.evaluate(
            """async ([url, apiKey]) => {
              const [client, { flow }] = await Promise.all([import("/client/index.js"), import("/client/flow.mjs")]);
              return flow(client, url, apiKey);
            }""",
            [served.url, served.api_key],
        )
    check_flow(told)


class TestPackage(PackageCases):
    """In Node."""


def test_the_pages_import_these_modules(application: Path) -> None:
    """Byte for byte; ``python -m openapi.clients`` writes them."""
    package = application / "node_modules" / "identity-service-client" / "dist"
    served = {name: (clients.PAGE_MODULES / name).read_text("utf-8") for name in clients.page_modules()}
    assert {"log.js", "codec.js", "proofs/verify.js", f"proofs/{clients.CURVE_LICENSE}"} <= set(served)
    assert served == {name: (package / name).read_text("utf-8") for name in served}
    read = [text for name, text in served.items() if not name.startswith("proofs/")]
    imported = {name for text in read for name in re.findall(r'from "\./(\S+)"', text)}
    assert imported <= set(served)
