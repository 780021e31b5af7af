"""Values do not change: every dataclass of the rules, the cryptography, the limits and the prover is frozen and has slots. Those of the
core are frozen for mypy alone (``identity_codec.values``)."""

from __future__ import annotations

import inspect
from dataclasses import InitVar, dataclass, field, fields, is_dataclass, replace
from inspect import get_annotations
from typing import Any, ClassVar

import pytest

from identity_codec.values import replace as value_replace
from identity_codec.values import value_class
from identity_core.domain.dids.did import Did
from tests.modules import modules_of

PACKAGES = (
    "identity_core.domain",
    "identity_codec",
    "identity_client",
    "identity_core.throttle",
    "identity_bbs",
    "identity_prover_bbs",
)
# The next version, and the parts of a wished document, while they are made; what comes out of them is frozen.
CHANGING = {"Revision", "_DocumentParts"}
# The library limits declares its type, so ours is not declared a constant.
CONSTANTS = {"STORAGE_SCHEME"}


def classes() -> list[type]:
    found = []
    for name in PACKAGES:
        for module in modules_of(name):
            found += [
                each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
            ]
    return found


# One that only has another name than the class that it inherits from is no class of its own here.
OWN = "__dataclass_params__"
VALUES = [each for each in classes() if OWN in vars(each) and each.__name__ not in CHANGING]


def test_class_that_declares_fields_is_dataclass_or_named_tuple() -> None:
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


def test_no_value_shows_a_secret_when_it_is_printed() -> None:
    """What stands in a traceback or a line of a log: a field named ``secret`` of bytes is in no representation."""
    asked = []
    for module in modules_of("identity_core"):
        for each in vars(module).values():
            if isinstance(each, type) and is_dataclass(each):
                shown = each.__repr__ is not object.__repr__
                asked += [(each, one) for one in fields(each) if one.name == "secret" and shown and one.type == "bytes"]
    assert len(asked) > 3
    assert [each for each, one in asked if one.repr and each.__module__.startswith("identity_core.")] == []


def test_two_with_equal_fields_are_one_in_a_set() -> None:
    one, same = Did("did:ids:a", "ids", "a"), Did("did:ids:a", "ids", "a")
    assert {one, same} == {one}


class Declared:
    """What both decorators are given."""

    name: str
    secret: str = field(repr=False)
    places: tuple[str, ...] = ()
    memory: list[int] = field(default_factory=list, compare=False)


