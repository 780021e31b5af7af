"""Fault of the document index: each row seems to be changed by another program, while ``index:changed`` is in the file of faults."""

from __future__ import annotations

from typing import Any

from features.faults.words import faults
from identity_core.store.documents import Documents

_known = Documents.find_cached_head
_generation = Documents.generation
_is_ours = Documents._is_ours


def _remembered(self: Documents, did: str) -> Any:
    return None if "index:changed" in faults() else _known(self, did)


def _followed(self: Documents, did: str) -> Any:
    return None if "index:changed" in faults() else _generation(self, did)


def _genuine(self: Documents, row: Any, **named: Any) -> bool:
    """Return False for each row while the fault is set, as if another program had changed it."""
    return "index:changed" not in faults() and _is_ours(self, row, **named)


Documents.find_cached_head = _remembered  # type: ignore[method-assign]
Documents.generation = _followed  # type: ignore[method-assign]
Documents._is_ours = _genuine  # type: ignore[method-assign]
