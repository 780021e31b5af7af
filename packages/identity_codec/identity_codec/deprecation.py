"""Aliases of public functions for callers that use the names of version 1.0."""

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
