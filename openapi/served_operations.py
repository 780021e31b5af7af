"""Reads from the document what a client in any language needs of each operation when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from identity_client.challenge import DID_AUTH, RECOVERY_KEY
from identity_client.operations import ServedOperation

# What an ``Authorization`` header with a signature begins with, by the scheme of the document.
_SIGNED: Final = {"DidAuth": DID_AUTH, "RecoveryKeyAuth": RECOVERY_KEY}
# A client that keeps no answers has no use for it.
_UNUSED: Final = "If-None-Match"


def operations_of(document: Mapping[str, Any]) -> dict[str, ServedOperation]:
    """operationId → what there is to know, in the order of the document."""
    return {
        operation["operationId"]: _read(document, method, path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def _read(document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]) -> ServedOperation:
    parameters = [component(document, each) for each in operation.get("parameters", ())]
    headers = tuple(each["name"] for each in parameters if each["in"] == "header")
    schemes = {scheme for each in operation["security"] for scheme in each}
    answers = [component(document, each) for status, each in operation["responses"].items() if status < "3"]
    forms = tuple(form for answer in answers for form in answer.get("content", ()))
    return ServedOperation(
        method=method.upper(),
        path=path,
        query=tuple(each["name"] for each in parameters if each["in"] == "query"),
        headers=tuple(name for name in headers if name != _UNUSED),
        forms=forms,
        idempotent="Idempotency-Key" in headers,
        keyed=not schemes.isdisjoint({"ApiKeyAuth", "BearerAuth"}),
        scheme=next((name for scheme, name in _SIGNED.items() if scheme in schemes), None),
        purpose=operation.get("x-challenge-purpose"),
        summary=operation["summary"],
    )


def component(document: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``part``, or the component that it refers to."""
    if "$ref" not in part:
        return part
    kind, name = part["$ref"].removeprefix("#/components/").split("/")
    found: Mapping[str, Any] = document["components"][kind][name]
    return found
