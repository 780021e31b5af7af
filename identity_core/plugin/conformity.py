"""Whether a built object has the form of its port: members, coroutines, parameters. Said before the first request, in
words."""

from __future__ import annotations

import inspect
from typing import Any

from identity_core.plugin.bulkhead import protocol_members


def misfit(thing: object, protocol: type[Any]) -> str | None:
    """What keeps ``thing`` from being a ``protocol``, or None."""
    for name, member in protocol_members(protocol):
        try:
            own = getattr(thing, name)
        except AttributeError:
            return f"{type(thing).__name__} has no {name}, which {protocol.__name__} needs"
        if isinstance(member, property):
            continue
        if not callable(own):
            return f"{name} of {type(thing).__name__} is no method"
        if inspect.iscoroutinefunction(member) and not inspect.iscoroutinefunction(own):
            return f"{name} is not async; write async def, or hand over in_threads(…, workers=n)"
        if not inspect.iscoroutinefunction(member) and inspect.iscoroutinefunction(own):
            return f"{name} is async, but {protocol.__name__} is a plain port"
        fault = _parameter_fault(member, own)
        if fault is not None:
            return f"{name} {fault}"
    return None


def _parameter_fault(member: Any, own: Any) -> str | None:
    try:
        signature = inspect.signature(own)
    except (TypeError, ValueError):
        return None  # Some callables of C do not tell; the first call will.
    wanted = list(inspect.signature(member).parameters.values())[1:]
    by_position = [one for one in wanted if one.kind is not one.KEYWORD_ONLY]
    by_name = {one.name: None for one in wanted if one.kind is one.KEYWORD_ONLY}
    try:
        # The core may call a parameter by its place or by its name.
        signature.bind(*[None for _ in by_position], **by_name)
        signature.bind(**{one.name: None for one in wanted})
    except TypeError as error:
        return f"does not take ({', '.join(one.name for one in wanted)}): {error}"
    return None
