"""Aliases of public functions and members for callers that use the names of version 1.0."""

from __future__ import annotations

import warnings
from typing import Any


class OldName:
    """An alias of a function, method or class method. A call emits a ``DeprecationWarning``; the alias leaves in 1.2."""

    def __init__(self, name: str, function: Any) -> None:
        self._name, self._function = name, function

    def __get__(self, instance: object, owner: type | None = None) -> OldName:
        return OldName(self._name, self._function.__get__(instance, owner))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        new = self._function.__name__
        warnings.warn(f"{self._name} leaves in 1.2: call {new}", DeprecationWarning, stacklevel=2)
        return self._function(*arguments, **named)


class OldMember:
    """A descriptor of a member under its name of version 1.0. It emits a ``DeprecationWarning`` and will be removed in 1.2."""

    def __init__(self, new: str) -> None:
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = f"{owner.__name__}.{name}"

    def __get__(self, value: Any, owner: type) -> Any:
        warnings.warn(f"{self._old} leaves in 1.2: use {self._new}", DeprecationWarning, stacklevel=2)
        return getattr(value, self._new)
