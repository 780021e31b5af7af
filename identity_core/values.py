"""The decorator for values: frozen for who writes code, plain at run time, and made quickly (README.md, "Values")."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
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
    """Equality and hash over the fields that are compared. The library compiles both with each class, half of what it takes to make one;
    most values are never compared, so here it is done with the first comparison of the class."""
    has_own_hash = vars(made).get("__hash__") is not None

    def compile_both() -> None:
        is_equal, hashed = _compiled([one.name for one in fields(made) if one.compare])
        made.__eq__ = is_equal
        if not has_own_hash:
            made.__hash__ = hashed

    def is_equal_at_first(self: Any, other: object) -> Any:
        compile_both()
        return made.__eq__(self, other)

    def hashed_at_first(self: Any) -> Any:
        compile_both()
        return made.__hash__(self)

    made.__eq__ = is_equal_at_first
    if not has_own_hash:
        made.__hash__ = hashed_at_first


def _compiled(names: list[str]) -> tuple[Any, Any]:
    ours, theirs = ("".join(f"{side}.{name}, " for name in names) for side in ("self", "other"))
    made: dict[str, Any] = {}
    # The names of fields, which Python has taken for identifiers, are all that goes into the text.
    exec(  # noqa: S102
        f"def is_equal(self, other):\n"
        f"    return ({ours}) == ({theirs}) if other.__class__ is self.__class__ else NotImplemented\n"
        f"def hashed(self):\n"
        f"    return hash(({ours}))\n",
        made,
    )
    return made["is_equal"], made["hashed"]
