"""Functions for values: instances of ``msgspec.Struct`` and of dataclasses."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from msgspec import Struct, structs

T = TypeVar("T")


class Hidden:
    """A base of values that must reach no log: their ``repr`` is the name of the class."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def value_class(cls: type[T]) -> type[T]:
    """Return a dataclass with slots and a hash. For plugins of version 1.0; leaves in 1.2."""
    return dataclasses.dataclass(slots=True, unsafe_hash=True)(cls)


if TYPE_CHECKING:
    # mypy knows this one by its name, and compares the changes with the fields.
    from dataclasses import replace as replace
else:

    def replace(value: T, /, **changes: Any) -> T:
        """Return a copy of the value with changed fields. Raises ``TypeError`` for a name that is not a field."""
        return (structs.replace if isinstance(value, Struct) else dataclasses.replace)(value, **changes)


def field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class or value, in the order of their declaration."""
    return getattr(kind, "__struct_fields__", None) or tuple(one.name for one in dataclasses.fields(kind))


def is_record(kind: Any) -> bool:
    """Return whether the annotation is a class with fields: a Struct or a dataclass."""
    return isinstance(kind, type) and (issubclass(kind, Struct) or dataclasses.is_dataclass(kind))
