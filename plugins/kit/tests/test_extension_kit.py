"""The kit accepts an extension that fits, and refuses each fault."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from identity_kit.conformance.extension import ExtensionConformance

from identity_core.extension.compose import CompositionError
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin.sockets import PluginError


@contextlib.asynccontextmanager
async def open_nothing(kernel: Kernel) -> AsyncIterator[Contribution]:
    yield Contribution()


def declare(**change: Any) -> Extension:
    return Extension(**{"name": "tape", "kernel": ">=1,<2", "open": open_nothing} | change)


def part(path: str, schema: str) -> bytes:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    operation = {"operationId": "getTape", "responses": {"200": {"description": "It.", "content": content}}}
    return json.dumps({"paths": {path: {"get": operation}}}).encode()


class TestFittingExtension(ExtensionConformance):
    @pytest.fixture
    def declared(self) -> Extension:
        return declare(document=part("/tape", "ErrorResponse"))


@pytest.mark.parametrize("change", [{"name": "Tape"}, {"name": "store"}, {"kernel": ">=9"}])
def test_invalid_declaration_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(PluginError):
        ExtensionConformance().test_declaration_is_valid(declare(**change))


def test_reference_without_target_is_refused() -> None:
    misfit = declare(document=part("/tape", "Tape"))
    with pytest.raises(AssertionError, match="components/schemas/Tape"):
        ExtensionConformance().test_part_of_the_document_fits_the_kernel(misfit)


def test_path_of_the_kernel_is_refused() -> None:
    misfit = declare(document=part("/health", "ErrorResponse"))
    with pytest.raises(CompositionError):
        ExtensionConformance().test_part_of_the_document_fits_the_kernel(misfit)
