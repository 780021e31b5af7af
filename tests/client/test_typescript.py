"""openapi-typescript makes types that the compiler takes, and that refuse what the document refuses."""

import subprocess
from pathlib import Path

import pytest

from openapi.clients import DOCUMENT, run_node_tool

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


def test_the_compiler_takes_the_types(node_tools: Path, tmp_path: Path) -> None:
    run_node_tool(node_tools, "openapi-typescript", DOCUMENT, "--output", tmp_path / "identity.d.ts")
    (tmp_path / "use.ts").write_text(USE)
    _compile(node_tools, tmp_path / "use.ts")


def test_the_compiler_would_say_so(node_tools: Path, tmp_path: Path) -> None:
    run_node_tool(node_tools, "openapi-typescript", DOCUMENT, "--output", tmp_path / "identity.d.ts")
    (tmp_path / "use.ts").write_text(USE.replace("// @ts-expect-error - a method is needed", ""))
    with pytest.raises(subprocess.CalledProcessError) as caught:
        _compile(node_tools, tmp_path / "use.ts")
    assert "'method' is missing" in caught.value.stdout


def _compile(node_tools: Path, file: Path) -> None:
    run_node_tool(node_tools, "tsc", "--noEmit", "--strict", "--skipLibCheck", "false", file)
