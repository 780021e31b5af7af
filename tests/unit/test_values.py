"""Values do not change: every dataclass of the rules, the cryptography, the limits and the prover is frozen and has slots. Those that
requests make are frozen for mypy alone (``identity_core.values``)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass

import pytest

from identity_core.domain.dids.did import Did

PACKAGES = ("identity_core.domain", "identity_core.crypto", "identity_core.throttle", "identity_prover_bbs")
# The next version, and the parts of a wished document, while they are made; what comes out of them is frozen.
CHANGING = {"Revision", "_DocumentParts"}
# The library limits declares its type, so ours is not declared a constant.
CONSTANTS = {"STORAGE_SCHEME"}


def classes() -> list[type]:
    found = []
    for name in PACKAGES:
        package = importlib.import_module(name)
        names = [name, *(module.name for module in pkgutil.walk_packages(package.__path__, f"{name}."))]
        for module in map(importlib.import_module, names):
            found += [
                each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
            ]
    return found


VALUES = [each for each in classes() if is_dataclass(each) and each.__name__ not in CHANGING]


def test_a_class_that_declares_fields_is_a_dataclass_or_a_named_tuple() -> None:
    for each in classes():
        if not is_dataclass(each) and not issubclass(each, tuple):
            declared = inspect.get_annotations(each).items()
            fields = [name for name, kind in declared if not kind.startswith(("ClassVar", "Final"))]
            assert set(fields) <= CONSTANTS, each


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.__module__}.{value.__qualname__}")
def test_it_is_frozen_and_has_slots(value: type) -> None:
    is_value_class = "@value_class\n" in inspect.getsource(value)
    assert value.__dataclass_params__.frozen is not is_value_class  # type: ignore[attr-defined]
    assert value.__hash__ is not None
    assert "__slots__" in vars(value)


def test_two_with_equal_fields_are_one_in_a_set() -> None:
    one, same = Did("did:ids:a", "ids", "a"), Did("did:ids:a", "ids", "a")
    assert {one, same} == {one}
