"""What holds for a run of whatever tests."""

from __future__ import annotations

import functools
import gc
import ssl
import sys
import zlib
from collections.abc import Generator
from typing import Any

import certifi
import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is. What else holds, on a server of CI for instance, goes on.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

_read = functools.cache(ssl.create_default_context)


def _trusting(purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **whom: Any) -> ssl.SSLContext:
    """Whom every client of httpx trusts unless it is told otherwise is read once a process: that takes 20 ms, and the clients of tests
    speak plain HTTP. Nobody changes what they share."""
    if purpose is ssl.Purpose.SERVER_AUTH and whom == {"cafile": certifi.where()}:
        return _read(**whom)
    return _read.__wrapped__(purpose, **whom)


ssl.create_default_context = _trusting


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collecting makes millions of objects that stay until the end: to look through them for garbage, at any time, would be a third of
    its time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


_RECURSION_LIMIT = sys.getrecursionlimit()


def pytest_runtest_teardown() -> None:
    """Restore the recursion limit, which mypy and py_ecc raise: deeply nested JSON would end the process of a later test."""
    sys.setrecursionlimit(_RECURSION_LIMIT)


# A run of more cases than any folder has is one of the whole.
WHOLE_RUN = 15_000

# Known answers: a backend of the curve must give each of them.
KNOWN_ANSWERS = (
    "tests/vectors/",
    "/test_hashing.py",
    "/test_choice.py",
    "/test_parity.py",
    "/test_presentation_parity.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests on py_ecc, the reference backend. Unless ``-m`` selects them, run the known answers and one test in 20, and
    none of the mark ``nightly``."""
    nightly = sum(item.get_closest_marker("nightly") is not None for item in items)
    if len(items) > WHOLE_RUN and nightly > len(items) // 20:
        raise pytest.UsageError(f"{nightly} of {len(items)} cases are nightly, at most one in 20 may be: remove marks")
    selected: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    for item in items:
        callspec = getattr(item, "callspec", None)
        if item.get_closest_marker("nightly") is not None and not config.option.markexpr:
            deselected.append(item)
            continue
        if callspec is None or "py_ecc" not in callspec.params.values():
            selected.append(item)
            continue
        item.add_marker(pytest.mark.reference)
        known = any(name in item.nodeid for name in KNOWN_ANSWERS)
        sampled = zlib.crc32(item.nodeid.encode()) % 20 == 0
        (selected if known or sampled or config.option.markexpr else deselected).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected
