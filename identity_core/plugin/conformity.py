"""Checks that an object has the form of its port, and that its results have the declared types.

Members, coroutines and parameters are compared before the first request. Results are checked at each call. The checks
are made once from the port's annotations: they compare the type, the members of a sequence and the fields of the
ports' small dataclasses. They do not check the meaning of values, which the conformance kit does. A value that passes
cannot raise an ``AttributeError`` or ``TypeError`` further inside.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from identity_codec.values import field_names, is_record

Check = Callable[[Any], bool]

# Dataclasses with more fields than a record of a port belong to the domain: their type is checked, their fields are
# not.
_MOST_FIELDS = 16


class Member(Struct, frozen=True):
    """A public member of a port. ``result`` is the returned Protocol, if a call returns one (a drafted entry)."""

    name: str
    declared: Any
    check: Check
    result: type[Any] | None

    @property
    def is_property(self) -> bool:
        """Return whether the member is a property."""
        return isinstance(self.declared, property)

    @property
    def is_coroutine(self) -> bool:
        """Return whether the member is a coroutine function."""
        return inspect.iscoroutinefunction(self.declared)


_MEMBERS: dict[type[Any], list[Member]] = {}


def members(protocol: type[Any]) -> list[Member]:
    """Return the public members of a Protocol, including inherited ones."""
    if protocol not in _MEMBERS:
        found = [(name, getattr(protocol, name)) for name in dir(protocol) if not name.startswith("_")]
        _MEMBERS[protocol] = [_member(name, declared) for name, declared in found]
    return _MEMBERS[protocol]


def _member(name: str, declared: Any) -> Member:
    hint = get_type_hints(declared.fget if isinstance(declared, property) else declared).get("return")
    return Member(name, declared, check_for(hint), hint if getattr(hint, "_is_protocol", False) else None)


def misfit(thing: object, protocol: type[Any]) -> str | None:
    """Return the reason why ``thing`` does not implement ``protocol``, found before the first request, or None."""
    for member in members(protocol):
        name = member.name
        try:
            own = getattr(thing, name)
        except AttributeError:
            return f"{type(thing).__name__} has no {name}, which {protocol.__name__} needs"
        if member.is_property:
            continue
        if not callable(own):
            return f"{name} of {type(thing).__name__} is not a method"
        is_coroutine = inspect.iscoroutinefunction(own)
        if member.is_coroutine and not is_coroutine:
            return f"{name} is not async; write async def, or hand over in_threads(…, workers=n)"
        if is_coroutine and not member.is_coroutine:
            return f"{name} is async, but {protocol.__name__} is a plain port"
        fault = _parameter_fault(member.declared, own)
        if fault is not None:
            return f"{name} {fault}"
    return None


def _parameter_fault(declared: Any, own: Any) -> str | None:
    try:
        signature = inspect.signature(own)
    except (TypeError, ValueError):
        return None  # Some callables of C have no signature; the first call will fail.
    wanted = list(inspect.signature(declared).parameters.values())[1:]
    by_position = [one for one in wanted if one.kind is not one.KEYWORD_ONLY]
    by_name = {one.name: None for one in wanted if one.kind is one.KEYWORD_ONLY}
    try:
        # The core may pass a parameter by its position or by its name.
        signature.bind(*[None for _ in by_position], **by_name)
        signature.bind(**{one.name: None for one in wanted})
    except TypeError as error:
        return f"does not take ({', '.join(one.name for one in wanted)}): {error}"
    return None


def check_for(hint: Any) -> Check:
    """Return the check of one annotation. An annotation of an unknown kind accepts any value."""
    if hint is Any or isinstance(hint, TypeVar):
        return lambda value: True
    if hint is None or hint is type(None):
        # Ports raise errors and return None. A plugin that returns False means "no", which must not count as success.
        return lambda value: value is None
    if get_origin(hint) in (Union, types.UnionType):
        # None first, because its check is the cheapest.
        return _either([check_for(one) for one in sorted(get_args(hint), key=lambda one: one is not type(None))])
    origin = get_origin(hint) or hint
    if origin in (Sequence, tuple, list):
        return _many((list, tuple), get_args(hint))
    if origin in (frozenset, set):
        return _many((frozenset, set), get_args(hint))
    if not isinstance(origin, type):
        return lambda value: True
    if getattr(origin, "_is_protocol", False):
        return _protocol(origin)
    if is_record(origin):
        return _record(origin)
    if origin is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    return lambda value: isinstance(value, origin)


def _either(checks: Sequence[Check]) -> Check:
    def check(value: Any) -> bool:
        for one in checks:  # noqa: SIM110  (a generator costs more than the check)
            if one(value):
                return True
        return False

    return check


def _many(kinds: tuple[type[Any], ...], members: Sequence[Any]) -> Check:
    check = check_for(members[0] if members else Any)
    return lambda value: isinstance(value, kinds) and all(map(check, value))


@cache
def _record(record: type[Any]) -> Check:
    hints = get_type_hints(record)
    names = field_names(record)
    if len(names) > _MOST_FIELDS:
        return lambda value: isinstance(value, record)
    parts = {name for name in names if is_record(hints[name]) or get_origin(hints[name]) is Sequence}
    nested = {name: check_for(hints[name]) for name in parts}
    fields = [(name, _plain_types(hints[name]), nested.get(name)) for name in names]

    def check(value: Any) -> bool:
        if not isinstance(value, record):
            return False
        for name, kinds, inner in fields:
            part = getattr(value, name)
            if not isinstance(part, kinds) or (inner is not None and not inner(part)):
                return False
        return True

    return check


def _plain_types(hint: Any) -> tuple[type, ...]:
    """Return the types of an annotation that ``isinstance`` alone can check; ``object`` if it cannot."""
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(one for part in get_args(hint) for one in _plain_types(part))
    # ``Any`` is a class without instances.
    origin = get_origin(hint) or (type(None) if hint is None else object if hint is Any else hint)
    return (origin,) if isinstance(origin, type) else (object,)


def _protocol(protocol: type[Any]) -> Check:
    names = [name for name in dir(protocol) if not name.startswith("_")]
    seen: set[type] = set()

    def check(value: Any) -> bool:
        # Reading an attribute may run a property; one check per class is enough.
        if type(value) not in seen:
            if not all(hasattr(value, name) for name in names):
                return False
            seen.add(type(value))
        return True

    return check
