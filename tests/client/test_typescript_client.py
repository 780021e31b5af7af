"""The TypeScript client as it is packed: its README, a whole life of a DID in Node and in Chromium, what it signs, the logs that it checks,
and the answers of a server that means harm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from identity_core.cli.local_server import LocalServer
from identity_core.client import ibct
from identity_core.codec import jcs, multikey
from identity_core.domain.dids import keys
from identity_core.domain.dids.challenge import parse_header
from identity_core.domain.dids.log import verify
from openapi import clients
from tests.client import hostile_service
from tests.client.hostile_service import CASES, DID, ELSEWHERE, MOST_OCTETS, MOST_PAGES, PATIENT, Case, Hostile
from tests.once import once
from tests.servers import local_server

HERE = Path(__file__).parent / "typescript"
Json = dict[str, Any]


WRONG_TYPES = """import { createIdentity } from "identity-service-client";
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
        try:
            clients.run_node_tool(node_tools, "tsc", "--strict", *options, app / "first.ts", app / "wrong.ts")
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


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hostile]:
    with hostile_service.hostile_service() as server:
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


def do(application: Path, jobs: dict[str, Json]) -> dict[str, Json]:
    """What came of each job."""
    outcomes: dict[str, Json] = json.loads(node(application, "jobs.mjs", said=json.dumps(jobs)))
    return outcomes


def job(case: Case, url: str) -> Json:
    options = {"url": url, "apiKey": "secret", "maxAnswerOctets": MOST_OCTETS, "maxPages": MOST_PAGES}
    asked = {"operation": case.operation, "given": case.given, "options": options}
    return {"kind": "each" if case.paged else "call", **asked} | ({"issued": ISSUED} if case.signed else {})


PAIR = keys.generate("Ed25519", os.urandom)
ISSUED = {"did": DID, "keys": {"authentication": {"privateKey": PAIR.secret}}}
PUBLIC = multikey.decode_public(PAIR.public)[1]


def test_the_compiler_takes_and_refuses_what_the_document_does(application: Path) -> None:
    refused = application / "refused"
    assert not refused.exists(), refused.read_text("utf-8")


def test_the_readme_proves_something(application: Path, served: LocalServer) -> None:
    """As it stands there, but for the address and the key."""
    program = (application / "first.js").read_text("utf-8")
    assert program.count("http://127.0.0.1:8080") == program.count("idk_…") == 1
    program = program.replace("http://127.0.0.1:8080", served.url).replace("idk_…", served.api_key)
    assert node(application, "--input-type=module", said=program) == "true\n"


def check_flow(told: Json) -> None:
    changes = ["addService", "keyRotated", "addService", "recovered"]
    assert len(told["history"]) == told["versions"] == len(changes) + 2
    assert told["deactivated"] is True
    assert told["rotation"] == "3"
    assert told["refused"] == [401, "AUTH_FAILED", "string"], "the key was rotated away"
    assert told["unsigned"] == [401, "AUTH_REQUIRED", "string"]
    assert verify(told["log"].encode()).did == told["did"]


def test_a_did_lives_in_node(application: Path, served: LocalServer) -> None:
    check_flow(do(application, {"it": {"kind": "flow", "url": served.url, "apiKey": served.api_key}})["it"]["value"])


def test_a_did_lives_in_chromium(application: Path, served: LocalServer) -> None:
    """The same octets of the package, on a page of the service's origin."""
    program = shutil.which("chromium")
    if program is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("Chromium is not installed")
    package = application / "node_modules" / "identity-service-client" / "dist"
    files = {"flow.mjs": application / "flow.mjs", **{path.name: path for path in package.glob("*.js")}}
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=program, args=["--no-sandbox"]) as browser,
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


