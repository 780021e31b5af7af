"""Whether a plugin returned what its port says: checks made once from the port's annotations.

They look at the type, at the members of a sequence and at the fields of the ports' small dataclasses, not at what the
values mean; meaning is the conformance kit's. A value that passes cannot raise an ``AttributeError`` or ``TypeError``
deeper inside.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Check = Callable[[Any], bool]

# Dataclasses with more fields than a record of a port are the domain's: their type is evidence enough.
_MOST_FIELDS = 16


def check_for(hint: Any) -> Check:
    """The check of one annotation. What it does not understand it lets pass."""
    if hint is Any or isinstance(hint, TypeVar):
        return _anything
    if hint is None or hint is type(None):
        return _nothing
    if get_origin(hint) in (Union, types.UnionType):
        return _either(get_args(hint))
    origin = get_origin(hint) or hint
    if origin in (Sequence, tuple, list):
        return _sequence(get_args(hint))
    if origin in (frozenset, set):
        return _set(get_args(hint))
    if origin is Mapping or not isinstance(origin, type):
        return lambda value: not isinstance(origin, type) or isinstance(value, origin)
    if getattr(origin, "_is_protocol", False):
        return _protocol(origin)
    if dataclasses.is_dataclass(origin):
        return _record(origin)
    if origin is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    return lambda value: isinstance(value, origin)


def plain_types(hint: Any) -> tuple[type, ...] | None:
    """The types of an annotation that ``isinstance`` alone can check, else None."""
    if get_origin(hint) in (Union, types.UnionType):
        parts = [plain_types(one) for one in get_args(hint)]
        return None if None in parts else tuple(one for part in parts if part for one in part)
    origin = get_origin(hint) or (type(None) if hint is None else hint)
    return (origin,) if isinstance(origin, type) else None


def _anything(value: object) -> bool:
    return True


def _nothing(value: object) -> bool:
    # Ports raise where something is wrong. An author who returns False means "no", and must not be heard as "yes".
    return value is None


def _either(members: Sequence[Any]) -> Check:
    checks = [check_for(one) for one in members if one is not type(None)]
    nothing = len(checks) < len(members)
    if len(checks) == 1:
        (only,) = checks
        return lambda value: (value is None and nothing) or only(value)
    return lambda value: (value is None and nothing) or any(check(value) for check in checks)


def _sequence(members: Sequence[Any]) -> Check:
    check = check_for(members[0]) if members else _anything
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


def _set(members: Sequence[Any]) -> Check:
    check = check_for(members[0]) if members else _anything
    return lambda value: isinstance(value, frozenset | set) and all(map(check, value))


def _record(record: type[Any]) -> Check:
    hints = get_type_hints(record)
    named = [(f.name, plain_types(hints[f.name])) for f in dataclasses.fields(record)]
    known = [(name, kinds) for name, kinds in named if kinds is not None]
    nested = [(name, check_for(hints[name])) for name, _ in known if dataclasses.is_dataclass(hints[name])]
    if not known or len(named) > _MOST_FIELDS:
        return lambda value: isinstance(value, record)
    values_of = attrgetter(*(name for name, _ in known)) if len(known) > 1 else None
    (first_name, first_kinds), kinds = known[0], [kinds for _, kinds in known]

    def check(value: Any) -> bool:
        if not isinstance(value, record):
            return False
        if values_of is None:
            fits = isinstance(getattr(value, first_name), first_kinds)
        else:
            fits = all(map(isinstance, values_of(value), kinds))
        return fits and all(inner(getattr(value, name)) for name, inner in nested)

    return check


def _protocol(protocol: type[Any]) -> Check:
    members = [name for name in dir(protocol) if not name.startswith("_")]
    seen: set[type] = set()

    def check(value: Any) -> bool:
        # Looking an attribute up may run a property; once a class is enough.
        if type(value) not in seen:
            if not all(hasattr(value, name) for name in members):
                return False
            seen.add(type(value))
        return True

    return check
