"""The TypeScript client as it is packed: its README, a whole life of a DID in Node and in Chromium, what it signs, the logs that it checks,
and the answers of a server that means harm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from playwright.sync_api import sync_playwright

from openapi import clients
from tests.client.package_cases import PackageCases, Run, check_flow
from tests.made_once import once
from tests.servers import local_server

HERE = Path(__file__).parent / "typescript"


WRONG_TYPES = """import { createIdentity, verifyLog } from "identity-service-client";
const id = createIdentity({ url: "http://127.0.0.1" });
// @ts-expect-error - a method is needed
id.createDid({ body: {} });
// @ts-expect-error - there is no such parameter
id.listDids({ size: 1 });
// @ts-expect-error - whose history
id.listDidHistory();
// @ts-expect-error - it has one answer
id.each("getHealth", {});
export const log: Promise<string> = id.getDidLog({ did: "did:ids:x" });
export const tile: Promise<Uint8Array> = id.getLedgerTile({ level: "0", tile: "000" });
export const unset = createIdentity({ url: "http://127.0.0.1", apiKey: undefined as string | undefined, retries: undefined });
void verifyLog("", { did: undefined as string | undefined, now: undefined });
export const status: Promise<"ok"> = id.getHealth().then((health) => health.status);
"""


@pytest.fixture(scope="module")
def application(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An application that has installed the packed client, and nothing else; with the README's program, compiled under strict types."""

    def make(folder: Path) -> None:
        package = clients.build_typescript_client(folder, node_tools)
        app = folder / "app"
        shutil.copytree(HERE, app)
        (app / "package.json").write_text('{"type": "module", "private": true}')
        _npm(package, "pack", "--pack-destination", str(folder))
        (packed,) = folder.glob("*.tgz")
        _npm(app, "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", str(packed))
        (app / "first.ts").write_text(first_screen(package), encoding="utf-8")
        (app / "wrong.ts").write_text(WRONG_TYPES, encoding="utf-8")
        options = ("--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--typeRoots", app / "none")
        strict = ("--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--verbatimModuleSyntax")
        try:
            clients.run_node_tool(node_tools, "tsc", *strict, *options, app / "first.ts", app / "wrong.ts")
        except subprocess.CalledProcessError as error:
            # What it wrote in spite of it runs; the test of types tells.
            (app / "refused").write_text(error.stdout, encoding="utf-8")

    return once(tmp_path_factory, "typescript", make) / "app"


def _npm(folder: Path, *arguments: str) -> None:
    subprocess.run(["npm", *arguments], cwd=folder, check=True, capture_output=True, timeout=300)


def first_screen(package: Path) -> str:
    found: str = re.findall(r"```ts\n(.*?)```", (package / "README.md").read_text("utf-8"), re.DOTALL)[0]
    return found


@pytest.fixture(scope="module")
def served() -> Iterator[LocalServer]:
    with local_server() as server:
        yield server


def node(application: Path, *arguments: str, said: str = "") -> str:
    done = subprocess.run(
        ["node", "--no-warnings", *arguments],
        cwd=application,
        input=said,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def do(application: Path) -> Run:
    return lambda jobs: json.loads(node(application, "jobs.mjs", said=json.dumps(jobs)))


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
    assert node(application, "--input-type=module", said=program) == "true\n"


def test_a_did_lives_in_node(do: Run, served: LocalServer) -> None:
    check_flow(do({"it": {"kind": "flow", "url": served.url, "apiKey": served.api_key}})["it"]["value"])


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


def test_the_verify_page_imports_these_modules(application: Path) -> None:
    """Byte for byte; ``python -m openapi.clients`` writes them."""
    package = application / "node_modules" / "identity-service-client" / "dist"
    served = {path.name: path.read_text("utf-8") for path in clients.PAGE_MODULES.glob("*.js")}
    assert {"log.js", "codec.js"} <= set(served)
    assert served == {name: (package / name).read_text("utf-8") for name in served}
    imported = {name for text in served.values() for name in re.findall(r'from "\./(\S+)"', text)}
    assert imported <= set(served)
