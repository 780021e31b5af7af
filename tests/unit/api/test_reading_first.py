"""What is answered from stored octets before a handler is asked, and what is left to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from identity_core.api.quick import reading_first
from identity_core.api.request import Answer
from identity_core.database import DatabaseUnavailable
from identity_core.errors import DidQuarantined

STORED, HANDLED = Answer(200, b"stored"), Answer(200, b"handled")


@pytest.mark.parametrize("found", [STORED, None, DidQuarantined()])
def test_the_handler_is_asked_where_nothing_is_found_or_something_is_refused(found: Any) -> None:
    asked = []

    async def read(request: Any) -> Answer | None:
        if isinstance(found, Exception):
            raise found
        return found

    async def handler(request: Any) -> Answer:
        asked.append(request)
        return HANDLED

    request: Any = object()
    answer = asyncio.run(reading_first(read, handler)(request))
    assert (answer, asked) == ((STORED, []) if found is STORED else (HANDLED, [request]))


@pytest.mark.parametrize("fault", [KeyError("a fault of ours"), DatabaseUnavailable()])
def test_a_fault_is_not_taken_for_nothing(fault: Exception) -> None:
    async def read(request: Any) -> Answer | None:
        raise fault

    async def handler(request: Any) -> Answer:
        raise AssertionError("it was asked")

    with pytest.raises(type(fault)):
        asyncio.run(reading_first(read, handler)(object()))  # type: ignore[arg-type]
