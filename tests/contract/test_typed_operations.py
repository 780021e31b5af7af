"""Every operation's use case takes the request and the query as the types that the document names, and its answer is made as one of them,
so that a change of a schema which the code does not follow is an error of types."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest
from msgspec import Struct

from identity_codec.structs import pascal_name
from identity_core import wire
from identity_core.api.contract import operations
from tests.reference import DOCUMENT, handlers_modules, use_cases_packages

# It answers with the bytes that are signed.
SIGNED = {"getStatusList"}
# What several tags answer with.
SHARED = ("authors", "caching")


def named() -> Iterator[tuple[str, str, str]]:
    """operationId, tag, and the type that its use case takes."""
    for _, _, operation in operations(DOCUMENT):
        operation_id, tag = operation["operationId"], operation["tags"][0]
        if "requestBody" in operation:
            (content,) = operation["requestBody"]["content"].values()
            yield operation_id, tag, content["schema"]["$ref"].rpartition("/")[2]
        elif f"{pascal_name(operation_id)}Query" in wire.TYPES.named:
            yield operation_id, tag, f"{pascal_name(operation_id)}Query"


def modules(tag: str) -> Iterator[ModuleType]:
    for package in map(importlib.import_module, use_cases_packages(tag)):
        yield package
        for found in pkgutil.iter_modules(getattr(package, "__path__", ())):
            yield importlib.import_module(f"{package.__name__}.{found.name}")


def parameter_types(operation_id: str, tag: str) -> list[Any]:
    """The types that the use case takes: the call of the class with the name of the operation. An extension may have one class for the
    operations of a resource, with a method for each: then the types that methods of its classes take."""
    named = {vars(each)[name] for each in modules(tag) if (name := pascal_name(operation_id)) in vars(each)}
    methods = [one.__call__ for one in named] or [*methods_of(tag)]
    hints = [hint for method in methods for hint in get_type_hints(method).values()]
    return [*hints, *(part for hint in hints for part in get_args(hint))]


def methods_of(tag: str) -> Iterator[Any]:
    """The public methods of the classes of the extension's own use cases."""
    for module in modules(tag):
        for one in vars(module).values() if not module.__name__.startswith("identity_core.") else ():
            if isinstance(one, type) and one.__module__ == module.__name__:
                yield from (each for name, each in vars(one).items() if inspect.isfunction(each) and name[0] != "_")


@pytest.mark.parametrize(
    ("operation_id", "tag", "name"),
    list(named()),
    ids=lambda value: str(value),
)
def test_the_use_case_takes_what_the_document_names(operation_id: str, tag: str, name: str) -> None:
    assert wire.TYPES.named[name] in parameter_types(operation_id, tag)


def answers() -> Iterator[tuple[str, str, str]]:
    """operationId, tag, and the record that it answers with."""
    for _, _, operation in operations(DOCUMENT):
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values() if status.startswith("2") else ():
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                if isinstance(wire.TYPES.named.get(name), type) and issubclass(wire.TYPES.named[name], Struct):
                    yield operation["operationId"], operation["tags"][0], name


def called(module: ModuleType) -> Iterator[str]:
    """The names that the module calls, without what stands before a dot."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


@pytest.mark.parametrize(
    ("operation_id", "tag", "name"),
    [each for each in answers() if each[0] not in SIGNED],
    ids=lambda value: str(value),
)
def test_the_answer_is_made_as_what_the_document_names(operation_id: str, tag: str, name: str) -> None:
    shared = [f"identity_core.api.{name}" for name in SHARED]
    makers = [importlib.import_module(each) for each in (*handlers_modules(tag), *shared)]
    assert any(name in called(each) for each in (*makers, *modules(tag)))


def test_the_signed_answers_are_operations() -> None:
    assert {operation_id for operation_id, _, _ in answers()} >= SIGNED
