"""Classes and document: each covers the other."""

from collections.abc import Iterator
from typing import Any

import pytest

from identity_core.api.contract import dereference, operations
from identity_core.errors import CODES, IdentityError
from tests.reference import DOCUMENT

# NOT_FOUND belongs to paths that are not an operation. The others wait for the operations that can give them.
OUTSIDE_THE_DOCUMENT = {
    "NOT_FOUND",
    "PROOF_INVALID",
}


def classes(parent: type[IdentityError] = IdentityError) -> Iterator[type[IdentityError]]:
    """The refusals that are generated; those of a test's own do not count."""
    for child in parent.__subclasses__():
        if child.__module__ == IdentityError.__module__:
            yield child
        yield from classes(child)


def promised() -> Iterator[tuple[str, int, str]]:
    """(operationId, status, code) of every error that the document promises."""
    for _, _, operation in operations(DOCUMENT):
        for status, reference in operation["responses"].items():
            for code in dereference(DOCUMENT, reference).get("x-error-codes", []):
                yield operation["operationId"], int(status), code


def test_every_class_has_a_code_of_its_own_and_a_status() -> None:
    codes = [each.code for each in classes()]
    assert len(codes) == len(set(codes))
    assert set(codes) == set(CODES)


@pytest.mark.parametrize("each", list(classes()), ids=lambda each: each.code)
def test_every_class_says_what_it_means(each: type[IdentityError]) -> None:
    assert each.__doc__
    assert each.__doc__ != IdentityError.__doc__
    assert each.message.endswith(".")
    assert str(each()) == each.message


def test_the_document_promises_each_code_with_its_status() -> None:
    wrong = {(code, status) for _, status, code in promised() if CODES[code].status != status}
    assert wrong == set()


def test_the_document_covers_the_classes() -> None:
    assert {code for _, _, code in promised()} == set(CODES) - OUTSIDE_THE_DOCUMENT


def test_every_error_of_the_document_names_its_codes() -> None:
    nameless: list[tuple[Any, str]] = []
    for _, _, operation in operations(DOCUMENT):
        for status, reference in operation["responses"].items():
            if status >= "4" and "x-error-codes" not in dereference(DOCUMENT, reference):
                nameless.append((operation["operationId"], status))
    assert nameless == []


def test_edge_refusals_are_documented_for_each_operation() -> None:
    everywhere = {"INVALID_REQUEST", "METHOD_NOT_ALLOWED", "HEADERS_TOO_LARGE", "INTERNAL_ERROR"}
    with_body = {"PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"}
    missing = {}
    for _, _, operation in operations(DOCUMENT):
        operation_id = operation["operationId"]
        needed = everywhere | (with_body if "requestBody" in operation else set())
        lacking = needed - {code for name, _, code in promised() if name == operation_id}
        if lacking:
            missing[operation_id] = lacking
    assert missing == {}
