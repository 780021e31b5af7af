"""The decorator for values that requests make: frozen for who writes code, plain at run time (README.md, "Values")."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(cls: type[T]) -> type[T]:
    """A dataclass with slots, equality and a hash, whose fields mypy lets no one assign."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
