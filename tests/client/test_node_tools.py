"""What Node's tools make of the document: Spectral finds nothing in it, and finds what is planted; openapi-typescript makes types that
the compiler takes, and that refuse what the document refuses."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from identity_core.api.contract import load_document
from openapi.clients import DOCUMENT, HERE, run_node_tool

Json = dict[str, Any]


def lint(node_tools: Path, document: Path, *options: str) -> None:
    ruleset = HERE / "spectral.yaml"
    run_node_tool(node_tools, "spectral", "lint", "--fail-severity", "warn", "--ruleset", ruleset, *options, document)


def test_nothing_is_found(node_tools: Path) -> None:
    lint(node_tools, DOCUMENT)


def _path_parameter(document: Json) -> None:
    document["paths"]["/dids/{did}"]["parameters"] = [{"$ref": "#/components/parameters/Did"}]


def _two_tags(document: Json) -> None:
    document["paths"]["/dids"]["get"]["tags"].append("auth")


def _same_name(document: Json) -> None:
    document["paths"]["/dids"]["get"]["operationId"] = "createDid"


def _newer(document: Json) -> None:
    document["openapi"] = "3.0.4"


def _wrong_example(document: Json) -> None:
    content = document["paths"]["/health"]["get"]["responses"]["200"]["content"]["application/json"]
    content["examples"]["alive"]["value"] = {"status": "dead"}


# What is planted, the rule that finds it, and the operation or part that it is found in.
FAULTS: list[tuple[Callable[[Json], None], str, list[str]]] = [
    (_path_parameter, "no-path-level-parameters", ["paths", "/dids/{did}"]),
    (_two_tags, "operation-singular-tag", ["paths", "/dids", "get"]),
    (_same_name, "operation-operationId-unique", ["paths", "/dids", "get"]),
    (_newer, "openapi-3-0", ["openapi"]),
    (_wrong_example, "oas3-valid-media-example", ["paths", "/health", "get"]),
]


@pytest.fixture(scope="module")
def found(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """What the linter says of a document with every fault. They lie apart, and one run takes seconds."""
    document = json.loads(load_document().octets)
    for plant, _, _ in FAULTS:
        plant(document)
    planted = tmp_path_factory.mktemp("lint") / "planted.json"
    planted.write_text(json.dumps(document))
    with pytest.raises(subprocess.CalledProcessError) as caught:
        lint(node_tools, planted, "--format", "json", "--quiet")
    results: list[Json] = json.loads(caught.value.stdout)
    return results


@pytest.mark.parametrize(("rule", "where"), [(rule, where) for _, rule, where in FAULTS])
def test_a_planted_fault_is_found(found: list[Json], rule: str, where: list[str]) -> None:
    places = [result["path"] for result in found if result["code"] == rule]
    assert any(place[: len(where)] == where for place in places), places


def test_nothing_else_is_found(found: list[Json]) -> None:
    assert {result["code"] for result in found} == {rule for _, rule, _ in FAULTS}


USE = """
import type { components, operations, paths } from "./identity";

type Schemas = components["schemas"];

const smallest: Schemas["CreateDidRequest"] = { method: "ids" };
const full: Schemas["CreateDidRequest"] = {
  method: "ids",
  options: { additionalKeys: [{ type: "X25519KeyAgreementKey2020", purpose: ["keyAgreement"] }], recoveryKey: true },
};
// @ts-expect-error - a method is needed
const nothing: Schemas["CreateDidRequest"] = {};
// @ts-expect-error - there is no such member
const more: Schemas["CreateDidRequest"] = { method: "ids", more: 1 };

export function versionOf(result: Schemas["DidResolution"]): number {
  const context: string[] = result.didDocument["@context"];
  return result.didDocumentMetadata.versionId + context.length;
}
export function next(page: Schemas["DidHistory"]): string {
  // @ts-expect-error - the last page has none
  return page.nextCursor;
}
export type Created = operations["createDid"]["responses"][201]["content"]["application/json"];
export const key = (created: Created): string | undefined => created.keys.authentication?.privateKey;
export type Refusals = paths["/dids/{did}"]["patch"]["responses"][412]["content"]["application/json"];
export const code = (refusal: Refusals): string | undefined => refusal.error.code;
export const all = [smallest, full, nothing, more];
"""


@pytest.fixture(scope="module")
def types(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the generated types."""
    folder = tmp_path_factory.mktemp("types")
    run_node_tool(node_tools, "openapi-typescript", DOCUMENT, "--output", folder / "identity.d.ts")
    return folder


def test_the_compiler_takes_the_types(node_tools: Path, types: Path) -> None:
    _compile(node_tools, types / "use.ts", USE)


def test_the_compiler_would_say_so(node_tools: Path, types: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        _compile(node_tools, types / "wrong.ts", USE.replace("// @ts-expect-error - a method is needed", ""))
    assert "'method' is missing" in caught.value.stdout


def _compile(node_tools: Path, file: Path, text: str) -> None:
    file.write_text(text)
    run_node_tool(node_tools, "tsc", "--noEmit", "--strict", "--skipLibCheck", "false", file)
