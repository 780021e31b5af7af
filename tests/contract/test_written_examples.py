"""The examples that commands write are what those commands write: their files are the same, to the byte."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from openapi import write_examples, write_ledger_examples
from openapi.write_credential_examples import VERIFICATION, CredentialTelling


def credential_examples() -> dict[str, Any]:
    """Return the examples of the kernel's tag."""
    told = CredentialTelling().tell()
    del told[VERIFICATION]
    return told


WRITTEN: dict[str, Callable[[], dict[str, Any]]] = {
    "write_examples": write_examples.tell,
    "write_credential_examples": lambda: {"credentials": credential_examples()},
    "write_ledger_examples": lambda: {"transparency": asyncio.run(write_ledger_examples.tell())},
}


@pytest.mark.parametrize("command", WRITTEN)
def test_the_files_are_what_the_command_writes(command: str) -> None:
    for name, examples in WRITTEN[command]().items():
        text = write_examples.path_of(name).read_text("utf-8")
        assert text == write_examples.text_of(name, examples, f"openapi.{command}"), f"run python -m openapi.{command}"


def test_examples_of_verdicts_are_those_of_the_story() -> None:
    written = yaml.safe_load(write_examples.path_of("verification").read_text("utf-8"))
    assert written[VERIFICATION] == CredentialTelling().tell()[VERIFICATION], (
        "run python -m openapi.write_credential_examples"
    )


def test_examples_of_signed_gaps_are_those_of_the_story() -> None:
    path = write_examples.EXAMPLES.parents[1] / "plugins" / "bound_credentials" / "openapi" / "examples.yaml"
    written = yaml.safe_load(path.read_text("utf-8"))
    told = CredentialTelling().tell_gaps()
    assert {name: written[name] for name in told} == told


def test_members_keep_order_of_file_and_new_ones_come_last() -> None:
    examples = write_examples.tell()["dids"]
    shuffled = {name: dict(reversed(shown.items())) for name, shown in reversed(examples.items())}
    shuffled["listDids"]["500"] = {"b": [{"z": 1, "a": 2}]}
    text = write_examples.text_of("dids", shuffled, "openapi.write_examples")
    added = "  '500':\n    b:\n    - z: 1\n      a: 2\n"
    assert text.replace(added, "", 1) == (write_examples.EXAMPLES / "dids.yaml").read_text("utf-8")
    assert text != text.replace(added, "", 1)
