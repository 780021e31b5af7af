"""Spectral finds nothing in the document, and finds what is planted."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from identity_core.api.contract import load_document
from openapi.clients import DOCUMENT, HERE, run_node_tool

Json = dict[str, Any]


def lint(node_tools: Path, document: Path) -> None:
    run_node_tool(
        node_tools, "spectral", "lint", "--fail-severity", "warn", "--ruleset", HERE / "spectral.yaml", document
    )


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


@pytest.mark.parametrize(
    ("plant", "rule"),
    [
        (_path_parameter, "no-path-level-parameters"),
        (_two_tags, "operation-singular-tag"),
        (_same_name, "operation-operationId-unique"),
        (_newer, "openapi-3-0"),
        (_wrong_example, "oas3-valid-media-example"),
    ],
)
def test_a_planted_fault_is_found(node_tools: Path, tmp_path: Path, plant: Callable[[Json], None], rule: str) -> None:
    document = json.loads(load_document().octets)
    plant(document)
    (tmp_path / "planted.json").write_text(json.dumps(document))
    with pytest.raises(subprocess.CalledProcessError) as caught:
        lint(node_tools, tmp_path / "planted.json")
    assert rule in caught.value.stdout
