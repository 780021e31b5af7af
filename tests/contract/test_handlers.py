"""The document and the handlers of the real service, without starting it."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from identity_codec.structs import python_name
from identity_codec.values import field_names
from identity_core.api.app import ALWAYS_ANSWERED
from identity_core.api.contract import bind, operations
from identity_core.api.security import DOCUMENT_SCHEMES
from tests.reference import DOCUMENT, handlers_modules

TAGS = sorted({operation["tags"][0] for _, _, operation in operations(DOCUMENT)})


def handler_classes(tag: str) -> Iterator[type]:
    """Yield the classes of the modules of a tag whose public coroutine methods take a request."""
    for module in map(importlib.import_module, handlers_modules(tag)):
        for _, each in inspect.getmembers(module, inspect.isclass):
            methods = inspect.getmembers(each, inspect.iscoroutinefunction)
            if each.__module__ == module.__name__ and each.__name__.endswith("Handlers") and methods:
                yield each


def bare(each: type) -> Any:
    """An object of the class without what it needs to work: ``bind`` only looks at its methods."""
    return each(*[None] * len(field_names(each)))


def test_document_and_handlers_fit() -> None:
    handlers = [bare(each) for each in dict.fromkeys(each for tag in TAGS for each in handler_classes(tag))]
    bound = bind(DOCUMENT, handlers, DOCUMENT_SCHEMES)
    assert len(bound) == len(list(operations(DOCUMENT)))


@pytest.mark.parametrize("tag", TAGS)
def test_the_file_of_a_tag_holds_its_handlers(tag: str) -> None:
    declared = {python_name(each["operationId"]) for _, _, each in operations(DOCUMENT) if each["tags"] == [tag]}
    others = {python_name(each["operationId"]) for _, _, each in operations(DOCUMENT)} - declared
    written = {
        name
        for each in handler_classes(tag)
        for name, _ in inspect.getmembers(each, inspect.iscoroutinefunction)
        # An extension has operations of several tags in one module.
        if not name.startswith("_") and (each.__module__.startswith("identity_core.") or name not in others)
    }
    assert written == declared


def test_every_scheme_of_the_document_is_checked_and_no_other() -> None:
    assert set(DOCUMENT["components"]["securitySchemes"]) == set(DOCUMENT_SCHEMES)


def test_exemptions_are_operations() -> None:
    known = {operation["operationId"] for _, _, operation in operations(DOCUMENT)}
    assert {*ALWAYS_ANSWERED} <= known
