"""Values do not change: the records of the rules, the cryptography, the limits and the prover are frozen, and no value shows a secret."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from identity_codec.values import Hidden, field_names, is_record, replace, value_class
from identity_core.domain.dids.changes import Authorization
from identity_core.domain.dids.did import Did
from identity_core.settings.fields import DEFAULT, Given
from tests.modules import modules_of

PACKAGES = (
    "identity_core.domain",
    "identity_codec",
    "identity_client",
    "identity_core.throttle",
    "identity_bbs",
    "identity_prover_bbs",
)
# The next version, and the parts of a requested document, while they are made; their results are frozen.
CHANGING = {"Revision", "_DocumentParts"}
# Dataclasses that only mypy freezes: they parse fields when one is first read, or compare some of their fields only.
FROZEN_BY_MYPY = {"ApiKey", "Authorization", "DidDocument", "DidState", "Key"}
# The library limits declares its type, so ours is not declared a constant.
CONSTANTS = {"STORAGE_SCHEME"}
SECRETS = ("secret", "private", "signature", "signatures", "token", "seed", "passphrase")
"""Names of fields whose value must not be in a log; a name that ends in ``_`` and one of them too."""


@cache
def classes(package: str) -> tuple[type, ...]:
    """Return the classes that a package defines."""
    found = []
    for module in modules_of(package):
        found += [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    return tuple(found)


VALUES = [one for name in PACKAGES for one in classes(name) if is_record(one) and one.__name__ not in CHANGING]


def test_class_that_declares_fields_is_record_or_named_tuple() -> None:
    for each in [one for name in PACKAGES for one in classes(name)]:
        if not is_record(each) and not issubclass(each, tuple):
            declared = inspect.get_annotations(each).items()
            fields = [name for name, kind in declared if not kind.startswith(("ClassVar", "Final"))]
            assert set(fields) <= CONSTANTS, each


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.__module__}.{value.__qualname__}")
def test_value_is_frozen_and_has_no_dictionary(value: Any) -> None:
    if issubclass(value, Struct):
        assert value.__struct_config__.frozen
    elif value.__module__ != "identity_did_ids.chain":
        assert value.__dataclass_params__.frozen is (value.__name__ not in FROZEN_BY_MYPY)
    assert value.__hash__ is not None
    assert value.__dictoffset__ == 0


def distributions() -> Iterator[str]:
    """Yield the import packages of this repository."""
    root = Path(__file__).resolve().parents[2]
    yield "identity_core"
    for pattern in ("packages/*/identity_*", "plugins/*/identity_*"):
        yield from (path.name for path in root.glob(pattern) if (path / "__init__.py").is_file())


def hides(name: str) -> bool:
    """Return whether the value of a field of this name must not be shown."""
    return name.lstrip("_") in SECRETS or name.endswith(tuple(f"_{one}" for one in SECRETS))


@pytest.mark.parametrize("package", sorted(distributions()))
def test_no_value_shows_a_secret_when_it_is_printed(package: str) -> None:
    """A traceback or a line of a log contains the name of the class only."""
    shown = []
    for each in classes(package):
        if not issubclass(each, Struct) or each.__repr__ is not Struct.__repr__:
            continue
        kinds = each.__annotations__
        names = [name for name in each.__struct_fields__ if hides(name)]
        shown += [
            (each, name) for name in names if str(kinds.get(name)).startswith(("bytes", "str", "tuple[bytes", "Any"))
        ]
    # Types of the wire are written to their receiver, and never to a log.
    assert [(each.__name__, name) for each, name in shown if not each.__module__.endswith(".wire")] == []


def test_dataclass_with_secret_hides_it() -> None:
    asked = []
    for each in classes("identity_core"):
        if is_dataclass(each) and not issubclass(each, Hidden):
            asked += [
                one for one in each.__dataclass_fields__.values() if hides(one.name) and one.type in ("str", "bytes")
            ]
    assert [one.name for one in asked if one.repr] == []


class Secret(Hidden, Struct, frozen=True):
    secret: str
    place: str = ""


class Derived(Secret, frozen=True):
    token: str = ""


@pytest.mark.parametrize("value", [Secret("hush"), Derived("hush", token="hush"), Given("hush", DEFAULT)])
def test_hidden_value_shows_its_class_only(value: Struct) -> None:
    assert repr(value) == f"{type(value).__name__}(…)"
    assert "hush" not in f"{value} {[value]}"


def test_two_with_equal_fields_are_one_in_a_set() -> None:
    one, same = Did("did:ids:a", "ids", "a"), Did("did:ids:a", "ids", "a")
    assert {one, same} == {one}
    assert Secret("a") != Derived("a")
    with pytest.raises(AttributeError):
        one.text = "did:ids:b"  # type: ignore[misc]


def test_authorization_compares_without_its_body_hash() -> None:
    first = Authorization("DIDAuth", "key", "challenge", b"signature", body_hash="a", is_former=True)
    assert first == replace(first, body_hash="b", is_former=False)
    assert hash(first) == hash(replace(first, body_hash="b"))
    assert first != replace(first, signature=b"another")


@dataclass(frozen=True, slots=True)
class Plain:
    secret: str
    place: str = ""
    memory: list[int] = field(default_factory=list)


@pytest.mark.parametrize("kind", [Secret, Plain])
def test_a_value_is_copied_and_stays_as_it_was(kind: Any) -> None:
    before = kind("a", "b")
    after = replace(before, secret="c")
    assert (before.secret, after.secret, after.place, type(after)) == ("a", "c", "b", kind)
    with pytest.raises(TypeError):
        replace(before, other="c")


def test_field_names_are_in_order() -> None:
    assert field_names(Derived) == ("secret", "place", "token")
    assert field_names(Plain("a")) == ("secret", "place", "memory")
    assert [is_record(one) for one in (Secret, Plain, Plain("a"), str, list[int])] == [True, True, False, False, False]


def test_value_class_of_version_1_0_makes_a_record() -> None:
    @value_class
    class Old:
        name: str

    assert is_record(Old)
    assert len({Old("a"), Old("a")}) == 1
