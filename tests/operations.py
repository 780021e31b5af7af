"""The operations of the document as the gate knows them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from identity_core.api import contract
from identity_core.api.dispatch import facts
from identity_core.api.request import Operation
from identity_core.api.security import DOCUMENT_SCHEMES
from tests.reference import DOCUMENT


def gate_entry(operation_id: str) -> Operation:
    """Return what the gate knows of an operation of the document."""
    wiring: Any = SimpleNamespace(schemes=DOCUMENT_SCHEMES, resource_metadata="", error_shapes={})
    declared = next(each for each in contract.operations(DOCUMENT) if each[2]["operationId"] == operation_id)
    return facts(DOCUMENT, *declared, wiring)