VALUES: list[Any] = [
    {"b": 1, "a": [True, None, 1e21, 1e-7, 333333333.3333333, -0.0, "\u2028\x7f\x1f"]},
    {"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "1": 4, "10": 5, "2": 6, "": 7, "__proto__": 8},
    "é and é",
]
PREDICATES = [
    *[("age", "gte", value) for value in (0, 18, (1 << 53) - 1, -5)],
    *[
        ("país/x y.z%", "eq", value)
        for value in ("18", "é", "9007199254740993", "09007199254740993", True, "9007199254740991")
    ],
    ("c", "set_member", ["JP", "FR", "JP", "\ufb33", "\U0001f600", 18, False]),
    ("c", "set_member", []),
]


@pytest.fixture(scope="module")
def signed(application: Path) -> dict[str, Json]:
    """Everything that needs no server, in one process of Node."""
    jobs: dict[str, Json] = {f"value {n}": {"kind": "canonicalize", "value": value} for n, value in enumerate(VALUES)}
    jobs["half"] = {"kind": "canonicalize", "value": "\ud800"}
    for number, (attribute, type_, value) in enumerate(PREDICATES[:-1]):
        jobs[f"action {number}"] = {"kind": "action", "attribute": attribute, "type": type_, "value": value}
    for name, value in (("fraction", 1.5), ("null", None), ("object", {})):
        jobs[name] = {"kind": "action", "attribute": "a", "type": "eq", "value": value}
    wish = {"target": DID[:-1] + "Q", "action": "zkp.prove.age.gte.18", "delegationRef": "urn:uuid:1", "expiresIn": 60}
    jobs["token"] = {"kind": "ibct", "issued": ISSUED, "wish": wish}
    no_key = {"did": DID, "keys": {"authentication": {"privateKey": PAIR.public}}}
    jobs["no key"] = {"kind": "ibct", "issued": no_key, "wish": wish}
    said = f"https://id.example {DID} read - {'A' * 43} 2099-01-01T00:00:00Z"
    wanted = {"origin": "https://id.example/below", "purpose": "read"}
    for name, text in (
        ("good", f"didauth:v1 {said}"),
        ("label", f"didauth:v2 {said}"),
        ("longer", f"didauth:v1 {said} x"),
    ):
        jobs[f"challenge {name}"] = {"kind": "sign", "issued": ISSUED, "challenge": text, "wanted": wanted}
    for name, log in LOGS.items():
        jobs[f"log {name}"] = {"kind": "log", "log": log}
    jobs["another's log"] = {"kind": "log", "log": LOG, "did": DID[:-1] + "Q"}
    return do(application, jobs)


def shown_log() -> str:
    """The log that the document shows: creation, changes, and a key that takes the place of another."""
    document = json.loads(clients.DOCUMENT.read_bytes())
    forms = document["paths"]["/dids/{did}/log"]["get"]["responses"]["200"]["content"]
    log: str = next(iter(forms["text/jsonl"]["examples"].values()))["value"]
    return log


def changed(line: int, change: Callable[[Json], object]) -> str:
    lines = [json.loads(each) for each in LOG.splitlines()]
    change(lines[line])
    return "".join(jcs.canonicalize(each).decode() + "\n" for each in lines)


LOG = shown_log()
FIRST, *LATER = LOG.splitlines(keepends=True)
WRONG = {
    "without its first entry": "".join(LATER),
    "with an entry left out": FIRST + "".join(LATER[1:]) if len(LATER) > 1 else "".join(LATER),
    "with an entry twice": FIRST + FIRST,
    "in another order": "".join((*LATER, FIRST)),
    "of nothing": "",
    "of no objects": "[]\n",
    "of no JSON": "{\n",
    "with a blank": LOG.replace('{"parameters"', '{ "parameters"', 1),
    "with two members of one name": LOG.replace('"parameters":', '"parameters":{},"parameters":', 1),
    "with another document": changed(0, lambda entry: entry["state"].update(alsoKnownAs=["https://eve.example"])),
    "with another later document": changed(-1, lambda entry: entry["state"].update(alsoKnownAs=["https://eve.example"])),
    "with another time": changed(0, lambda entry: entry.update(versionTime="2020-01-01T00:00:00.000000Z")),
    "with another number": changed(-1, lambda entry: entry.update(versionId="9" + entry["versionId"])),
    "with another hash": changed(-1, lambda entry: entry.update(versionId=entry["versionId"][:-3] + "abc")),
    "with another key": changed(0, lambda entry: entry["parameters"].update(updateKeys=[PAIR.public])),
    "with no proof": changed(0, lambda entry: entry.update(proof=[])),
    "with two proofs": changed(0, lambda entry: entry["proof"].append(entry["proof"][0])),
    "with another signature": changed(-1, lambda entry: entry["proof"][0].update(proofValue="z" + "2" * 87)),
    "with a signature of no length": changed(-1, lambda entry: entry["proof"][0].update(proofValue="z")),
    "with a proof of another purpose": changed(-1, lambda entry: entry["proof"][0].update(proofPurpose="authentication")),
    "with a proof by another": changed(
        -1, lambda entry: entry["proof"][0].update(verificationMethod=f"did:key:{PAIR.public}#{PAIR.public}")
    ),
    "of another method": changed(0, lambda entry: entry["parameters"].update(method="did:webvh:1.0")),
    "of many brackets": "[" * 10_000 + "\n",
    "of a line without end": '{"a":"' + "a" * 100_000 + '"}\n',
}  # fmt: skip
LOGS = {"good": LOG, **WRONG}


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_the_canonical_form_is_the_services(signed: dict[str, Json], number: int) -> None:
    assert signed[f"value {number}"]["value"].encode() == jcs.canonicalize(VALUES[number])


@pytest.mark.parametrize("number", range(len(PREDICATES) - 1))
def test_an_action_is_the_services(signed: dict[str, Json], number: int) -> None:
    attribute, type_, value = PREDICATES[number]
    assert signed[f"action {number}"] == {"value": ibct.action_text(attribute, type_, pin=value)}


@pytest.mark.parametrize(
    "name", ["half", "fraction", "null", "object", "no key", "challenge label", "challenge longer"]
)
def test_nothing_else_is_signed(signed: dict[str, Json], name: str) -> None:
    assert signed[name]["error"]["name"] == "TypeError"


def test_a_token_is_one_of_the_services(signed: dict[str, Json]) -> None:
    token = signed["token"]["value"]
    capability = ibct.verify(token, [PUBLIC], datetime.now(UTC))
    assert (capability.invoker, capability.action) == (DID, "zkp.prove.age.gte.18")
    assert (capability.expires_at - capability.issued_at).total_seconds() == 60


def test_a_signed_challenge_is_named(signed: dict[str, Json]) -> None:
    header = parse_header(signed["challenge good"]["value"])
    assert (str(header.did), header.named is not None) == (DID, True)


def test_a_log_proves_what_it_proves_to_the_service(signed: dict[str, Json]) -> None:
    told, ours = signed["log good"]["value"], verify(LOG.encode())
    assert (told["did"], told["versions"], told["versionId"]) == (ours.did, ours.versions, ours.head)
    assert (told["didDocument"], told["deactivated"]) == (ours.document, ours.deactivated)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_log_is_refused(signed: dict[str, Json], name: str) -> None:
    assert signed[f"log {name}"]["error"]["name"] == "LogInvalid", signed[f"log {name}"]


def test_the_log_of_another_is_refused(signed: dict[str, Json]) -> None:
    assert "the log is one of" in signed["another's log"]["error"]["message"]


@pytest.fixture(scope="module")
def outcomes(application: Path, hostile: Hostile) -> dict[str, Json]:
    jobs = {name: job(case, hostile.of(name)) for name, case in CASES.items()}
    health = Case("getHealth", (), None, 0)
    jobs[ELSEWHERE] = job(health, hostile.of(ELSEWHERE))
    jobs["aborted"] = job(health, hostile.of(PATIENT)) | {"kind": "aborted"}
    return do(application, jobs)


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_answer(outcomes: dict[str, Json], hostile: Hostile, name: str) -> None:
    case, outcome = CASES[name], outcomes[name]
    code = outcome["error"].get("code", "REFUSED") if "error" in outcome else None
    assert code == case.code, outcome
    requests = hostile.requests[hostile_service.place(name)]
    assert len(requests) == case.requests
    tags = [line for each in requests for line in each.lower().split(b"\r\n") if line.startswith(b"idempotency-key")]
    assert len(set(tags)) == (1 if case.operation == "createDid" else 0), "one change has one key"
    assert len(tags) == (case.requests if case.operation == "createDid" else 0)


def test_no_one_is_led_elsewhere(outcomes: dict[str, Json], hostile: Hostile) -> None:
    assert "error" in outcomes[ELSEWHERE]
    assert hostile.requests["caught"] == []


def test_how_long_to_wait_is_told(outcomes: dict[str, Json]) -> None:
    assert outcomes["told to wait for days"]["error"]["retryAfterMs"] == 999_999_000


def test_who_waits_may_stop_waiting(outcomes: dict[str, Json]) -> None:
    """The server asks for half a minute."""
    assert outcomes["aborted"]["error"]["name"] == "AbortError"
