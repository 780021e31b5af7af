"""An in-process cache that avoids repeated queries and checks: a dict that stays small."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """At most ``size`` values by key; the oldest makes room for a new one. Several threads may use it.

    Whether a value still holds is for its user to say. Reading does not make a value younger, and costs what it costs in a dict.
    """

    __slots__ = ("_kept", "_lock", "_size", "get")

    def __init__(self, size: int) -> None:
        self._size = size
        # A plain dict would walk over the places of all that left before to find its oldest.
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        self.get: Callable[[K], V | None] = self._kept.get

    def put(self, key: K, value: V) -> V:
        """Remembers ``value`` as the youngest, and gives it back."""
        with self._lock:
            self._kept.pop(key, None)
            while len(self._kept) >= self._size:
                self._kept.popitem(last=False)
            self._kept[key] = value
        return value

    def forget(self, key: K) -> V | None:
        """Takes the value of ``key`` away, if there is one."""
        with self._lock:
            return self._kept.pop(key, None)

    def values(self) -> Collection[V]:
        """All of them, the oldest first; not while another thread writes."""
        return self._kept.values()

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._kept.clear()

    def __contains__(self, key: K) -> bool:
        return key in self._kept
