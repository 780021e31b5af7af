"""The decorator for values: frozen for who writes code, plain at run time, and made quickly (README.md, "Values")."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(cls: type[T]) -> type[T]:
    """A dataclass with slots, equality and a hash, whose fields mypy lets no one assign."""
    # A class without a docstring would get one from its signature, which takes as long to read as the class to make.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made = dataclass(init=True, repr=False, eq=False, slots=True)(cls)
    own = vars(made)
    if "__repr__" not in own:
        made.__repr__ = _shown  # type: ignore[method-assign]
    if "__eq__" not in own:
        _compare_by_fields(made)
    return made


def _shown(self: Any) -> str:
    named = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(named)})"


def _compare_by_fields(made: Any) -> None:
    """Equality and hash over the fields that are compared. The library compiles both anew for each class, half of what it takes to make
    one; these are closures over the same reading of fields, as fast when called."""
    names = [one.name for one in fields(made) if one.compare]
    compared = attrgetter(*names) if names else _nothing

    def is_equal(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(compared(self))

    made.__eq__ = is_equal
    if vars(made).get("__hash__") is None:
        made.__hash__ = hashed


def _nothing(_: Any) -> tuple[()]:
    return ()
