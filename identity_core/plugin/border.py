"""The border between the core and a plugin's plain object: DID methods, provers, bearer verifiers.

Plain code runs on the caller's thread, so there is nothing to time or to bound: what is left of the bulkhead is that a
foreign exception or a result of another type becomes ``PluginUnavailable``, is counted and is logged. Where such an object has a
coroutine beside its plain methods (``ResolvingDidMethod``), that one stands behind the whole bulkhead.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast, get_type_hints

from identity_core.plugin.bulkhead import Bulkhead, guarded_method, protocol_members
from identity_core.plugin.results import Check, check_for

T = TypeVar("T")


def bordered(thing: T, protocol: type[Any], bulkhead: Bulkhead) -> T:
    """``thing`` behind the border. Results that are Protocols themselves (a drafted entry) stand behind it too."""
    border_class = _border_class(protocol, bulkhead)
    for name, member in protocol_members(protocol):
        if inspect.iscoroutinefunction(member):
            check = check_for(get_type_hints(member).get("return"))
            setattr(border_class, name, guarded_method(getattr(thing, name), name, check, bulkhead))
    return cast(T, border_class(thing))


def _border_class(protocol: type[Any], bulkhead: Bulkhead) -> type[Any]:
    members: dict[str, Any] = {
        "__doc__": f"{protocol.__name__} behind the border.",
        "__slots__": ("_thing",),
        "__init__": _keep,
    }
    for name, member in protocol_members(protocol):
        is_property = isinstance(member, property)
        hint = get_type_hints(member.fget if is_property else member).get("return")
        wrap = _border_class(hint, bulkhead) if hint is not None and getattr(hint, "_is_protocol", False) else None
        if is_property:
            members[name] = property(_bordered_read(name, check_for(hint), bulkhead))
        else:
            members[name] = _bordered_call(name, check_for(hint), wrap, bulkhead)
    return type(f"Bordered{protocol.__name__}", (), members)


def _keep(self: Any, thing: Any) -> None:
    self._thing = thing


def _bordered_read(name: str, check: Check, bulkhead: Bulkhead) -> Callable[[Any], Any]:
    perform = border(lambda thing: getattr(thing, name), name, check, bulkhead)
    return lambda self: perform(self._thing)


def _bordered_call(name: str, check: Check, wrap: type[Any] | None, bulkhead: Bulkhead) -> Callable[..., Any]:
    def method(thing: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(thing, name)(*args, **kwargs)

    perform = border(method, name, check, bulkhead)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = perform(self._thing, *args, **kwargs)
        return result if wrap is None else wrap(result)

    call.__name__ = name
    return call


def border(function: Callable[..., T], name: str, check: Check, bulkhead: Bulkhead) -> Callable[..., T]:
    """One function behind the border."""
    let_through = bulkhead.let_through

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> T:
        bulkhead.calls += 1
        try:
            result = function(*args, **kwargs)
        except let_through:
            raise
        except BaseException as error:  # noqa: BLE001  (the plugin border)
            bulkhead.failed(name, f"raised {type(error).__name__}", error=error)
            raise bulkhead.stand_in() from bulkhead.cause(error)
        if not check(result):
            bulkhead.failed(name, f"returned a {type(result).__name__} that the port does not promise")
            raise bulkhead.stand_in()
        return result

    return call
