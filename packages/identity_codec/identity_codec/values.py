"""The decorator for values: frozen for who writes code, plain at run time, and made quickly (README.md, "Values")."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

T = TypeVar("T")

# What the library looks for in the text of every annotation, which takes a quarter of the time of a class. Hardly any has one of these.
SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")


class Hidden:
    """A base of values that must reach no log: their ``repr`` is the name of the class."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(cls: type[T]) -> type[T]:
    """Return a dataclass with slots, equality and a hash; mypy refuses an assignment to its fields."""
    # A class without a docstring would get one from its signature, which takes as long to read as the class to make.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: type[T] = _with_slots(cls)
    own = vars(made)
    if "__init__" not in own:
        _initialize_by_fields(made)
    if "__repr__" not in own:
        made.__repr__ = _shown  # type: ignore[method-assign]
    if "__eq__" not in own:
        _compare_by_fields(made)
    return made


def _with_slots(cls: Any) -> Any:
    """Return a dataclass of the library, without a method where its annotations are plain."""
    annotations = inspect.get_annotations(cls)
    is_plain = not any(word in str(kind) for kind in annotations.values() for word in SPECIAL)
    if is_plain:
        cls.__annotations__ = dict.fromkeys(annotations, object)
    made: Any = dataclass(init=not is_plain, repr=False, eq=False, slots=True)(cls)
    if is_plain:
        made.__annotations__ = annotations
        for name, kind in annotations.items():
            made.__dataclass_fields__[name].type = kind
    return made


def _initialize_by_fields(made: Any) -> None:
    """Compile ``__init__`` with the first value. The library would do it with each class, which is a third of the time of its
    creation."""

    def initialize_at_first(self: Any, *arguments: Any, **named: Any) -> None:
        """Compile the method that sets the fields, and call it."""
        made.__init__ = _initializer(made)
        made.__init__(self, *arguments, **named)

    made.__init__ = initialize_at_first


def _initializer(made: Any) -> Any:
    known: dict[str, Any] = {"__name__": made.__module__, "MISSING": MISSING}
    parameters, by_name, lines = ["self"], ["*"], []
    for number, one in enumerate(fields(made)):
        (by_name if one.kw_only else parameters).extend(_parameter(one, number, known))
        lines += _assignment(one, number)
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    listed = ", ".join([*parameters, *(by_name if len(by_name) > 1 else ())])
    # The names of fields, which Python has taken for identifiers, are all that goes into the text.
    exec(f"def __init__({listed}):\n    " + "\n    ".join(lines or ["pass"]), known)  # noqa: S102
    known["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    return known["__init__"]


def _parameter(one: Field[Any], number: int, known: dict[str, Any]) -> list[str]:
    known[f"default{number}"], known[f"factory{number}"] = one.default, one.default_factory
    if not one.init:
        return []
    if one.default_factory is not MISSING:
        return [f"{one.name}=MISSING"]
    return [one.name if one.default is MISSING else f"{one.name}=default{number}"]


def _assignment(one: Field[Any], number: int) -> list[str]:
    if one.default_factory is MISSING:
        given = one.name if one.init else f"default{number}"
        return [f"self.{one.name} = {given}"] if one.init or one.default is not MISSING else []
    made = f"factory{number}()"
    return [f"self.{one.name} = {f'{made} if {one.name} is MISSING else {one.name}' if one.init else made}"]


if TYPE_CHECKING:
    # mypy knows this one by its name, and holds the changes against the fields.
    from dataclasses import replace as replace
else:

    def replace(value: T, /, **changes: Any) -> T:
        """``dataclasses.replace``, in a tenth of the time: a copy of the fields, and those that are changed set in it. Raises
        ``AttributeError`` for a name that is no field."""
        copier = _copier(value.__class__)
        if copier is None:
            return dataclasses.replace(value, **changes)
        made = copier(value)
        for name in changes:
            setattr(made, name, changes[name])
        return made


@cache
def _copier(cls: Any) -> Callable[[Any], Any] | None:
    """Return the function that copies the constructor's fields of a value; None for a class whose constructor does
    more."""
    others = [one for one in fields(cls) if not one.init]
    if (
        hasattr(cls, "__post_init__")
        or cls.__setattr__ is not object.__setattr__
        or any((one.default, one.default_factory) != (MISSING, MISSING) for one in others)
    ):
        return None
    copied = "; ".join(f"made.{one.name} = value.{one.name}" for one in fields(cls) if one.init) or "pass"
    made: dict[str, Any] = {"new": object.__new__, "cls": cls}
    exec(f"def copy(value):\n    made = new(cls)\n    {copied}\n    return made\n", made)  # noqa: S102
    copier: Callable[[Any], Any] = made["copy"]
    return copier


def _shown(self: Any) -> str:
    named = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(named)})"


def _compare_by_fields(made: Any) -> None:
    """Equality and hash over the fields that are compared. The library compiles both with each class, half of what it takes to make one;
    most values are never compared, so here it is done with the first comparison of the class."""
    has_own_hash = vars(made).get("__hash__") is not None

    def compile_both() -> None:
        """Set the compiled methods on the class."""
        is_equal, hashed = _compiled([one.name for one in fields(made) if one.compare])
        made.__eq__ = is_equal
        if not has_own_hash:
            made.__hash__ = hashed

    def is_equal_at_first(self: Any, other: object) -> Any:
        """Compile both methods, and compare."""
        compile_both()
        return made.__eq__(self, other)

    def hashed_at_first(self: Any) -> Any:
        """Compile both methods, and return the hash."""
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
