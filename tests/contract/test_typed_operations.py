"""Every operation's use case takes the request and the query as the types that the document names, so that a change of a schema which it
does not follow is an error of types."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from identity_core import wire
from identity_core.api.contract import load_document, operations
from identity_core.codec.structs import pascal_name

# The command line administers keys too, without a request: its handlers read the types.
OTHERWISE = {"createApiKey", "updateApiKey", "rotateApiKey", "listApiKeys"}
# A cursor and a limit, a number: nothing of theirs has a name of its own in the core.
OTHERWISE |= {"listDids", "listDidHistory", "resolveDid", "getDidAuthChallenge"}
OTHERWISE |= {"getLedgerBlock", "getLedgerInclusionProof", "getLedgerConsistencyProof"}


def named() -> Iterator[tuple[str, str, str]]:
    """operationId, tag, and the type that its use case takes."""
    for _, _, operation in operations(load_document().value):
        operation_id, tag = operation["operationId"], operation["tags"][0]
        if "requestBody" in operation:
            (content,) = operation["requestBody"]["content"].values()
            yield operation_id, tag, content["schema"]["$ref"].rpartition("/")[2]
        elif f"{pascal_name(operation_id)}Query" in vars(wire):
            yield operation_id, tag, f"{pascal_name(operation_id)}Query"


def modules(tag: str) -> Iterator[ModuleType]:
    room = importlib.import_module(f"identity_core.use_cases.{tag}")
    yield room
    for found in pkgutil.iter_modules(getattr(room, "__path__", ())):
        yield importlib.import_module(f"{room.__name__}.{found.name}")


def taken(operation_id: str, tag: str) -> set[Any]:
    """The types that the use case's call takes."""
    (use_case,) = {vars(each)[name] for each in modules(tag) if (name := pascal_name(operation_id)) in vars(each)}
    hints = get_type_hints(use_case.__call__).values()
    return {*hints, *(part for hint in hints for part in get_args(hint))}


@pytest.mark.parametrize(
    ("operation_id", "tag", "name"),
    [each for each in named() if each[0] not in OTHERWISE],
    ids=lambda value: str(value),
)
def test_the_use_case_takes_what_the_document_names(operation_id: str, tag: str, name: str) -> None:
    assert getattr(wire, name) in taken(operation_id, tag)


def test_the_exceptions_are_operations() -> None:
    assert {operation_id for operation_id, _, _ in named()} >= OTHERWISE
