"""The three clients name the same jobs alike, in the spelling of their language."""

from __future__ import annotations

import json
import re

import pytest

import identity_client
from identity_client.operations import served_operations
from openapi import clients, go_types

# Of a program, and of a client. The generated part of TypeScript and Go has ``issueCredential``.
NAMES = ("Client", "Signer", "IdentityError", "Expectation", "sign_token", "verify_log", "read_status")
# Of Python the library ``identity_tlog`` has them.
NOT_IN_PYTHON = ("verify_checkpoint", "verify_consistency", "verify_inclusion")
# The Go standard library has no pairing, so that ``Verify`` of Go is a method that calls the service.
NOT_IN_GO = ("verify",)
DOCUMENT = json.loads(clients.DOCUMENT.read_bytes())
JOBS = ("delegate", "prove", "verify", "issue_credential")


def pascal(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def camel(name: str) -> str:
    return name if name[0].isupper() else pascal(name)[0].lower() + pascal(name)[1:]


@pytest.mark.parametrize("name", [*NAMES, *NOT_IN_GO, *NOT_IN_PYTHON])
def test_name_is_in_each_client(name: str) -> None:
    assert hasattr(identity_client, name) != (name in NOT_IN_PYTHON)
    index = (clients.TYPESCRIPT / "src" / "index.ts").read_text("utf-8")
    assert re.search(rf"^export [^;]*\b{camel(name)}\b", index, re.MULTILINE)
    if name in NOT_IN_GO:
        return
    go = "".join(path.read_text("utf-8") for path in sorted(clients.GO.glob("*.go"))) + go_types.types(DOCUMENT)
    assert re.search(rf"^(?:type|func) {pascal(name)}\b", go, re.MULTILINE)


@pytest.mark.parametrize("name", JOBS)
def test_job_is_a_method_of_each_client(name: str) -> None:
    assert callable(getattr(identity_client.Client, name))
    operations = served_operations()
    source = (clients.TYPESCRIPT / "src" / "client.ts").read_text("utf-8")
    go = (clients.GO / "jobs.go").read_text("utf-8")
    if camel(name) in operations:
        return
    assert re.search(rf"^  readonly {camel(name)} = ", source, re.MULTILINE)
    assert re.search(rf"^func \(c \*Client\) {pascal(name)}\(", go, re.MULTILINE)
