"""What Node's tools make of the document: Spectral finds nothing in it, and finds what is planted; openapi-typescript makes types that
the compiler takes, and that refuse what the document refuses."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openapi.clients import DOCUMENT, HERE, run_node_tool
from tests.made_once import once
from tests.reference import LOADED

Json = dict[str, Any]
PLANTED = "planted.json"


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
def results(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """What the linter says of the document, and of one with every fault: they lie apart. One run for both, since it takes seconds."""

    def lint(folder: Path) -> None:
        document = json.loads(LOADED.encoded)
        for plant, _, _ in FAULTS:
            plant(document)
        (folder / PLANTED).write_text(json.dumps(document))
        options = ("--fail-severity", "warn", "--ruleset", HERE / "spectral.yaml", "--format", "json", "--quiet")
        with pytest.raises(subprocess.CalledProcessError) as caught:
            run_node_tool(node_tools, "spectral", "lint", *options, DOCUMENT, folder / PLANTED)
        (folder / "said.json").write_text(caught.value.stdout)

    said: list[Json] = json.loads((once(tmp_path_factory, "lint", lint) / "said.json").read_text())
    return said


@pytest.fixture(scope="module")
def planted_results(results: list[Json]) -> list[Json]:
    """In the document with every fault."""
    return [result for result in results if Path(result["source"]).name == PLANTED]


def test_nothing_is_found(results: list[Json]) -> None:
    """No error and no warning, which are the severities 0 and 1."""
    ours = [result for result in results if Path(result["source"]).name != PLANTED]
    assert [result for result in ours if result["severity"] <= 1] == []


@pytest.mark.parametrize(("rule", "where"), [(rule, where) for _, rule, where in FAULTS])
def test_a_planted_fault_is_found(planted_results: list[Json], rule: str, where: list[str]) -> None:
    places = [result["path"] for result in planted_results if result["code"] == rule]
    assert any(place[: len(where)] == where for place in places), places


def test_linter_finds_only_the_planted_faults(planted_results: list[Json]) -> None:
    assert {result["code"] for result in planted_results} == {rule for _, rule, _ in FAULTS}


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
  const context: unknown = result.didDocument["@context"];
  return result.didDocumentMetadata.versionId + (Array.isArray(context) ? context.length : 0);
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
def compiled(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the types, of two programs that use them, and of what the compiler says of both."""

    def compile_both(folder: Path) -> None:
        for name in ("identity.d.ts", "again.d.ts"):
            run_node_tool(node_tools, "openapi-typescript", DOCUMENT, "--output", folder / name)
        (folder / "use.ts").write_text(USE)
        (folder / "wrong.ts").write_text(USE.replace("// @ts-expect-error - a method is needed", ""))
        # Not those of browsers and of Node, which it would check too.
        libraries = ("--lib", "es2022", "--typeRoots", folder / "none")
        options = ("--noEmit", "--strict", "--skipLibCheck", "false", *libraries)
        with pytest.raises(subprocess.CalledProcessError) as caught:
            run_node_tool(node_tools, "tsc", *options, folder / "use.ts", folder / "wrong.ts")
        (folder / "said").write_text(caught.value.stdout)

    return once(tmp_path_factory, "types", compile_both)


@pytest.fixture(scope="module")
def errors(compiled: Path) -> list[str]:
    """What the compiler says, a line for each error."""
    return [line for line in (compiled / "said").read_text().splitlines() if not line.startswith(" ")]


def test_the_types_are_the_same_octets_each_time(compiled: Path) -> None:
    assert (compiled / "again.d.ts").read_bytes() == (compiled / "identity.d.ts").read_bytes()


def test_the_compiler_takes_the_types(errors: list[str]) -> None:
    assert [error for error in errors if "/wrong.ts(" not in error] == []


def test_the_compiler_would_say_so(errors: list[str]) -> None:
    (said,) = (error for error in errors if "/wrong.ts(" in error)
    assert "'method' is missing" in said