def declared(decorator: Any) -> Any:
    members = {name: value for name, value in vars(Declared).items() if name not in ("__dict__", "__weakref__")}
    return decorator(type("Declared", (), members))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("a", "b")),
        (("a", "b"), ("a", "c")),
        (("a", "b", ("x",)), ("a", "b", ("y",))),
        (("a", "b", (), [1]), ("a", "b", (), [2])),
    ],
)
def test_value_class_behaves_as_frozen_dataclass(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    ours, theirs = declared(value_class), declared(dataclass(frozen=True, slots=True))
    # Compiled with the first comparison, and the same with the second.
    for _ in range(2):
        assert (ours(*one) == ours(*other)) is (theirs(*one) == theirs(*other))
    assert len({ours(*one), ours(*other)}) == len({theirs(*one), theirs(*other)})
    assert repr(ours(*one)) == repr(theirs(*one))
    assert ours(*one) != theirs(*one)
    assert repr(replace(ours(*one), name="changed")) == repr(replace(theirs(*one), name="changed"))
    assert repr(value_replace(ours(*one), name="changed")) == repr(replace(theirs(*one), name="changed"))


class Made:
    """What there is to say about how one is made."""

    first: str
    second: int = field(default=2, kw_only=True)
    third: list[int] = field(default_factory=list)
    fourth: int = field(kw_only=True)
    fifth: int = field(default=5, init=False)
    sixth: list[int] = field(default_factory=list, init=False)
    seventh: str = field(init=False)

    def __post_init__(self) -> None:
        self.seventh = f"{self.first} {self.second} {self.third} {self.fourth} {self.fifth} {self.sixth}"


class Special(Made):
    """The same where an annotation is more than a type."""

    place: ClassVar[str] = "here"
    extra: InitVar[int] = 9

    def __post_init__(self, extra: int) -> None:  # type: ignore[override]
        super(type(self), self).__post_init__()
        self.seventh += str(extra)


def decorated(decorator: Any, one: type) -> Any:
    members = {name: value for name, value in vars(one).items() if name not in ("__dict__", "__weakref__")}
    return decorator(
        type(one.__name__, tuple(decorated(decorator, base) for base in one.__bases__ if base is not object), members)
    )


@pytest.mark.parametrize("kind", [Made, Special])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("a",), {"fourth": 4}),
        (("a", [3]), {"fourth": 4, "second": 1}),
        ((), {"first": "a", "third": [3], "fourth": 4}),
        ((), {"fourth": 4}),
        (("a",), {}),
        (("a", [3], 4), {}),
        (("a",), {"fourth": 4, "fifth": 1}),
        (("a",), {"fourth": 4, "none": 1}),
    ],
)
def test_a_value_class_is_made_as_a_dataclass_is(kind: type, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = decorated(value_class, kind), decorated(dataclass(slots=True), kind)
    assert [(one.name, one.type) for one in fields(ours)] == [(one.name, one.type) for one in fields(theirs)]
    assert get_annotations(ours) == get_annotations(theirs)
    for _ in range(2):
        told = []
        for each in (ours, theirs):
            try:
                told.append(each(*arguments, **named).seventh)
            except TypeError as error:
                told.append(type(error).__name__)
        assert told[0] == told[1]
    if told[0] != "TypeError":
        assert ours(*arguments, **named).sixth is not ours(*arguments, **named).sixth


def test_a_class_derived_from_a_value_class_makes_it_too() -> None:
    @value_class
    class Place:
        name: str

    class Town(Place):
        def __init__(self, name: str) -> None:
            super().__init__(name.title())

    assert (Town("bath").name, Town("wells").name, Place("a").name) == ("Bath", "Wells", "a")


def test_a_value_class_keeps_what_its_author_wrote() -> None:
    @value_class
    class Own:
        name: str

        def __repr__(self) -> str:
            return "hidden"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    assert repr(Own("a")) == "hidden"
    assert Own("a") == Own("b")
    assert hash(Own("a")) == 7


def test_values_without_fields_are_equal_by_class() -> None:
    @value_class
    class Nothing:
        pass

    @value_class
    class Other(Nothing):
        pass

    assert {Nothing(), Nothing()} == {Nothing()}
    # Compared for the first time by a value of the derived class, and hashed after that.
    assert Other() == Other()
    assert len({Other(), Other(), Nothing()}) == 2
    assert Nothing() != Other()
    assert vars(Other)["__slots__"] == ()


def test_a_value_is_copied_field_by_field_and_stays_as_it_was() -> None:
    ours = declared(value_class)
    before = ours("a", "b", ("x",), [1])
    after = value_replace(before, secret="c", places=())
    assert (before.name, before.secret, before.places, before.memory) == ("a", "b", ("x",), [1])
    assert (after.name, after.secret, after.places) == ("a", "c", ())
    # As the library does: what is not changed is the same object.
    assert after.memory is before.memory
    assert type(after) is ours
    with pytest.raises(AttributeError):
        value_replace(before, other="c")


def test_a_class_that_works_something_out_is_made_anew() -> None:
    @value_class
    class Sum:
        parts: tuple[int, ...]
        total: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", sum(self.parts))

    assert value_replace(Sum((1, 2)), parts=(5,)).total == 5
    # One that is frozen at run time takes no fields from outside.
    assert value_replace(declared(dataclass(frozen=True, slots=True))("a", "b"), name="c").name == "c"
