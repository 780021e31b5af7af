"""An in-process cache that avoids repeated queries and checks: a dict of limited size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """At most ``size`` values by key; a new value replaces the oldest. Several threads may use it.

    The user of a value must check whether it is still valid. Reading does not make a value younger, and costs as much
    as in a dict.
    """

    __slots__ = ("_kept", "_lock", "_size", "get")

    def __init__(self, size: int) -> None:
        self._size = size
        # To find its oldest entry, a plain dict would pass over the slots of all deleted entries.
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        self.get: Callable[[K], V | None] = self._kept.get

    def store(self, key: K, value: V) -> V:
        """Store ``value`` as the youngest, and return it."""
        with self._lock:
            self._kept.pop(key, None)
            while len(self._kept) >= self._size:
                self._kept.popitem(last=False)
            self._kept[key] = value
        return value

    def forget(self, key: K) -> V | None:
        """Remove and return the value of ``key``, if there is one."""
        with self._lock:
            return self._kept.pop(key, None)

    def values(self) -> Collection[V]:
        """Return all values, the oldest first. Must not be called while another thread writes."""
        return self._kept.values()

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._kept.clear()

    def __contains__(self, key: K) -> bool:
        return key in self._kept
